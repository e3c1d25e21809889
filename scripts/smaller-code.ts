import { parseSync, Visitor } from "rolldown/utils";

interface Place {
  readonly start: number;
  readonly end: number;
}

/**
 * The code of a module that takes less room and has a line for each statement, so that an error shows the statement that was
 * written: without the spaces before each line, those beside punctuation, and the line breaks inside of lists. Texts, patterns
 * and comments stay as they are.
 */
export function smallerCode(name: string, code: string): string {
  const { program, comments } = parseSync(name, code);
  const kept = new Uint8Array(code.length);
  const keep = ({ start, end }: Place) => {
    kept.fill(1, start, end);
  };
  for (const comment of comments) keep(comment);
  const commentEnds = new Set(comments.map(({ end }) => end));
  const begins = new Set<number>();
  const begin = ({ body }: { readonly body: readonly Place[] }) => {
    for (const { start } of body) begins.add(start);
  };
  new Visitor({
    Literal: keep,
    TemplateElement: keep,
    Program: begin,
    BlockStatement: begin,
    StaticBlock: begin,
    ClassBody: begin,
    SwitchStatement: ({ cases }) => begin({ body: cases }),
    SwitchCase: ({ consequent }) => begin({ body: consequent }),
  }).visit(program);
  return code.replaceAll(BESIDE, (space, at: number) => {
    if (kept[at]) return space;
    if (!space.startsWith("\n")) return "";
    const next = at + space.length;
    const isInside = OPENS.has(code.charAt(at - 1)) || CLOSES.has(code.charAt(next));
    return isInside && !begins.has(next) && !commentEnds.has(at) ? "" : "\n";
  });
}

const OPENS = new Set("([{,");
const CLOSES = new Set(")]}");

/** Not the space of `< !--x`, which would begin a comment of HTML. */
const BESIDE = /\n[\t ]*| (?=[=,{}()[\]:;?<>*&|]|!=)|(?<=[=,{}()[\]:;?>*&|]) /g;
