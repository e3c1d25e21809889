/** A change of a file, as the tools of agents are asked for it. */
export interface FileChange {
  readonly path: string;
  readonly lines: readonly ChangedLine[];
  /** The arguments that neither the path nor the lines show. A call may do more than change a file. */
  readonly rest?: Given;
}

interface ChangedLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
}

/** A longer change is shown as it was asked for, so that none of it is hidden. */
const LINES_MAX = 2000;

const PATH = ["file_path", "filePath", "path", "file"];
const OLD = ["old_string", "oldString", "old_str", "old_text", "oldText", "old"];
const NEW = ["new_string", "newString", "new_str", "new_text", "newText", "new"];
const PATCH = ["patch", "patchText", "diff", "input"];

/** The change that the arguments of a tool ask for: an old and a new text, a list of those, or a patch. */
export function changeIn(args: unknown): FileChange | undefined {
  if (!isGiven(args)) return undefined;
  const path = nameIn(args, PATH);
  const { lines, shown } = linesIn(args);
  if (lines.length === 0 || lines.length > LINES_MAX) return undefined;
  const seen = new Set([path, ...shown]);
  const rest = Object.entries(args).filter(([name]) => !seen.has(name));
  return {
    path: path === undefined ? "" : String(args[path]),
    lines,
    ...(rest.length > 0 ? { rest: Object.fromEntries(rest) } : {}),
  };
}

/** The changed lines, and the names of the arguments that they show whole. */
function linesIn(args: Given): {
  readonly lines: readonly ChangedLine[];
  readonly shown: readonly (string | undefined)[];
} {
  const patch = nameIn(args, PATCH);
  const text = patch === undefined ? "" : String(args[patch]);
  if (/^[+-]/m.test(text)) return { lines: text.split("\n").map(lineOf), shown: [patch] };
  const { edits } = args;
  if (!Array.isArray(edits)) return edited(args);
  const all = edits.map((edit) => (isGiven(edit) ? edited(edit) : NOTHING));
  const isWhole = edits.every(
    (edit, at) => Object.keys(edit ?? {}).length === all[at]?.shown.length,
  );
  return { lines: all.flatMap(({ lines }) => lines), shown: isWhole ? ["edits"] : [] };
}

const NOTHING = { lines: [], shown: [] };

type Given = Readonly<Record<string, unknown>>;

function isGiven(value: unknown): value is Given {
  return typeof value === "object" && value !== null;
}

function nameIn(given: Given, names: readonly string[]): string | undefined {
  return names.find((one) => typeof given[one] === "string");
}

function edited(edit: Given): ReturnType<typeof linesIn> {
  const [old, now] = [nameIn(edit, OLD), nameIn(edit, NEW)];
  if (old === undefined || now === undefined) return NOTHING;
  const lines = linesOf(String(edit[old]).split("\n"), String(edit[now]).split("\n"));
  return { lines, shown: [old, now] };
}

/** The lines of both, those that both begin and end with once. */
function linesOf(old: readonly string[], now: readonly string[]): readonly ChangedLine[] {
  const most = Math.min(old.length, now.length);
  let first = 0;
  while (first < most && old[first] === now[first]) first += 1;
  let last = 0;
  while (last < most - first && old.at(-1 - last) === now.at(-1 - last)) last += 1;
  const signed = (lines: readonly string[], sign: ChangedLine["sign"]) =>
    lines.map((text) => ({ sign, text }));
  return [
    ...signed(old.slice(0, first), " "),
    ...signed(old.slice(first, old.length - last), "-"),
    ...signed(now.slice(first, now.length - last), "+"),
    ...signed(old.slice(old.length - last), " "),
  ];
}

function lineOf(line: string): ChangedLine {
  const [sign = ""] = line;
  return sign === "+" || sign === "-" ? { sign, text: line.slice(1) } : { sign: " ", text: line };
}
