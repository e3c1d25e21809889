import type { Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import type { UnchangedReason } from "../compaction/compact-history-result.ts";
import type { HostRecord } from "../core/host-record.ts";
import type { PriceTable } from "../core/prices.ts";
import type { MessageView } from "./message-view.ts";
import type { WindowMemory } from "./window-recall.ts";

export interface HistoryWindowOptions<HostMessage extends object> extends HistoryCompaction {
  readonly view: MessageView<HostMessage>;
  /**
   * Asks a model for a summary. `"fallback"` writes summaries without a model. Give it here or to each
   * `apply`.
   */
  readonly summarize?: Summarize | "fallback";
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** Estimated tokens of what each request has besides the history and that the loop does not show: tools, mostly. */
  readonly otherTokens?: number;
  /** The name of the model as `provider/model`. Its rules say how many tokens an image has. */
  readonly model?: string;
  /** Prices of models, for those that rkat does not know, and instead of those it knows. They decide only together with `cached`. */
  readonly prices?: PriceTable;
  /**
   * The record of the window's compactions and of the messages that it compacted, so that they outlive
   * the process and searches find them.
   */
  readonly record?: HostRecord;
  /** The memory whose records come back by themselves. */
  readonly memory?: WindowMemory;
}

/** A model whose provider has the last request in its cache. */
export interface CachedModel {
  /** The model, as `provider/model`. */
  readonly model: string;
  /** When it answered, in milliseconds since 1970. */
  readonly atMs: number;
}

export interface ApplyOptions {
  /** Replaces the window's own, for this call. */
  readonly summarize?: Summarize | "fallback";
  /** Replaces the window's own, for a loop that changes its model. */
  readonly contextWindow?: number;
  /** The model of this call as `provider/model`, where the window has none of its own. */
  readonly model?: string;
  /**
   * The model that is sent the messages, as `provider/model`, if it may be sent an item that it gave for a summary. No other is
   * sent that.
   */
  readonly reader?: string;
  /**
   * Input tokens of the last request, as the provider counted them. They correct the estimate. Leave them out
   * when the history has only answers to older requests, because the user took turns back.
   */
  readonly lastInputTokens?: number;
  /**
   * The model of the last answer, if its provider read the request from its cache or wrote it there. If that model has a price, the
   * cheaper of pruned tool output and a summary is chosen.
   */
  readonly cached?: CachedModel | undefined;
  /** Estimated tokens of the rest of a request besides the history: instructions and tools. They add to the window's. */
  readonly otherTokens?: number;
  /** Messages far back may be others than in the last call: compare all of them. */
  readonly edited?: boolean;
  /** The provider refused the history as too long: make it smaller, even if the estimate fits. */
  readonly outgrown?: boolean;
  /** Compact down to the turn budget, even if the estimate fits. */
  readonly force?: boolean;
  /** Only this signal makes `apply` throw. */
  readonly signal?: AbortSignal;
}

export interface AppliedWindow<HostMessage> {
  /** The messages to send: the host's own objects, except for the summary and for shortened tool output. */
  readonly messages: readonly HostMessage[];
  /** The effect of this call. A history that an earlier call compacted is sent as that call left it: `unchanged`. */
  readonly outcome: "unchanged" | "pruned" | "compacted";
  /** The reason why a due compaction changed nothing. */
  readonly failure?: {
    readonly reason: UnchangedReason | "not_recorded";
    readonly detail: string;
  };
  /** Positions in the given history of the messages that left in this call. */
  readonly discarded: readonly number[];
  /** Positions in the given history of the messages whose tool output this call shortened. */
  readonly pruned: readonly number[];
  /** The text of the new summary, without its prefix; `null` when there is none. */
  readonly summary: string | null;
  /** Messages among `messages` with records of memory, or with the reader's item. They are no part of the history: do not store them. */
  readonly recalled: readonly HostMessage[];
  /** Estimated tokens of `messages`. */
  readonly tokens: number;
}

/**
 * Compaction for a loop that is not rkat's. Give it the whole history before each model call, and send
 * its result:
 *
 *     const window = createHistoryWindow({ view, summarize, contextWindow: 200_000 });
 *     const { messages } = await window.apply(history, { lastInputTokens });
 *
 * Contract:
 * - No tool call is sent without its result, and no result without its call.
 * - Reasoning stays with the answer or the calls that it led to.
 * - The last user messages, system messages and standing instructions stay word for word.
 * - The messages that stay are the host's own objects, in their order.
 * - Each sent history extends the previous one, unless a compaction happened, or records of memory left.
 * - A compaction pays for one summary, however often the host offers the history again.
 * - A history that was edited is compacted from its longest part that is still the same. A replaced message far
 *   back in a long history is noticed before the next compaction.
 * - A summary never grows.
 * - A forgotten text is in no later summary, although the host still offers it.
 * - A failed summary leaves the history as it is while it fits the window.
 * - Records of memory stand before the prompt that they are about. They leave at the next compaction, where those of a
 *   later prompt need their room, and when nothing else makes a full window smaller.
 * - Records of memory never make a call fail, and no summary has them.
 * - Calls at the same time are answered one after the other.
 */
export interface HistoryWindow<HostMessage> {
  /**
   * @throws SessionError `INVALID_PARAMS` when `history` is no array of objects, or there is no summariser
   * @throws SessionError `PROMPT_EXCEEDS_THRESHOLD` when system messages and `otherTokens` alone are too large
   * @throws the reason of `signal` when it aborts
   */
  apply(
    history: readonly HostMessage[],
    options?: ApplyOptions,
  ): Promise<AppliedWindow<HostMessage>>;
  /** Waits for calls that run. With stores, it also brings memory up to date: call it before you close them. */
  close(): Promise<void>;
}
