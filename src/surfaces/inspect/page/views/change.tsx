import { plain } from "../parts.tsx";

/** A change of a file, as the tools of agents are asked for it. */
export interface FileChange {
  readonly path: string;
  readonly lines: readonly { readonly sign: "+" | "-" | " "; readonly text: string }[];
}

const LINES_MAX = 400;

/** The change that the arguments of a tool ask for: an old and a new text, or a patch. */
export function changeIn(args: unknown): FileChange | undefined {
  if (typeof args !== "object" || args === null) return undefined;
  const given = args as Readonly<Record<string, unknown>>;
  const text = (...names: readonly string[]) => {
    const name = names.find((one) => typeof given[one] === "string");
    return name === undefined ? undefined : String(given[name]);
  };
  const path = text("file_path", "path", "file") ?? "";
  const patch = text("patch", "diff");
  if (patch !== undefined && /^[+-]/m.test(patch)) {
    return { path, lines: patch.split("\n").slice(0, LINES_MAX).map(lineOf) };
  }
  const old = text("old_string", "old_text", "oldText");
  const now = text("new_string", "new_text", "newText");
  if (old === undefined || now === undefined) return undefined;
  const signed = (whole: string, sign: "+" | "-") =>
    whole.split("\n").map((line) => ({ sign, text: line }));
  return { path, lines: [...signed(old, "-"), ...signed(now, "+")].slice(0, LINES_MAX) };
}

function lineOf(line: string): FileChange["lines"][number] {
  const [sign = ""] = line;
  return sign === "+" || sign === "-" ? { sign, text: line.slice(1) } : { sign: " ", text: line };
}

const NAMES = { "+": "added", "-": "removed", " ": "" } as const;

export function Change({ change: { path, lines } }: { readonly change: FileChange }) {
  return (
    <figure class="change">
      <figcaption>{plain(path)}</figcaption>
      {lines.map(({ sign, text }, at) => (
        <div key={at} class={`line ${NAMES[sign]}`}>
          <span class="sign" aria-hidden="true">
            {sign}
          </span>
          {sign !== " " && <span class="unseen">{NAMES[sign]}: </span>}
          {plain(text)}
        </div>
      ))}
    </figure>
  );
}
