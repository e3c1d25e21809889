import { SessionError } from "../../core/errors.ts";
import { readLines } from "../../transcripts/read-lines.ts";
import { inputChunks } from "./input-chunks.ts";
import type { Terminal } from "./terminal.ts";

/** Bad lines that a message lists before it only counts them. */
const LISTED_MAX = 20;

/** A value, or why there is none. */
export type Checked<Value> = { readonly value: Value } | { readonly problem: string };

/**
 * Reads JSONL whose every line has to be good.
 *
 * @throws SessionError `INVALID_PARAMS` at the end, with the number of each bad line.
 */
export async function* readJsonLines<Value>(
  file: string,
  terminal: Pick<Terminal, "cwd" | "stdin">,
  check: (json: unknown) => Checked<Value>,
): AsyncIterable<Value> {
  const problems: string[] = [];
  let bad = 0;
  for await (const { number, text } of linesOf(file, terminal)) {
    const checked = text === null ? { problem: "is not UTF-8" } : checkLine(text, check);
    if ("value" in checked) {
      if (bad === 0) yield checked.value;
      continue;
    }
    bad += 1;
    if (bad <= LISTED_MAX) problems.push(`line ${number} ${checked.problem}`);
  }
  if (bad === 0) return;
  if (bad > LISTED_MAX) problems.push(`and ${bad - LISTED_MAX} more`);
  throw new SessionError("INVALID_PARAMS", {
    detail: `${file === "-" ? "Standard input" : file} is not as it should be:\n${problems.join("\n")}`,
    hint: "Nothing was done; correct these lines and try again.",
  });
}

async function* linesOf(file: string, terminal: Pick<Terminal, "cwd" | "stdin">) {
  try {
    yield* readLines(inputChunks(file, terminal));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SessionError("INVALID_PARAMS", { detail: `${file}: ${error.message}.` });
  }
}

function checkLine<Value>(text: string, check: (json: unknown) => Checked<Value>): Checked<Value> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: "is not JSON" };
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return { problem: "is not a JSON object" };
  }
  return check(json);
}
