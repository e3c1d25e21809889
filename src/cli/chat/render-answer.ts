import {
  Markdown,
  type MarkdownTheme,
  setCapabilities,
  sliceByColumn,
  stripTerminalSequences,
  truncateToWidth,
  visibleWidth,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import { printable } from "../render/printable.ts";
import type { Style } from "../render/style.ts";
import { type CodeKind, type CodePart, CodeReader } from "./code-reader.ts";

// A link shows where it leads. As a hyperlink of the terminal, it could say one address and open another.
setCapabilities({ images: null, trueColor: false, hyperlinks: false });

/** The lines of a block of an answer. What a model wrote can style them, and nothing else. */
export function renderAnswer(block: AnswerBlock, columns: number, style: Style): readonly string[] {
  const text = printable(block.text);
  if (block.kind === "code") return renderCode(colouredCode(block, style), columns);
  if (block.kind === "text" || isTangled(text)) return wrap(text, columns);
  try {
    const markdown = new Markdown(text, 0, 0, themeOf(style), undefined, {
      preserveOrderedListMarkers: true,
      renderLatex: false,
    });
    return markdown.render(columns).map((line) => clip(line.trimEnd(), columns));
  } catch {
    // The parser is recursive. What is nested deeper than its stack is shown as it is.
    return wrap(text, columns);
  }
}

function renderCode(text: string, columns: number): readonly string[] {
  const indent = "  ";
  const lines = wrap(text, columns - indent.length);
  return lines.map((line) => clip(indent + line, columns));
}

/** Lines of code with the colours of their language, or with one colour where that is not known. */
function colouredCode(
  { text, parts }: { readonly text: string; readonly parts?: readonly CodePart[] | undefined },
  style: Style,
): string {
  if (!parts) return style.cyan(printable(text));
  const paint = paintOf(style);
  return parts.map(({ text: part, kind }) => paint(printable(part), kind)).join("");
}

function paintOf(style: Style): (text: string, kind: CodeKind | undefined) => string {
  const colours: Readonly<Record<CodeKind, (text: string) => string>> = {
    comment: style.dim,
    string: style.green,
    keyword: style.magenta,
    value: style.yellow,
    name: style.cyan,
    added: style.green,
    removed: style.red,
  };
  return (text, kind) => (kind ? colours[kind](text) : text);
}

/** The lines of a code block inside a list or a quote, which arrives with the whole of that. */
function highlightCode(code: string, language: string | undefined, style: Style): string[] {
  const reader = new CodeReader(languageIn(language ?? ""));
  return code.split("\n").map((text) => colouredCode({ text, parts: reader.read(text) }, style));
}

/** The lines of a text that may have colours, wrapped at words. */
export function wrap(text: string, columns: number): readonly string[] {
  const width = Math.max(1, columns);
  return text
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => wrapTextWithAnsi(line, width))
    .map((line) => clip(line.trimEnd(), width));
}

/**
 * The same for the output of a command: what does not fit goes on below the last column.
 *
 *     /pin [n]   keep message n through
 *                compactions
 */
export function wrapColumns(text: string, columns: number): readonly string[] {
  return text.split("\n").flatMap((line) => {
    const width = visibleWidth(line);
    if (width <= columns) return wrap(line, columns);
    const plain = stripTerminalSequences(line).trimEnd();
    const gap = plain.lastIndexOf("  ");
    const start = gap < 0 ? 0 : visibleWidth(plain.slice(0, gap + 2));
    const indent = start > columns / 2 ? 0 : start;
    const [first = "", ...rest] = wrap(sliceByColumn(line, indent, width), columns - indent);
    const below = rest.map((part) => " ".repeat(indent) + part);
    return [sliceByColumn(line, 0, indent) + first, ...below];
  });
}

/** A line without control sequences except colours, and not wider than the terminal. */
export function clip(line: string, columns: number): string {
  const safe = line.replace(NOT_A_COLOUR, "\u{FFFD}");
  return visibleWidth(safe) <= columns ? safe : truncateToWidth(safe, columns, "…");
}

const ESCAPE = "\u001b";
const NOT_A_COLOUR = new RegExp(String.raw`(?!${ESCAPE}\[[\d;]*m)\p{Cc}`, "gu");

const MARKS_MAX = 400;
const NESTED = /^(?:[ \t]*(?:[>*+-]|\d{1,9}[.)])){12}/m;

/** Whether Markdown would take the parser long: the time grows with the square of the marks. */
function isTangled(text: string): boolean {
  return NESTED.test(text) || (text.match(/[*_~[\]<]/g)?.length ?? 0) > MARKS_MAX;
}

function themeOf(style: Style): MarkdownTheme {
  return {
    heading: style.bold,
    link: style.cyan,
    linkUrl: style.dim,
    code: style.cyan,
    codeBlock: (text) => text,
    highlightCode: (code, language) => highlightCode(code, language, style),
    codeBlockBorder: style.dim,
    quote: style.dim,
    quoteBorder: style.dim,
    hr: style.dim,
    listBullet: style.cyan,
    bold: style.bold,
    italic: style.italic,
    strikethrough: style.dim,
    underline: style.underline,
  };
}

/** A part of an answer that no later text changes. */
export interface AnswerBlock {
  /** Markdown, the lines of a code block, or text that is shown as it is. */
  readonly kind: "markdown" | "code" | "text";
  readonly text: string;
  /** Whether the block goes on where the last one ended, without a blank line between. */
  readonly continues: boolean;
  /** The parts of the line of code, where its language is known. */
  readonly parts?: readonly CodePart[];
}

/**
 * Cuts an answer into blocks while it arrives, so that each is rendered once:
 *
 *     A paragraph.        markdown
 *     - and its list
 *                         (a blank line ends it, unless the next line is indented)
 *     ```ts
 *     const a = 1;        code, a block per line
 *     ```
 *
 * No block is longer than `BLOCK_MAX`: Markdown takes quadratic time in the worst case.
 */
export class AnswerBlocks {
  /** The lines of the block that is not complete yet. */
  #open = "";
  /** The line that is not complete yet. */
  #line = "";
  #fence: Fence | undefined;
  #blank = false;
  #continues = false;

  /** Takes what arrived. Returns the blocks that are complete now. */
  push(delta: string): readonly AnswerBlock[] {
    const done: AnswerBlock[] = [];
    const lines = (this.#line + delta).split("\n");
    this.#line = lines.pop() ?? "";
    for (const line of lines) this.#take(line.replace(/\r$/, ""), done);
    if (!this.#fence && this.#blank && /^\S/.test(this.#line)) this.#complete(done);
    while (this.#line.length > BLOCK_MAX) this.#cutLine(done);
    return done;
  }

  /** The block that is not complete yet, as it would be if the answer ended here. */
  get rest(): AnswerBlock | undefined {
    const text = this.#open + this.#line;
    // The end of a code block may be arriving. It is no code.
    if (text.trim() === "" || this.#fence?.marker.startsWith(text.trim())) return undefined;
    const { code } = this.#fence ?? {};
    return code ? this.#codeLine(text, code.peek(text.trimEnd())) : this.#block("markdown", text);
  }

  #take(line: string, done: AnswerBlock[]): void {
    while (line.length > BLOCK_MAX) {
      this.#line = line;
      this.#cutLine(done);
      line = this.#line;
      this.#line = "";
    }
    if (this.#fence) {
      this.#takeCode(line, this.#fence, done);
      return;
    }
    const opened = fenceIn(line);
    const isBlank = line.trim() === "";
    if (opened || (this.#blank && !isBlank && !/^\s/.test(line))) this.#complete(done);
    else if (this.#open.length + line.length > BLOCK_MAX) this.#complete(done, true);
    this.#blank = isBlank;
    if (opened) this.#fence = opened;
    else if (!isBlank || this.#open !== "") this.#open += `${line}\n`;
  }

  #takeCode(line: string, fence: Fence, done: AnswerBlock[]): void {
    if (closes(fence, line)) {
      this.#fence = undefined;
      this.#continues = false;
      return;
    }
    const code = line.replace(new RegExp(`^ {0,${fence.indent}}`), "").trimEnd();
    done.push(this.#codeLine(code, fence.code.read(code)));
    this.#continues = true;
  }

  #complete(done: AnswerBlock[], goesOn = false): void {
    if (this.#open.trim() !== "") done.push(this.#block("markdown", this.#open));
    this.#continues = goesOn;
    this.#open = "";
  }

  /** A line that is too long goes on as plain text. */
  #cutLine(done: AnswerBlock[]): void {
    if (this.#open !== "") this.#complete(done);
    const space = this.#line.lastIndexOf(" ", BLOCK_MAX);
    const cut = space > BLOCK_MAX / 2 ? space + 1 : wholeLetters(this.#line, BLOCK_MAX);
    done.push(this.#block(this.#fence ? "code" : "text", this.#line.slice(0, cut)));
    this.#line = this.#line.slice(cut);
    this.#continues = true;
  }

  #codeLine(text: string, parts: readonly CodePart[] | undefined): AnswerBlock {
    return { ...this.#block("code", text), ...(parts && { parts }) };
  }

  #block(kind: AnswerBlock["kind"], text: string): AnswerBlock {
    return { kind, text: text.trimEnd(), continues: this.#continues };
  }
}

export const BLOCK_MAX = 4000;

interface Fence {
  readonly marker: string;
  readonly indent: number;
  readonly code: CodeReader;
}

function fenceIn(line: string): Fence | undefined {
  const [start] = /^ {0,3}(?:`{3,}|~{3,})/.exec(line) ?? [];
  if (start === undefined) return undefined;
  const marker = start.trimStart();
  const info = line.slice(start.length);
  if (marker.startsWith("`") && info.includes("`")) return undefined;
  const code = new CodeReader(languageIn(info));
  return { marker, indent: start.length - marker.length, code };
}

/** The first word after a fence: `ts` of "```ts title=a.ts". */
function languageIn(info: string): string {
  return /^\s*\{?\.?([^\s{},:]+)/.exec(info)?.[1] ?? "";
}

function closes({ marker }: Fence, line: string): boolean {
  const text = line.trim();
  return text.length >= marker.length && text === marker.charAt(0).repeat(text.length);
}

/** `length`, or one less where it would cut a character in two. */
function wholeLetters(text: string, length: number): number {
  return /[\uD800-\uDBFF]/.test(text.charAt(length - 1)) ? length - 1 : length;
}
