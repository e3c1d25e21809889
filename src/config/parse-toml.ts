export type TomlTable = Readonly<Record<string, unknown>>;

/** The place of an error in a TOML text, and its reason. */
export interface TomlProblem {
  readonly line: number;
  readonly column: number;
  /** Without an excerpt of the text, which may contain a secret. */
  readonly reason: string;
}

export async function parseToml(
  text: string,
): Promise<{ readonly table: TomlTable } | TomlProblem> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return { table: parse(text.replace(/^\uFEFF/, "")) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [reason = ""] = error.message.replace(/^Invalid TOML document: /, "").split("\n");
    return { line: error.line, column: error.column, reason };
  }
}
