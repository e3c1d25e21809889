import { textWidth } from "./printable.ts";
import type { Style } from "./style.ts";

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/** Rows under a head, in columns as wide as what they hold. */
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
