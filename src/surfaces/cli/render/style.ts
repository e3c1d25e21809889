/** Colours text, or returns it as it is. */
export interface Style {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

/** Colours for a terminal, unless NO_COLOR is set (https://no-color.org). None for a pipe. */
export function styleFor(
  output: { readonly isTerminal: boolean },
  env: Readonly<Record<string, string | undefined>>,
): Style {
  const painted = output.isTerminal && !env.NO_COLOR && env.TERM !== "dumb";
  return Object.fromEntries(
    Object.entries(CODES).map(([name, code]) => [
      name,
      (text: string) => (painted && text !== "" ? `\u001b[${code}m${text}\u001b[0m` : text),
    ]),
  ) as unknown as Style;
}

export const PLAIN: Style = styleFor({ isTerminal: false }, {});
