import { textWidth } from "./printable.ts";

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
