import { textWidth } from "./printable.ts";

/**
 * Breaks lines that are too long for a terminal between words. A command in backticks stays in one
 * piece, so that it can be copied:
 *
 *     hint: Ask for an export of your data in its settings, and name the file:
 *       `rkat import chatgpt ~/Downloads/export.zip`.
 */
export function wrapText(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => wrapped(line, columns))
    .join("\n");
}

/** A word, or a command in backticks with the signs around it, and the spaces after it. */
const PIECE = /(?:`[^`]*`|[^\s`]|`)+\s*/g;

function wrapped(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line;
  const [indent = ""] = /^\s*/.exec(line) ?? [];
  const lines: string[] = [];
  let current = indent;
  let width = indent.length;
  for (const piece of line.slice(indent.length).match(PIECE) ?? []) {
    const word = piece.trimEnd();
    const wordWidth = textWidth(word);
    if (width + wordWidth > columns && current.trim() !== "") {
      lines.push(current.trimEnd());
      current = `${indent}  `;
      width = current.length;
    }
    current += piece;
    width += wordWidth + piece.length - word.length;
  }
  return [...lines, current.trimEnd()].join("\n");
}
