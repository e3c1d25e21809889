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

/**
 * Breaks lines that are too long for a terminal between parts, after ` · `, ` && ` and a title. So an id or a path stays in one
 * piece:
 *
 *     0.85  turn 1 · user · 2026-11-02T09:00:24.000Z ·
 *         id claude-code:0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d:7
 */
export function fitLines(text: string, columns: number): string {
  return text
    .split("\n")
    .map((line) => fitted(line, columns))
    .join("\n");
}

const INDENT = "    ";

function fitted(line: string, columns: number): string {
  if (textWidth(line) <= columns) return line;
  const [first = "", ...rest] = line.split(/(?<= (?:·|&&) )|(?<=" )(?=in )/);
  const lines = [first];
  for (const part of rest) {
    const longer = `${lines.at(-1)}${part}`;
    if (textWidth(longer.trimEnd()) <= columns) lines[lines.length - 1] = longer;
    else lines.push(INDENT + part);
  }
  return lines.map((each) => each.trimEnd()).join("\n");
}
