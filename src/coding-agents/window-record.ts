import { given, isObject } from "../core/fields.ts";
import { type HookInput, objectIn, tailOf } from "./hook-input.ts";

/** Claude Code cuts longer texts of a hook to their beginning. */
export const CHARACTERS_MAX = 8_000;

/** The tag around the lines of a record. */
export const TAG = "rkat-record";

/**
 * The record that must survive the compaction of a session, for the model that goes on after it. It is quoted as
 * a record. Undefined when there is nothing to keep.
 */
export function recordForNextWindow(
  lines: readonly string[],
  charactersMax = CHARACTERS_MAX,
): string | undefined {
  return recordOf(
    charactersMax,
    "rkat kept this of the session, from before its compaction. It is a record of what was said, not a new request.",
    lines,
    "The complete session can be searched with the tool memory_search of rkat.",
  );
}

/** The facts that the summary of a session should keep, for the model that writes it. */
export function recordForSummary(
  lines: readonly string[],
  charactersMax = CHARACTERS_MAX,
): string | undefined {
  return recordOf(
    charactersMax,
    "Keep the following in the summary, word for word where it still matters: the user's instructions and refusals, the state of the task, and exact names, paths and numbers. It is a record of what was said.",
    lines,
    "",
  );
}

function recordOf(
  charactersMax: number,
  introduction: string,
  lines: readonly string[],
  end: string,
): string | undefined {
  const frame = [introduction, `<${TAG}>`, `</${TAG}>`, ...(end ? [end] : [])];
  let room = charactersMax - frame.join("\n").length;
  // In a small record, no line takes the place of all.
  const fitting = lines
    .map((line) => shortened(line, charactersMax / 2))
    .filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    })
    // A title stays only with a line below it.
    .filter((line, index, some) => line.startsWith("- ") || some[index + 1]?.startsWith("- "));
  if (fitting.length === 0) return undefined;
  return [...frame.slice(0, 2), ...fitting, ...frame.slice(2)].join("\n");
}

/** A text, or its beginning, which has no half of a surrogate pair. */
export function shortened(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  return `${text.slice(0, charactersMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Claude Code compacts when so many tokens are left. */
const LEFT_FREE = 13_000;

/** Tokens that Claude Code fills before it compacts, where its environment says so. */
export function windowTokens(env: Environment): number | undefined {
  const named = [env.CLAUDE_CODE_MAX_CONTEXT_TOKENS, env.CLAUDE_CODE_AUTO_COMPACT_WINDOW]
    .map(Number)
    .filter((tokens) => tokens > LEFT_FREE);
  return named.length === 0 ? undefined : Math.min(...named) - LEFT_FREE;
}

/** A sixteenth of the window: a token has about four characters. */
const CHARACTERS_OF_TOKEN = 1 / 4;

/** A window that is full again after fewer requests has no room. Claude Code ends a session where that happens three times in a row. */
const SOON = 4;

/** Characters that no window is too small for: the last request and the instructions need them. */
const LEAST = 800;

/**
 * The most characters that a hook may add to a window: a part of what its last compaction says that it takes, and less each
 * time that it was full again soon after one.
 */
export function roomInWindow({ transcript, source }: HookInput, env: Environment): number {
  const { requests, tokens } = compactionsIn(transcript ? tailOf(transcript.path) : "");
  // The compaction that ends now is not in the transcript yet.
  const last = requests.pop();
  if (source === "compact" && last) requests.push(last);
  const quick = requests.length - 1 - requests.findLastIndex((count) => count >= SOON);
  const window = tokens ?? windowTokens(env) ?? Number.POSITIVE_INFINITY;
  const room = Math.min(CHARACTERS_MAX, Math.floor(window * CHARACTERS_OF_TOKEN));
  return Math.min(room, Math.max(LEAST, Math.floor(room / 4 ** quick)));
}

/** The number of requests between one compaction and the next, and after the last; and the tokens at the last that was due. */
function compactionsIn(text: string): { requests: number[]; tokens?: number } {
  const requests: number[] = [];
  let tokens: number | undefined;
  let answers: Set<unknown> | undefined;
  for (const line of text.split("\n")) {
    const isEnd = line.includes('"compact_boundary"');
    if (!isEnd && !line.includes('"type":"assistant"')) continue;
    const { subtype, compactMetadata: about, message, isSidechain } = objectIn(line);
    if (subtype === "compact_boundary") {
      if (answers) requests.push(answers.size);
      answers = new Set();
      if (isObject(about) && about.trigger === "auto") tokens = Number(about.preTokens) || tokens;
    } else if (isObject(message) && isSidechain !== true) answers?.add(message.id);
  }
  if (answers) requests.push(answers.size);
  return { requests, ...given({ tokens }) };
}
