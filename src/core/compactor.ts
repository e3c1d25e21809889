import type { Message } from "./message.ts";
import type { KeptOutput } from "./tokens.ts";

/** When a compaction runs, and how much it keeps. */
export interface CompactionConfig {
  /**
   * Compaction triggers at this many tokens: of the last input as the provider counted it, or of the
   * estimated history. Default 100 000.
   */
  readonly autoCompactThreshold: number;
  /** Recent turns that a compaction keeps, if they fit. Default 4. */
  readonly recentTurnBudget: number;
  /** Token limit of a summary. Default 4 096. */
  readonly maxSummaryTokens: number;
  /** Minimum of model calls between two compactions. Default 3. */
  readonly minTurnsBetweenCompactions: number;
  /**
   * Twice this many messages trigger a compaction, which keeps this many. System messages, summaries,
   * pins and the last user message do not count. Without it, only tokens trigger.
   */
  readonly windowSize?: number;
}

export const DEFAULT_COMPACTION_CONFIG: CompactionConfig = {
  autoCompactThreshold: 100_000,
  recentTurnBudget: 4,
  maxSummaryTokens: 4096,
  minTurnsBetweenCompactions: 3,
};

/** The sizes that `shouldCompact` decides from. */
export interface CompactionContext {
  /** Input tokens of the last model call, as the provider counted them; 0 after a compaction. */
  readonly lastInputTokens: number;
  readonly messageCount: number;
  /** Messages that a compaction could discard. Counted only with a `windowSize`. */
  readonly looseMessages?: number;
  /** Estimated tokens of the next model call. */
  readonly estimatedHistoryTokens: number;
  /** The session's model calls at the last attempt to compact, if there was one. */
  readonly lastCompactionTurn: number | undefined;
  /** The session's model calls so far: 0 before the first. */
  readonly currentTurn: number;
  /** The model's context window in tokens, if known. */
  readonly contextWindow?: number;
}

/** Whether there are enough messages to trigger a compaction. */
export function isCrowded(looseMessages: number, { windowSize }: CompactionConfig): boolean {
  return windowSize !== undefined && looseMessages >= 2 * windowSize;
}

/** Limits of one rebuild, besides the configuration. */
export interface RebuildConstraints {
  /** Positions of pinned messages. They stay, with their tool calls and results. */
  readonly pinned?: ReadonlySet<number>;
  /** Estimated tokens that the rebuilt history should stay below. Default: the threshold. */
  readonly targetTokens?: number;
  /** Rebuild even if the history is below the target, because a caller asked for it. */
  readonly force?: boolean;
  /** Positions of system messages that later ones replaced. They may be discarded. */
  readonly superseded?: ReadonlySet<number>;
  /** Tokens of people's words that stand below the summary. */
  readonly wordsTokens?: number;
  /** Keep only what must stay, without a summary, because the provider refused anything larger. */
  readonly bare?: boolean;
  /** The `provider/model` that sets how many tokens an image counts. */
  readonly model?: string;
  /** By position: estimated tokens that the model is sent with a message and that the message does not show. */
  readonly opaqueTokens?: ReadonlyMap<number, number>;
  /** Pairs of positions of messages that stay and leave together, besides calls and their results. */
  readonly joined?: readonly (readonly [number, number])[];
  /** By position: the turn of a message, which the notes in its shortened outputs name. */
  readonly turns?: readonly number[];
}

export interface CompactionResult {
  /** The rebuilt history: the summary message, and what was retained. */
  readonly messages: readonly Message[];
  /** The discarded messages in order. With the retained ones they are exactly the source. */
  readonly discarded: readonly Message[];
}

/** A rebuilt history with everything that the engine needs to check and log it. */
export interface RebuildResult extends CompactionResult {
  /** The position of each discarded message in the source, which may have the same object twice. */
  readonly discardedAt: readonly number[];
  /** Size of the longest summary that fits, in JSON bytes and in quarter tokens; 0 when none fits. */
  readonly summaryBytesMax: number;
  /** Retained messages with shortened tool output. */
  readonly shortened: readonly Shortened[];
}

/** A message that a rebuild keeps with shortened tool output. */
export interface Shortened {
  /** Its position in the source. */
  readonly index: number;
  readonly original: Message;
  readonly replacement: Message;
  /** Given to `withShortenedOutput` in order, they turn `original` into `replacement`. */
  readonly outputs: readonly KeptOutput[];
}

/**
 * Decides when a history is compacted, and rebuilds it: the specification's contract.
 *
 * An object with these four methods is enough. The engine adds the rest: pins, system messages and
 * the last user message stay, the summary stands where the first message left and begins with
 * `SUMMARY_PREFIX`, and a provider's refusal is answered without asking the compactor.
 *
 * Contract:
 * - `discarded` has source messages, in their order. Every other source message is in `messages`.
 * - `messages` has at most one message that the source does not have: the summary, a user message.
 * - What is discarded does not depend on the summary.
 */
export interface Compactor {
  shouldCompact(context: CompactionContext): boolean;
  /** The prompt that asks for the summary. */
  compactionPrompt(): string;
  /** Token limit of the summary. */
  maxSummaryTokens(): number;
  rebuildHistory(messages: readonly Message[], summary: string): CompactionResult;
}

/**
 * A compactor that keeps to the engine's limits by itself, as `DefaultCompactor` does. Its `config`
 * marks it.
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
 *
 * A rebuilt history may have user messages in a row: the summary before the first turn that stayed,
 * a pin before the last user message. What sends it joins them: `LanguageModel` as its contract
 * says, `toModelMessages` for the AI SDK's.
 */
export interface EngineCompactor extends Compactor {
  readonly config: CompactionConfig;
  /** It has its own rule when to compact and how much stays, so `targetTokens` does not bind it. */
  readonly ignoresTarget?: true;
  /** Without `constraints` it rebuilds as the specification's algorithm does, whatever the size. */
  rebuildHistory(
    messages: readonly Message[],
    summary: string,
    constraints?: RebuildConstraints,
  ): RebuildResult;
}

/** An item that a provider made of a history. Only the provider can read it, so it stands beside a summary. */
export interface ProviderItem {
  /** The model that reads it, as `provider/model`. */
  readonly reader: string;
  /** The host's message with it, as JSON. */
  readonly message: object;
  readonly tokens: number;
}
