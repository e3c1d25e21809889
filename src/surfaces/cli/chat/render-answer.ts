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
import type { AnswerBlock } from "./answer-blocks.ts";

// A link shows where it leads. As a hyperlink of the terminal, it could say one address and open another.
setCapabilities({ images: null, trueColor: false, hyperlinks: false });

/** The lines of a block of an answer. What a model wrote can style them, and nothing else. */
export function renderAnswer(block: AnswerBlock, columns: number, style: Style): readonly string[] {
  const text = printable(block.text);
  if (block.kind === "code") return renderCode(text, columns, style);
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

function renderCode(text: string, columns: number, style: Style): readonly string[] {
  const indent = "  ";
  const lines = wrap(text, columns - indent.length);
  return lines.map((line) => clip(indent + style.cyan(line), columns));
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
    codeBlock: style.cyan,
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
