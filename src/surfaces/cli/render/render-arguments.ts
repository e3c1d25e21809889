import { oneLine, printable } from "./printable.ts";

const JSON_COLUMNS_MAX = 500;
/** Lines of a text that is written into a file. A command is always shown in full. */
const LINES_MAX = 40;
const LINE_COLUMNS_MAX = 400;

/**
 * The arguments of a call that waits for approval: a command in full, an edit as lines that go and
 * lines that come, and everything else as JSON on one line.
 */
export function renderArguments(args: unknown): string {
  const { command, path, old_text, new_text, content, ...rest } = fieldsOf(args);
  if (typeof command === "string" && path === undefined) {
    const others = Object.keys(rest).length > 0 ? ` ${asJson(rest)}` : "";
    return `${printable(command).replaceAll("\n", CONTINUED)}${others}`;
  }
  if (typeof path !== "string") return asJson(args);
  const shown = oneLine(path, LINE_COLUMNS_MAX);
  if (typeof old_text === "string" && typeof new_text === "string") {
    const places = rest.every === true ? " (in every place)" : "";
    return `${shown}${places}${lines("-", old_text)}${lines("+", new_text)}`;
  }
  if (typeof content === "string") return `${shown}${lines("+", content)}`;
  return asJson(args);
}

/** The lines of a text cannot be taken for lines of the question. */
const CONTINUED = "\n  │ ";

function lines(sign: string, text: string): string {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  const shown = all.slice(0, LINES_MAX).map((line) => cutLine(line));
  const left = all.length - shown.length;
  if (left > 0) shown.push(`… ${left} more lines`);
  return shown.map((line) => `${CONTINUED}${sign} ${line}`).join("");
}

function cutLine(line: string): string {
  const text = printable(line);
  return text.length > LINE_COLUMNS_MAX ? `${text.slice(0, LINE_COLUMNS_MAX)}…` : text;
}

function asJson(value: unknown): string {
  return oneLine(JSON.stringify(value) ?? "", JSON_COLUMNS_MAX);
}

function fieldsOf(args: unknown): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
}
