import { SessionError } from "../../../core/errors.ts";
import { type Line, readLines } from "../../../core/read-lines.ts";
import { inputChunks } from "./input-chunks.ts";
import type { Terminal } from "./terminal.ts";

const LINE_BYTES_MAX = 64 * 1024 * 1024;

const PROBLEMS = {
  not_utf8: "is not UTF-8",
  too_long: `is longer than ${LINE_BYTES_MAX} bytes`,
} as const;

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
  for await (const line of readLines(inputChunks(file, terminal), LINE_BYTES_MAX)) {
    const checked = checkLine(line, check);
    if ("value" in checked) {
      if (bad === 0) yield checked.value;
      continue;
    }
    bad += 1;
    if (bad <= LISTED_MAX) problems.push(`line ${line.number} ${checked.problem}`);
  }
  if (bad === 0) return;
  if (bad > LISTED_MAX) problems.push(`and ${bad - LISTED_MAX} more`);
  throw new SessionError("INVALID_PARAMS", {
    detail: `${file === "-" ? "Standard input" : file} is not as it should be:\n${problems.join("\n")}`,
    hint: "Nothing was done; correct these lines and try again.",
  });
}

function checkLine<Value>(line: Line, check: (json: unknown) => Checked<Value>): Checked<Value> {
  if (line.problem) return { problem: PROBLEMS[line.problem] };
  let json: unknown;
  try {
    json = JSON.parse(line.text);
  } catch {
    return { problem: "is not JSON" };
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    return { problem: "is not a JSON object" };
  }
  return check(json);
}
