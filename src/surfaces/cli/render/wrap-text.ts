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

/** A word, or a command in backticks with the signs around it, and the spaces before it. */
const PIECE = /\s*(?:`[^`]*`|[^\s`]|`)+/g;

function wrapped(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line;
  const [indent = ""] = /^ */.exec(line) ?? [];
  const lines: string[] = [];
  let current = "";
  for (const piece of line.match(PIECE) ?? []) {
    const longer = current + piece;
    if (current === "" || textWidth(longer) <= columns) current = longer;
    else {
      lines.push(current);
      current = `${indent}  ${piece.trimStart()}`;
    }
  }
  return [...lines, current].join("\n");
}
