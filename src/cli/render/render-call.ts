import type { AllowedCalls, PendingApproval } from "../../core/approval.ts";
import { visibleCall, visibleCode } from "../../text/visible-text.ts";
import { oneLine } from "./printable.ts";
import type { Style } from "./style.ts";

type Call = Pick<PendingApproval, "tool" | "args">;

/** A call that waits for approval, all of it, and what "always" would allow. */
export function renderCall(call: Call, style: Style, always?: AllowedCalls): string {
  return [...rowsOf(call, style, always, Number.POSITIVE_INFINITY)]
    .map(({ row }) => row)
    .join("\n");
}

/** Calls that are allowed for good: `every call of edit_file`. */
export function renderAllowed({ tool, command }: AllowedCalls): string {
  const name = oneLine(tool, 80);
  // The mark of an MCP server is no command.
  return command === undefined || tool.startsWith("mcp__")
    ? `every call of ${name}`
    : `${name} with exactly this: ${exact(command).replaceAll("\n", CONTINUED)}`;
}

/** The same call, page by page, on a terminal of this size. */
export class CallPages {
  readonly #rows: Iterator<Row, undefined>;
  readonly #pageRows: number;
  readonly #characters: number;
  #shown = 0;
  #next: Row | undefined;

  constructor(
    call: Call,
    style: Style,
    {
      always,
      columns,
      rows,
    }: {
      readonly always?: AllowedCalls | undefined;
      readonly columns: number;
      readonly rows: number;
    },
  ) {
    this.#rows = rowsOf(call, style, always, columns);
    this.#pageRows = Math.max(ROWS_MIN, rows - ROWS_BESIDE);
    this.#characters = partsOf(call.args).reduce((sum, { text }) => sum + text.length, 0);
    this.#next = this.#rows.next().value;
  }

  /** Whether every row was on a page. */
  get isWhole(): boolean {
    return this.#next === undefined;
  }

  /** The share of the call that was on a page, in whole percent. */
  get percent(): number {
    return this.isWhole
      ? 100
      : Math.min(99, Math.floor((100 * this.#shown) / Math.max(1, this.#characters)));
  }

  /** The next page. */
  next(): string {
    const page: string[] = [];
    while (this.#next !== undefined && page.length < this.#pageRows) {
      page.push(this.#next.row);
      this.#shown += this.#next.characters;
      this.#next = this.#rows.next().value;
    }
    return page.join("\n");
  }
}

/** The question and the status below it. */
const ROWS_BESIDE = 6;
const ROWS_MIN = 10;
const COLUMNS_MIN = 20;

/** One row of a terminal, and how many characters of the arguments are in it. */
interface Row {
  readonly row: string;
  readonly characters: number;
}

/** A line of a text begins with a bar, and what does not fit goes on behind a dotted one: neither can pass for a question. */
const CONTINUED = "\n  │ ";
const BAR = "  │ ";
const DOTTED = "  ┊ ";

function* rowsOf(
  { tool, args }: Call,
  style: Style,
  always: AllowedCalls | undefined,
  columns: number,
): Generator<Row, undefined> {
  const name = oneLine(tool, 80);
  let before = `${style.yellow("→")} ${style.bold(name)} `;
  let width = Math.max(COLUMNS_MIN, columns - name.length - BAR.length);
  for (const { sign, text } of partsOf(args)) {
    for (const line of linesOf(text)) {
      let left = line.length + 1;
      for (const piece of piecesOf(exact(line), width - sign.length)) {
        const characters = Math.min(left, piece.length);
        left -= characters;
        yield { row: `${before}${sign}${piece}`, characters };
        [before, width] = [DOTTED, Math.max(COLUMNS_MIN, columns - BAR.length)];
      }
      before = BAR;
    }
  }
  if (always === undefined) return;
  const allowed = `"always" (s or p) allows ${renderAllowed(always)}`;
  for (const [at, line] of allowed.split("\n").entries()) {
    for (const piece of piecesOf(line, Math.max(COLUMNS_MIN, columns - 2))) {
      yield { row: style.dim(at === 0 ? `  ${piece}` : piece), characters: 0 };
    }
  }
}

interface Part {
  /** Before each line: it goes, or it comes. */
  readonly sign: "" | "- " | "+ ";
  readonly text: string;
}

/**
 * All that the arguments say: a command, a path with the lines that go and those that come, or JSON. What a tool has besides
 * stands behind the path or the command, as JSON.
 */
function partsOf(args: unknown): readonly Part[] {
  const { command, ...withCommand } = fieldsOf(args);
  if (typeof command === "string" && !("path" in withCommand)) {
    return [{ sign: "", text: `${command}${asJson(withCommand)}` }];
  }
  const { path, old_text, new_text, content, every, ...others } = fieldsOf(args);
  if (typeof path === "string" && typeof content === "string" && old_text === undefined) {
    const first = `${onOneLine(path)}${asJson({ ...others, new_text, every })}${endOf(content)}`;
    return [{ sign: "", text: first }, ...change("+ ", content, content.endsWith("\n"))];
  }
  if (typeof path === "string" && typeof old_text === "string" && typeof new_text === "string") {
    const places = every === true ? " (in every place)" : asJson({ every });
    const first = `${onOneLine(path)}${places}${asJson({ ...others, content })}`;
    const areLines = [old_text, new_text].every((text) => text === "" || text.endsWith("\n"));
    const changes = [...change("- ", old_text, areLines), ...change("+ ", new_text, areLines)];
    return [{ sign: "", text: first }, ...changes];
  }
  return [{ sign: "", text: JSON.stringify(args) ?? "" }];
}

/** A note about the end of a file that its lines do not show. */
function endOf(content: string): string {
  if (content === "") return " (empty)";
  return content.endsWith("\n") ? "" : " (without a line break at its end)";
}

/** The lines of a text. A line break at its end is no line of its own where both texts end with one. */
function change(sign: "- " | "+ ", text: string, areLines: boolean): readonly Part[] {
  return text === "" ? [] : [{ sign, text: areLines ? text.slice(0, -1) : text }];
}

/** The fields that say something, behind a space. */
function asJson(fields: Readonly<Record<string, unknown>>): string {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return said.length === 0 ? "" : ` ${JSON.stringify(Object.fromEntries(said))}`;
}

function* linesOf(text: string): Generator<string> {
  for (let at = 0; at <= text.length; ) {
    const end = text.indexOf("\n", at);
    yield text.slice(at, end < 0 ? undefined : end);
    at = end < 0 ? text.length + 1 : end + 1;
  }
}

/** A line in pieces that fit. Letters that are no ASCII may take two columns. */
function* piecesOf(line: string, width: number): Generator<string> {
  if (line.length <= width / 2 || width === Number.POSITIVE_INFINITY) return yield line;
  for (let at = 0; at < line.length; ) {
    let end = at + width;
    if (/[^\x20-\x7e]/.test(line.slice(at, end))) end = at + Math.floor(width / 2);
    const isCut = /[\ud800-\udbff]/.test(line.charAt(end - 1));
    const to = isCut ? end - 1 : end;
    yield line.slice(at, to);
    at = to;
  }
}

/** A text as it is, with each hidden character and each control character by its number. */
function exact(text: string): string {
  const controls = text.replace(/(?![\t\n])\p{Cc}/gu, visibleCode);
  return visibleCall(controls).replaceAll("\t", "    ");
}

function onOneLine(text: string): string {
  return text.replace(/[\t\n]/g, visibleCode);
}

function fieldsOf(args: unknown): Readonly<Record<string, unknown>> {
  return typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
}
