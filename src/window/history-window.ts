import {
  compactHistory,
  type HistoryCompaction,
  type Summarize,
} from "../compaction/compact-history.ts";
import type {
  CompactHistoryResult,
  UnchangedReason,
} from "../compaction/compact-history-result.ts";
import { compactionThreshold, DefaultCompactor } from "../compaction/default-compactor.ts";
import { engineCompactor } from "../compaction/engine-compactor.ts";
import { roomWithin } from "../compaction/measure-history.ts";
import type { EngineCompactor } from "../core/compactor.ts";
import { errorText, SessionError } from "../core/errors.ts";
import type { HostRecord } from "../core/host-record.ts";
import { anything, group, requireOptions, shown, someText, WINDOW } from "../core/options.ts";
import { WorkQueue } from "../core/work-queue.ts";
import { recallRoom, reservedForRecords } from "../recall/recall-room.ts";
import { CountedTokens } from "./counted-tokens.ts";
import { FollowedHistory, type NewCut } from "./followed-history.ts";
import type { MessageView } from "./message-view.ts";
import { pinnedUnits } from "./units.ts";
import { type WindowMemory, WindowRecall } from "./window-recall.ts";
import { WindowRecord } from "./window-record.ts";

export interface HistoryWindowOptions<HostMessage extends object> extends HistoryCompaction {
  readonly view: MessageView<HostMessage>;
  /**
   * Asks a model for a summary. `"fallback"` writes summaries without a model. Give it here or to each
   * `apply`.
   */
  readonly summarize?: Summarize | "fallback";
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** The name of the model as `provider/model`. Its rules say how many tokens an image has. */
  readonly model?: string;
  /**
   * The record of the window's compactions and of the messages that it compacted, so that they outlive
   * the process and searches find them.
   */
  readonly record?: HostRecord;
  /** The memory whose records come back by themselves. */
  readonly memory?: WindowMemory;
}

export interface ApplyOptions {
  /** Replaces the window's own, for this call. */
  readonly summarize?: Summarize | "fallback";
  /** Replaces the window's own, for a loop that changes its model. */
  readonly contextWindow?: number;
  /**
   * Input tokens of the last request, as the provider counted them. They correct the estimate. Leave them out
   * when the history has only answers to older requests, because the user took turns back.
   */
  readonly lastInputTokens?: number;
  /** Estimated tokens of the rest of a request besides the history: instructions and tools. */
  readonly otherTokens?: number;
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
  /** Messages among `messages` that show records of memory. They are no part of the history: do not store them. */
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
 * - Each sent history extends the previous one, unless a compaction happened.
 * - A compaction pays for one summary, however often the host offers the history again.
 * - A history that was edited is compacted from its longest part that is still the same. A replaced message far
 *   back in a long history is noticed before the next compaction.
 * - A summary never grows.
 * - A forgotten text is in no later summary, although the host still offers it.
 * - A failed summary leaves the history as it is while it fits the window.
 * - Records of memory stand before the prompt that they are about, and leave first at the next compaction.
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

/** @throws SessionError `INVALID_PARAMS` */
export function createHistoryWindow<HostMessage extends object>(
  options: HistoryWindowOptions<HostMessage>,
): HistoryWindow<HostMessage> {
  requireOptions("createHistoryWindow", OPTIONS, options);
  return new LocalHistoryWindow(options);
}

const OPTIONS = group({
  ...WINDOW,
  view: anything,
  model: someText,
  record: anything,
  memory: anything,
});

/** The target size of a history that a provider refused, as a part of its estimate. */
const OVERFLOW_SHARE = 0.6;

class LocalHistoryWindow<HostMessage extends object> implements HistoryWindow<HostMessage> {
  readonly #options: HistoryWindowOptions<HostMessage>;
  readonly #settings: HistoryCompaction;
  readonly #history: FollowedHistory<HostMessage>;
  readonly #record: WindowRecord | undefined;
  readonly #recall: WindowRecall<HostMessage> | undefined;
  readonly #counts = new CountedTokens();
  /** Estimated tokens of the last request. */
  #sentTokens: number | undefined;
  /** Histories that were offered, and how many there were at the last attempt to compact one. */
  #calls = 0;
  #lastAttempt: number | undefined;
  readonly #queue = new WorkQueue();

  constructor(options: HistoryWindowOptions<HostMessage>) {
    const { view, summarize, contextWindow, model, record, memory, ...settings } = options;
    requireView(view);
    requireSummarize(summarize);
    requirePositive("contextWindow", contextWindow);
    this.#options = options;
    this.#settings = settings;
    this.#history = new FollowedHistory(view, model);
    this.#record = record && new WindowRecord(record);
    this.#recall =
      memory && memory.recallTokens > 0 ? new WindowRecall(memory, record, view) : undefined;
    this.#compactor(contextWindow);
  }

  apply(
    history: readonly HostMessage[],
    options: ApplyOptions = {},
  ): Promise<AppliedWindow<HostMessage>> {
    return this.#queue.run(() => this.#apply(history, options));
  }

  async close(): Promise<void> {
    await this.#queue.idle();
  }

  async #apply(
    given: readonly HostMessage[],
    options: ApplyOptions,
  ): Promise<AppliedWindow<HostMessage>> {
    options.signal?.throwIfAborted();
    const { summarize = this.#options.summarize, otherTokens = 0, lastInputTokens = 0 } = options;
    const { contextWindow = this.#options.contextWindow, outgrown = false } = options;
    const { force = false } = options;
    requireMessages(given);
    requireSummarize(summarize);
    requirePositive("contextWindow", contextWindow);
    if (summarize === undefined) throw missingSummarize();
    const followed = this.#history;
    const positions = await this.#catchUp(given);
    const history = positions?.map((at) => given[at] as HostMessage) ?? given;
    const change = followed.follow(history);
    // The last request may belong to another conversation.
    if (change === "another") this.#sentTokens = undefined;
    if (change !== "the same") this.#learn(lastInputTokens, otherTokens);
    const compactor = this.#compactor(contextWindow);
    const { autoCompactThreshold: threshold } = compactor.config;
    requireRoom(followed.systemTokens, otherTokens, threshold);

    const estimated = this.#tokens + otherTokens;
    if (outgrown) {
      const inputTokens = Math.max(estimated, contextWindow ?? 0);
      this.#counts.refused({ estimated, inputTokens });
    }
    const reserved = this.#reserved(threshold);
    const due =
      outgrown ||
      force ||
      compactor.shouldCompact({
        lastInputTokens: 0,
        messageCount: followed.units.length,
        looseMessages: followed.units.length,
        estimatedHistoryTokens:
          this.#expected(estimated, contextWindow) +
          Math.max(0, reserved - (this.#recall?.tokens ?? 0)),
        lastCompactionTurn: this.#lastAttempt,
        currentTurn: this.#calls,
        ...(contextWindow === undefined ? {} : { contextWindow }),
      });
    if (due) followed.follow(history, { whole: true });
    const result = due
      ? await this.#compact({
          compactor,
          summarize,
          otherTokens,
          reserved,
          outgrown,
          contextWindow,
          ...options,
        })
      : undefined;
    const changes = followed.changesOf(result);
    const failure =
      result === undefined || result.outcome === "unchanged"
        ? failureOf(result)
        : await this.#cut(followed.cutOf(result), history);
    const isCut = result !== undefined && result.outcome !== "unchanged" && !failure;
    const before = estimated - otherTokens;
    await this.#lookUp({ threshold, otherTokens, contextWindow, outgrown, isCut, before });
    this.#sentTokens = this.#tokens + otherTokens;
    const sent = followed.isAsOffered ? history : [...followed.sent];
    const { messages = sent, recalled = [] } =
      this.#recall?.addTo(sent, (key) => followed.placeOf(key)) ?? {};
    const done = { messages, recalled, tokens: this.#tokens };
    if (failure || !result || result.outcome === "unchanged") {
      const nothing = { outcome: "unchanged", discarded: [], pruned: [], summary: null } as const;
      return { ...done, ...nothing, ...(failure ? { failure } : {}) };
    }
    const inGiven = (places: readonly number[]) => places.map((at) => positions?.[at] ?? at);
    const discarded = inGiven(changes.discarded);
    const pruned = inGiven(changes.pruned);
    return { ...done, outcome: result.outcome, discarded, pruned, summary: result.summary };
  }

  /**
   * Takes over what other processes wrote. Returns the positions of the given messages that are of the
   * history, if a host took over records.
   */
  async #catchUp(given: readonly HostMessage[]): Promise<readonly number[] | undefined> {
    const followed = this.#history;
    const known = await this.#record?.changed();
    if (known) followed.know(known);
    if (this.#record) this.#recall?.know(this.#record.recalled);
    return this.#recall?.without(given, (message) => followed.userText(message));
  }

  /** Estimated tokens of the history and of the records in it. */
  get #tokens(): number {
    return this.#history.tokens + (this.#recall?.tokens ?? 0);
  }

  /** Tokens that a compaction leaves free for the records before the next prompt. */
  #reserved(threshold: number): number {
    const { summaryTokens } = this.#history;
    if (!this.#recall || summaryTokens === 0) return 0;
    const { recallTokens } = this.#recall;
    return reservedForRecords({ threshold, recallTokens, summaryTokens });
  }

  /** Looks in memory for what a new prompt is about, and again once a compaction has taken the records away. */
  async #lookUp({
    threshold,
    otherTokens,
    contextWindow,
    outgrown,
    isCut,
    before,
  }: {
    readonly threshold: number;
    readonly otherTokens: number;
    readonly contextWindow: number | undefined;
    readonly outgrown: boolean;
    readonly isCut: boolean;
    /** Tokens of the history and its records before a compaction. */
    readonly before: number;
  }): Promise<void> {
    if (!this.#recall) return;
    if (isCut) this.#recall.clear();
    const prompt = this.#history.lastPrompt;
    if (prompt && outgrown && !isCut) await this.#recall.leave(prompt);
    // Before a prompt that was answered in part, records would change the beginning of the next request.
    if (!prompt || !(prompt.isLast || isCut)) return;
    const expected = this.#expected(this.#tokens + otherTokens, contextWindow);
    const recalled = this.#recall.tokens;
    await this.#recall.lookUp(prompt, {
      messages: () => this.#history.visible.map(({ message }) => message),
      room: recallRoom({
        ...{ threshold, expected, recalled },
        ...(isCut ? { freed: before - this.#tokens } : {}),
      }),
    });
  }

  /** Puts a compaction into force, after it is in the log. */
  async #cut(
    cut: NewCut<HostMessage>,
    history: readonly HostMessage[],
  ): Promise<AppliedWindow<HostMessage>["failure"]> {
    let isFirst: boolean | undefined = true;
    try {
      isFirst = await this.#record?.add(cut.cut, cut.messages);
    } catch (error) {
      return { reason: "not_recorded", detail: errorText(error) };
    }
    this.#counts.historyChanged();
    if (isFirst !== false) this.#history.take(cut);
    else {
      // Another process was first. Its compaction counts.
      const known = await this.#record?.changed();
      if (known) this.#history.know(known);
      this.#history.follow(history);
    }
    return undefined;
  }

  async #compact({
    compactor,
    summarize,
    otherTokens,
    reserved,
    outgrown,
    contextWindow,
    force = false,
    signal,
  }: Omit<ApplyOptions, "contextWindow"> & {
    readonly compactor: EngineCompactor;
    readonly otherTokens: number;
    readonly reserved: number;
    readonly outgrown: boolean;
    readonly contextWindow: number | undefined;
  }): Promise<CompactHistoryResult> {
    this.#lastAttempt = this.#calls;
    const { units, tokens } = this.#history;
    const count = this.#counts.count(this.#tokens + otherTokens);
    const room = (most: number, factor = count.factor) =>
      Math.max(1, Math.floor(roomWithin(most, { ...count, factor })) - otherTokens - reserved);
    const target = room(compactor.config.autoCompactThreshold);
    const { visible } = this.#history;
    const opaque = visible.flatMap(({ opaqueTokens }, index) =>
      opaqueTokens > 0 ? [[index, opaqueTokens] as const] : [],
    );
    const options = {
      ...this.#settings,
      compactor,
      messages: visible.map(({ message }) => message),
      pins: pinnedUnits(units, target),
      opaqueTokens: new Map(opaque),
      targetTokens: outgrown
        ? Math.max(1, Math.min(target, Math.floor(tokens * OVERFLOW_SHARE)))
        : target,
      due: true,
      force,
      ...(this.#options.model === undefined ? {} : { model: this.#options.model }),
      ...(contextWindow === undefined
        ? {}
        : { contextWindow: room(contextWindow, Math.max(1, count.factor)) }),
      ...(outgrown ? { outgrown } : {}),
      ...(typeof summarize === "function" ? { summarize } : {}),
      ...(signal ? { signal } : {}),
    };
    const result = await compactHistory(options);
    if (!outgrown || result.outcome !== "unchanged") return result;
    return await compactHistory({ ...options, bare: true });
  }

  /** The expected count of the provider. Where the estimate alone fills the window, no lower count is believed. */
  #expected(estimated: number, contextWindow = Infinity): number {
    const expected = this.#counts.expected(estimated);
    return estimated < contextWindow ? expected : Math.max(estimated, expected);
  }

  /** Learns from the provider's count of the last request how far the estimate is off. */
  #learn(lastInputTokens: number, otherTokens: number): void {
    this.#calls += 1;
    const estimated = this.#sentTokens ?? this.#history.tokensBeforeAnswer + otherTokens;
    if (!(lastInputTokens > 0) || estimated === 0) return;
    this.#counts.counted({ estimated, inputTokens: lastInputTokens });
  }

  #compactor(contextWindow: number | undefined): EngineCompactor {
    const {
      compactor,
      onSummaryFailure,
      pruneToolOutput,
      keepAnchors,
      userWordsTokens,
      summaryTimeoutMs,
      ...config
    } = this.#settings;
    const autoCompactThreshold = config.autoCompactThreshold ?? compactionThreshold(contextWindow);
    const own = new DefaultCompactor({ ...config, autoCompactThreshold });
    return compactor ? engineCompactor(compactor, own) : own;
  }
}

function failureOf(result: CompactHistoryResult | undefined) {
  if (result?.outcome !== "unchanged" || result.reason === "below_threshold") return undefined;
  return { reason: result.reason, detail: result.detail };
}

function requireView(view: unknown): void {
  const given = (typeof view === "object" && view !== null ? view : {}) as Record<string, unknown>;
  const missing = ["read", "summary", "shorten"].filter(
    (name) => typeof given[name] !== "function",
  );
  if (missing.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `view lacks ${missing.map((name) => `${name}()`).join(", ")}.`,
    hint: "A MessageView is an object with read(), summary() and shorten().",
  });
}

function requireSummarize(summarize: unknown): void {
  if (summarize === undefined || summarize === "fallback" || typeof summarize === "function")
    return;
  throw missingSummarize();
}

function missingSummarize(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "summarize is missing: the window needs a function that asks a model for a summary.",
    hint: 'Pass `summarize`, or `summarize: "fallback"` for summaries without a model.',
  });
}

function requirePositive(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `${name} is ${shown(value)}; it has to be above 0.`,
  });
}

function requireMessages(history: unknown): void {
  if (!Array.isArray(history)) {
    const found = history === null ? "null" : typeof history;
    throw new SessionError("INVALID_PARAMS", {
      message: `The history is ${found}, not an array of messages.`,
      hint: "Pass the messages of your loop, oldest first.",
    });
  }
}

function requireRoom(systemTokens: number, otherTokens: number, threshold: number): void {
  if (systemTokens + otherTokens < threshold) return;
  throw new SessionError("PROMPT_EXCEEDS_THRESHOLD", {
    detail: `System messages take about ${systemTokens} tokens, instructions and tools about ${otherTokens}; the threshold is ${threshold}.`,
  });
}
