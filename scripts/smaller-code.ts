import { parseSync, Visitor } from "rolldown/utils";

/**
 * The code of a module that takes less room and has the same lines, so that an error shows the line that was written:
 * without the spaces before each line, and without those beside punctuation. Texts, patterns and comments stay as they are.
 */
export function smallerCode(name: string, code: string): string {
  const { program, comments } = parseSync(name, code);
  const kept = new Uint8Array(code.length);
  const keep = ({ start, end }: { readonly start: number; readonly end: number }) => {
    kept.fill(1, start, end);
  };
  for (const comment of comments) keep(comment);
  new Visitor({ Literal: keep, TemplateElement: keep }).visit(program);
  return code.replaceAll(BESIDE, (space, at: number) => {
    if (kept[at]) return space;
    return space.startsWith("\n") ? "\n" : "";
  });
}

/** Not the space of `< !--x`, which would begin a comment of HTML. */
const BESIDE = /\n[\t ]+| (?=[=,{}()[\]:;?<>*&|]|!=)|(?<=[=,{}()[\]:;?>*&|]) /g;
