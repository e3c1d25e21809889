import type { Message } from "./message.ts";

/** When a compaction runs, and how much it keeps. */
export interface CompactionConfig {
  /**
   * Tokens. Compaction triggers when the last input, or the estimate of the
   * history, reaches it. Default 100 000.
   */
  readonly autoCompactThreshold: number;
  /** Recent complete turns that a compaction would like to keep. Default 4. */
  readonly recentTurnBudget: number;
  /** Tokens that a summary may take. Default 4 096. */
  readonly maxSummaryTokens: number;
  /** Model calls that pass between two compactions, at least. Default 3. */
  readonly minTurnsBetweenCompactions: number;
  /**
   * Messages that a compaction by their number keeps; twice as many trigger it. System messages,
   * summaries, pins and the last user message do not count. Without it, only tokens trigger.
   */
  readonly windowSize?: number;
}

export const DEFAULT_COMPACTION_CONFIG: CompactionConfig = {
  autoCompactThreshold: 100_000,
  recentTurnBudget: 4,
  maxSummaryTokens: 4096,
  minTurnsBetweenCompactions: 3,
};

/** What the decision to compact is made from. */
export interface CompactionContext {
  /** Input tokens of the last model call, as the provider counted them; 0 after a compaction. */
  readonly lastInputTokens: number;
  readonly messageCount: number;
  /** Messages of the history that a compaction could take out; counted only where there is a `windowSize`. */
  readonly looseMessages?: number;
  /** Tokens that the next call will be counted for, as far as can be told before it is made. */
  readonly estimatedHistoryTokens: number;
  /** The session's count of model calls when a compaction was last tried, if ever. */
  readonly lastCompactionTurn: number | undefined;
  /** The session's count of model calls so far: 0 before the first. */
  readonly currentTurn: number;
  /** The model's context window in tokens, if known. */
  readonly contextWindow?: number;
}

/** Whether so many messages trigger a compaction by their number. */
export function isCrowded(looseMessages: number, { windowSize }: CompactionConfig): boolean {
  return windowSize !== undefined && looseMessages >= 2 * windowSize;
}

/** What a rebuild has to respect, besides the configuration. */
export interface RebuildConstraints {
  /** Positions of messages that stay, with the tool call or result that belongs to them. */
  readonly pinned?: ReadonlySet<number>;
  /** Estimated tokens that the rebuilt history should stay below; the threshold when it is not given. */
  readonly targetTokens?: number;
  /** Rebuild although the history is below the target, because somebody asked. */
  readonly force?: boolean;
  /** Positions of system messages that later ones have taken the place of: they may leave. */
  readonly superseded?: ReadonlySet<number>;
  /** Keep nothing but what stays in any case, without a summary: the provider refused all else. */
  readonly bare?: boolean;
  /** The `provider/model` by whose rules images count. */
  readonly model?: string;
}

export interface CompactionResult {
  /** The rebuilt history: what stayed, and the summary in the place of the first that left. */
  readonly messages: readonly Message[];
  /** What left, in its old order. Together with what stayed it is exactly the source. */
  readonly discarded: readonly Message[];
  /** The position of each discarded message in the source; the same object may be there twice. */
  readonly discardedAt: readonly number[];
  /** Longest summary that has room in this rebuild, in bytes of its JSON and in quarter tokens alike; 0 when there is none. */
  readonly summaryBytesMax: number;
  /** Messages that stayed with less tool output in them. */
  readonly shortened: readonly Shortened[];
}

/** A message that a rebuild keeps with less tool output in it. */
export interface Shortened {
  /** Its position in the source. */
  readonly index: number;
  readonly original: Message;
  readonly replacement: Message;
  /** What `withShortenedOutput` has to be given, in this order, to make the one of the other. */
  readonly outputs: readonly { readonly toolUseId: string; readonly keptBytes: number }[];
}

/**
 * Decides when a history is compacted, and rebuilds it.
 *
 * Contract:
 * - Call 0 never compacts.
 * - No compaction comes sooner than `minTurnsBetweenCompactions` after the last,
 *   unless the history has outgrown the context window.
 * - Either measure that reaches the threshold triggers.
 * - Twice the window of messages triggers, where there is a window.
 * - `rebuildHistory` does not depend on the clock or on chance, and discards the same messages
 *   whatever the summary says.
 * - Retained and discarded messages are exactly the source, each in its old order.
 * - Every system message that no later one has superseded, and the last user message, stay word for word.
 * - A tool result is never parted from its call.
 * - Pinned messages stay, with the tool calls or results that belong to them.
 * - A summary is never a turn, and never retained by the next compaction.
 * - A rebuilt history is smaller than its source, however long the summary; a summary takes no
 *   more than two thirds of what it stands for.
 * - It ends below the target whenever system messages, pins and the last user message alone would.
 * - No more messages stay than the window has, but for one group that is more by itself.
 * - When nothing can be discarded, no summary is put in.
 */
export interface Compactor {
  readonly config: CompactionConfig;
  shouldCompact(context: CompactionContext): boolean;
  /** What the model is asked for the summary with. */
  compactionPrompt(): string;
  /** Tokens that the summary may take. */
  maxSummaryTokens(): number;
  rebuildHistory(
    messages: readonly Message[],
    summary: string,
    constraints?: RebuildConstraints,
  ): CompactionResult;
}
