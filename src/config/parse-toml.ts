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
    return { line: error.line, column: error.column, reason: explained(reason) };
  }
}

/** The usual mistake of someone who adds a text from elsewhere to a file. */
function explained(reason: string): string {
  return reason.includes("redefine an already defined table")
    ? "this section is there already. A section can be there only once, so put its settings under the first one"
    : reason;
}
