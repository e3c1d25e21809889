import { type Checked, readJsonLines } from "../../terminal/read-json-lines.ts";
import type { Terminal } from "../../terminal/terminal.ts";

/** A search of a `--queries` file. The id comes back with the results, as it was. */
export interface NamedQuery {
  readonly id: string | number;
  readonly text: string;
}

export function readQueries(
  file: string,
  terminal: Pick<Terminal, "cwd" | "stdin">,
): Promise<readonly NamedQuery[]> {
  return Array.fromAsync(readJsonLines(file, terminal, checkQuery));
}

function checkQuery(json: unknown): Checked<NamedQuery> {
  const { id, text } = json as Readonly<Record<string, unknown>>;
  if (typeof id !== "string" && typeof id !== "number") {
    return { problem: 'has no "id", a text or a number' };
  }
  if (typeof text !== "string") return { problem: 'has no "text"' };
  return { value: { id, text } };
}
