import type { CompactionConfig, Compactor, EngineCompactor } from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import { isMessage } from "../core/event-shape.ts";
import type { Message } from "../core/message.ts";
import {
  amount,
  anything,
  COMPACTION,
  flag,
  group,
  is,
  listOf,
  object,
  shown,
  someText,
} from "../core/options.ts";
import { type CostOutlook, OUTLOOK } from "./expected-cost.ts";
import type { ContinuedRequest, Summarize } from "./write-summary.ts";

/**
 * How a history is compacted. A service takes these in `compaction`, and `compactHistory` beside its
 * other options:
 *
 *     const compaction = { autoCompactThreshold: 50_000, keepAnchors: false };
 *     createSessionService({ model, compaction });
 *     await compactHistory({ messages, ...compaction });
 */
export interface HistoryCompaction extends Partial<CompactionConfig> {
  /** Your own strategy, instead of `DefaultCompactor`: the specification's four methods are enough. */
  readonly compactor?: Compactor | EngineCompactor;
  /**
   * After a failed summary: `"keep"`, the default, leaves the history as it is while it fits the
   * window; `"fallback"` uses a summary that needs no model.
   */
  readonly onSummaryFailure?: "keep" | "fallback";
  /** Whether to shorten old tool output before summarising. Default true. */
  readonly pruneToolOutput?: boolean;
  /** Whether to append paths, names and numbers that a summary lost. Default true. */
  readonly keepAnchors?: boolean;
  /**
   * Tokens that the words of people may take below a summary, where they stand as they were typed. Default: three
   * quarters of the threshold. 0 keeps none.
   */
  readonly userWordsTokens?: number;
  /** Time limit of a summary. Default 120 000. */
  readonly summaryTimeoutMs?: number;
}

export interface CompactHistoryOptions extends HistoryCompaction {
  readonly messages: readonly Message[];
  /** Asks a model for a summary. Without it, `smartFallbackSummary` writes summaries without a model. */
  readonly summarize?: Summarize;
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** Positions of user messages that no person typed. A summary does not carry their words on. */
  readonly injected?: readonly number[];
  /** The names of those who wrote user messages, by position. The summary's request and the words below it have them. */
  readonly speakers?: ReadonlyMap<number, string>;
  /** Positions of messages that stay, with the tool calls or results that belong to them. */
  readonly pins?: readonly number[];
  /** Whether your compactor's `shouldCompact` was true. It counts for a compactor that ignores the target. */
  readonly due?: boolean;
  /** Compacts down to the turn budget even if the history is below the threshold. */
  readonly force?: boolean;
  /** Topics that the summary should pay attention to, added to the prompt. */
  readonly instructions?: string;
  /** Estimated tokens to end below. Default: the threshold. */
  readonly targetTokens?: number;
  /** Set it when a provider refused the history as too long. Default: a comparison with `contextWindow`. */
  readonly outgrown?: boolean;
  /**
   * Input tokens of the last model call, as the provider counted them. They correct the estimate:
   * that call contained everything before the last answer.
   */
  readonly lastInputTokens?: number;
  /** The name of the model as `provider/model`. Its rules say how many tokens an image has. */
  readonly model?: string;
  /** Positions of system messages that later ones replaced. They may be discarded. */
  readonly superseded?: readonly number[];
  /**
   * Estimated tokens that are sent with a message but not visible in it, by the message's position. An example is
   * a part that only its provider can read.
   */
  readonly opaqueTokens?: ReadonlyMap<number, number>;
  /** Pairs of positions of messages that stay and leave together, besides calls and their results. */
  readonly joined?: readonly (readonly [number, number])[];
  /** By position: the turn that a message belongs to in a log. The notes in shortened tool output then name it, so that a search can find the whole output. */
  readonly turns?: readonly number[];
  /**
   * The last request to the model with all that came after it, if the provider has it in its cache. The summary is then
   * asked for at its end, where it fits `contextWindow`.
   */
  readonly continues?: ContinuedRequest;
  /**
   * The expected cost of the rest of the session. With it, the cheaper of shortened tool output and a summary is
   * chosen, where both are possible. Without it, tool output is shortened if that frees enough.
   */
  readonly outlook?: CostOutlook;
  /** Keeps only the messages that must stay, without a summary. */
  readonly bare?: boolean;
  readonly signal?: AbortSignal;
}

/** Pairs of positions. */
export const PAIRS = listOf(
  is(
    "a pair of positions",
    (pair) => Array.isArray(pair) && pair.length === 2 && pair.every(Number.isInteger),
  ),
);

const list = listOf(anything);
const names = is(
  "a Map from positions to names",
  (value) => value instanceof Map && [...value.values()].every((name) => typeof name === "string"),
);

/** The items of lists, and limits, have checks of their own, which know the history. */
export const COMPACT_HISTORY_OPTIONS = group({
  ...COMPACTION,
  messages: anything,
  summarize: anything,
  contextWindow: anything,
  injected: list,
  speakers: names,
  pins: list,
  due: flag,
  force: flag,
  instructions: someText,
  targetTokens: anything,
  outgrown: flag,
  lastInputTokens: amount,
  model: someText,
  superseded: list,
  opaqueTokens: is("a Map", (value) => value instanceof Map),
  joined: PAIRS,
  turns: listOf(amount),
  continues: object({ messages: listOf(is("a message", isMessage)), toolTokens: amount }),
  outlook: OUTLOOK,
  bare: flag,
  signal: is("an AbortSignal", (value) => value instanceof AbortSignal),
});

export function requireSense(options: CompactHistoryOptions, messageCount: number): void {
  const { contextWindow = 1, targetTokens = 1, summaryTimeoutMs = 1, summarize } = options;
  const { pins = [], superseded = [], messages } = options;
  const isPosition = (pin: number) => Number.isInteger(pin) && pin >= 0 && pin < messageCount;
  const wrongPin = pins.find((pin) => !isPosition(pin));
  if (wrongPin !== undefined) {
    refuse(`pins names position ${wrongPin}; the history has ${messageCount} messages, from 0.`);
  }
  const wrongMessage = superseded.find((index) => messages[index]?.role !== "system");
  if (wrongMessage !== undefined) {
    refuse(`superseded names position ${wrongMessage}, where there is no system message.`);
  }
  for (const [name, value] of Object.entries({ contextWindow, targetTokens, summaryTimeoutMs })) {
    if (!(typeof value === "number" && value > 0))
      refuse(`${name} is ${shown(value)}; it has to be above 0.`);
  }
  if (summarize !== undefined && typeof summarize !== "function") {
    refuse("summarize has to be a function.");
  }
}

function refuse(message: string): never {
  throw new SessionError("INVALID_PARAMS", { message });
}

/** The field that every message of a role has, and the kinds of values in it. */
const FIELDS: Record<
  Message["role"],
  { readonly name: string; readonly text: boolean; readonly list: boolean }
> = {
  system: { name: "content", text: true, list: false },
  user: { name: "content", text: true, list: true },
  assistant: { name: "content", text: true, list: false },
  block_assistant: { name: "blocks", text: false, list: true },
  tool_results: { name: "results", text: false, list: true },
};

/**
 * Refuses a value that is not a history, such as messages in another library's shape.
 * `messageSchema` looks deeper.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireHistory(messages: unknown): asserts messages is readonly Message[] {
  if (!Array.isArray(messages)) refuse("messages has to be an array.");
  for (const [index, message] of messages.entries()) {
    if (typeof message !== "object" || message === null) {
      refuse(`messages[${index}] is not an object.`);
    }
    const role = String(message.role);
    const field = Object.hasOwn(FIELDS, role) ? FIELDS[role as Message["role"]] : undefined;
    if (!field) {
      refuse(`messages[${index}].role is "${role}"; it may be ${Object.keys(FIELDS).join(", ")}.`);
    }
    const value: unknown = message[field.name];
    if ((field.text && typeof value === "string") || (field.list && Array.isArray(value))) {
      if (isMessage(message)) continue;
      refuse(`messages[${index}].${field.name} has a part that is none of such a message.`);
    }
    const allowed = [field.text ? "a text" : "", field.list ? "an array" : ""].filter(Boolean);
    refuse(`messages[${index}].${field.name} has to be ${allowed.join(" or ")}.`);
  }
}
