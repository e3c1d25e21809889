import { oneLine, textWidth } from "./printable.ts";

/** Colours text, or returns it as it is. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
  magenta(text: string): string;
}

/** The codes that begin and end a style. The end leaves other styles as they are. */
const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
  magenta: [35, 39],
} as const;

/** Colours for a terminal, unless NO_COLOR is set (https://no-color.org). None for a pipe. */
export function styleFor(
  output: { readonly isTerminal: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const painted = output.isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  return Object.fromEntries(
    Object.entries(CODES).map(([name, [begin, end]]) => [
      name,
      (text: string) => (painted && text !== "" ? `\u001b[${begin}m${text}\u001b[${end}m` : text),
    ]),
  ) as unknown as Style;
}

export const PLAIN: Style = styleFor({ isTerminal: false }, {});

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** The columns that its texts keep at least, where they are cut so that the table fits. Without it they stay whole. */
  readonly least?: number;
}

/**
 * Rows under a header. Each column is as wide as its widest cell. Where that is more than there is `room` for, texts that
 * may be cut are, and if that is not enough, each row is a paragraph: its first cell, and a line for each other one.
 */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  style: Style,
  room = Number.POSITIVE_INFINITY,
): string {
  const widths = columns.map(({ title }, index) =>
    Math.max(textWidth(title), ...rows.map((row) => textWidth(row[index] ?? ""))),
  );
  const over = widths.reduce((sum, width) => sum + width + 2, -2) - room;
  const elastic = columns.findIndex(({ least }) => least !== undefined);
  if (over > 0 && elastic >= 0) {
    const width = Math.max(columns[elastic]?.least ?? 0, (widths[elastic] ?? 0) - over);
    const cut = rows.map((row) => row.with(elastic, oneLine(row[elastic] ?? "", width)));
    const fixed = columns.map(({ least: _, ...column }) => column);
    return renderTable(fixed, cut, style, room);
  }
  if (over > 0) {
    const [, ...others] = columns;
    const paragraph = ([first = "", ...cells]: readonly string[]) =>
      `${first}\n${renderFacts(
        others.map(({ title }, index) => [title, cells[index]] as const),
        style,
      ).replace(/^(?=.)/gm, "  ")}`;
    return rows.map(paragraph).join("");
  }
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
