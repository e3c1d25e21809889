import { textWidth } from "./printable.ts";
import type { Style } from "./style.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Rows under a header. Each column is as wide as its widest cell. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(textWidth(title), ...rows.map((row) => textWidth(row[index] ?? ""))),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => {
        const space = " ".repeat((widths[index] ?? 0) - textWidth(cell));
        return columns[index]?.align === "right" ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd();
  const head = style.dim(line(columns.map(({ title }) => title)));
  return [head, ...rows.map(line)].map((text) => `${text}\n`).join("");
}

/** A name and a value per line. Facts without a value are left out. */
export function renderFacts(
  facts: readonly (readonly [name: string, value: string | undefined])[],
  style: Style,
): string {
  const known = facts.filter(([, value]) => value !== undefined && value !== "");
  const width = Math.max(0, ...known.map(([name]) => name.length)) + 2;
  return known.map(([name, value]) => `${style.dim(name.padEnd(width))}${value}\n`).join("");
}
