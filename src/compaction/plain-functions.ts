import {
  indexableText as indexable,
  type Message,
  summaryMessage as ofSummary,
  type UserMessage,
} from "../core/message.ts";
import { type Check, flag, object, reading, requireArgument, someText } from "../core/options.ts";
import {
  type LoggedSource,
  passesSource as passes,
  type SourceFilter,
} from "../core/session-source.ts";
import { estimateTokens as estimated } from "../core/tokens.ts";
import { splitTurns as split, type Turn } from "../core/turn.ts";
import { requireHistory } from "./compact-history-options.ts";
import { smartFallbackSummary as fallbackSummary } from "./smart-fallback-summary.ts";

// Functions of values. Inside of rkat they are called with what was checked before; here, you may give them anything.

function requireOptional(name: string, check: Check, value: unknown): void {
  if (value !== undefined) requireArgument(name, check, value);
}

/**
 * Estimated tokens of a history. Texts count by their kind, and images by their pixels, with the rules
 * of the `provider/model` if it is given.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function estimateTokens(messages: readonly Message[], model?: string): number {
  return reading("estimateTokens", () => {
    requireHistory(messages);
    requireOptional("the model of estimateTokens", someText, model);
    return estimated(messages, model);
  });
}

/**
 * The text by which memory finds a message; empty when there is none.
 *
 * It has what users and models said to each other, but no system prompts, reasoning, tool calls,
 * tool results or summaries.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function indexableText(message: Message): string {
  return reading("indexableText", () => {
    requireHistory([message]);
    return indexable(message);
  });
}

/**
 * The message that a compaction puts in the place of what it discarded.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function summaryMessage(summary: string): UserMessage {
  requireArgument("the summary of summaryMessage", someText, summary);
  return ofSummary(summary);
}

/**
 * Splits a history into its turns and what comes before the first one.
 *
 * A turn is a user message and everything that answers it, up to the next user
 * message:
 *
 *     S   C   U A T A   U A   U A T        C: the summary of a compaction
 *     preamble└ turn ┘  └ ─┘  └ ──┘
 *
 * A summary is never a turn.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function splitTurns(messages: readonly Message[]): {
  readonly preamble: readonly Message[];
  readonly turns: readonly Turn[];
} {
  return reading("splitTurns", () => {
    requireHistory(messages);
    return split(messages);
  });
}

/**
 * A summary without a model. It takes at most `bytesMax`, in UTF-8, in JSON and in quarter tokens alike. Default: 16 384.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function smartFallbackSummary(messages: readonly Message[], bytesMax?: number): string {
  return reading("smartFallbackSummary", () => {
    requireHistory(messages);
    return fallbackSummary(messages, bytesMax);
  });
}

const SOURCE = object({ agent: someText, "project?": someText, "branch?": someText });
const FILTER = object({ own: flag, "agent?": someText, "project?": someText, "branch?": someText });

/** Whether a session with this source passes. @throws SessionError `INVALID_PARAMS` */
export function passesSource(source: LoggedSource | undefined, filter: SourceFilter): boolean {
  requireOptional("the source of passesSource", SOURCE, source);
  requireArgument("the filter of passesSource", FILTER, filter);
  return passes(source, filter);
}
