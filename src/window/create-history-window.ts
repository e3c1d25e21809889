import { type CostOutlook, compactHistory } from "../compaction/compact-history.ts";
import type {
  CompactHistoryOptions,
  HistoryCompaction,
} from "../compaction/compact-history-options.ts";
import type { CompactHistoryResult } from "../compaction/compact-history-result.ts";
import { outlookOf } from "../compaction/expected-cost.ts";
import { countLooseMessages, roomWithin } from "../compaction/measure-history.ts";
import { hasSecret, type SentNow } from "../compaction/write-summary.ts";
import { errorText } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import { anything, group, PRICED_WINDOW, requireOptions, someText } from "../core/options.ts";
import { PromptCache } from "../core/prompt-cache.ts";
import { whenWatched } from "../core/traces.ts";
import { warnedOutages } from "../core/warn.ts";
import { WorkQueue } from "../core/work-queue.ts";
import { recallRoom, reservedForRecords } from "../recall/recall-room.ts";
import { CountedTokens } from "./counted-tokens.ts";
import { FollowedHistory } from "./followed-history.ts";
import type {
  AppliedWindow,
  ApplyOptions,
  HistoryWindow,
  HistoryWindowOptions,
} from "./history-window.ts";
import type { NewCut } from "./new-cut.ts";
import { joinedUnits, messageOf, pinnedUnits } from "./units.ts";
import {
  requireApplyOptions,
  requireMessages,
  requirePositive,
  requireRoom,
  requireSummarize,
  requireView,
  type WindowCall,
  windowCall,
  windowCompactor,
} from "./window-call.ts";
import { WindowRecall } from "./window-recall.ts";
import { WindowRecord } from "./window-record.ts";

/** @throws SessionError `INVALID_PARAMS` */
export function createHistoryWindow<HostMessage extends object>(
  options: HistoryWindowOptions<HostMessage>,
): HistoryWindow<HostMessage> {
  requireOptions("createHistoryWindow", OPTIONS, options);
  return new LocalHistoryWindow(options);
}

const OPTIONS = group({
  ...PRICED_WINDOW,
  view: anything,
  model: someText,
  record: anything,
  memory: anything,
});

/** The target size of a history that a provider refused, as a part of its estimate. */
const OVERFLOW_SHARE = 0.6;

const TRACES = whenWatched(async () =>
  (await import("../traces/open-telemetry.ts")).openTelemetry(),
);

const NOTHING = { outcome: "unchanged", discarded: [], pruned: [], summary: null } as const;

class LocalHistoryWindow<HostMessage extends object> implements HistoryWindow<HostMessage> {
  readonly #options: HistoryWindowOptions<HostMessage>;
  readonly #settings: HistoryCompaction;
  readonly #history: FollowedHistory<HostMessage>;
  readonly #record: WindowRecord | undefined;
  readonly #recall: WindowRecall<HostMessage> | undefined;
  readonly #counts = new CountedTokens();
  readonly #cache = new PromptCache();
  #model: string | undefined;
  #reader: string | undefined;
  /** Estimated tokens of the last request. */
  #sentTokens: number | undefined;
  /** Histories that were offered, and how many there were at the last attempt to compact one. */
  #calls = 0;
  #lastAttempt: number | undefined;
  /** Tokens beside the history at that attempt. */
  #otherThen = 0;
  readonly #queue = new WorkQueue();

  constructor(options: HistoryWindowOptions<HostMessage>) {
    const {
      view,
      summarize,
      contextWindow,
      otherTokens,
      model,
      prices,
      record,
      memory,
      ...settings
    } = options;
    requireView(view);
    requireSummarize(summarize);
    requirePositive("contextWindow", contextWindow);
    this.#options = options;
    this.#settings = settings;
    this.#history = new FollowedHistory(view, model);
    this.#model = model;
    this.#record = record && new WindowRecord(record);
    this.#recall =
      memory && memory.recallTokens > 0 ? new WindowRecall(memory, record, view) : undefined;
    windowCompactor(settings, contextWindow);
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
    requireApplyOptions(options);
    requireMessages(given);
    this.#countFor(options.model);
    const call = windowCall(this.#options, this.#settings, options);
    this.#reader = call.reader;
    const positions = await this.#catchUp(given);
    const history = positions?.map((at) => given[at] as HostMessage) ?? given;
    this.#follow(history, call);

    const before = this.#tokens;
    const result = this.#isDue(call) ? await this.#tracedCompaction(history, call) : undefined;
    const changes = this.#history.changesOf(result);
    const failure =
      result === undefined || result.outcome === "unchanged"
        ? failureOf(result)
        : await this.#cut(this.#history.cutOf(result), history);
    const isCut = result !== undefined && result.outcome !== "unchanged" && !failure;
    await this.#lookUp(call, { isCut, before });
    this.#sentTokens = this.#tokens + call.otherTokens;

    const done = this.#sent(history);
    if (!isCut) return { ...done, ...NOTHING, ...(failure ? { failure } : {}) };
    const inGiven = (places: readonly number[]) => places.map((at) => positions?.[at] ?? at);
    const discarded = inGiven(changes.discarded);
    const pruned = inGiven(changes.pruned);
    return { ...done, outcome: result.outcome, discarded, pruned, summary: result.summary };
  }

  /** Earlier counts are of other weights. */
  #countFor(model: string | undefined): void {
    if (model === undefined || this.#options.model !== undefined) return;
    this.#model = model;
    if (!this.#history.countFor(model)) return;
    this.#counts.historyChanged();
    this.#sentTokens = undefined;
  }

  /**
   * Takes over what other processes wrote. Returns the positions of the given messages that are of the
   * history, if a host took over records.
   */
  async #catchUp(given: readonly HostMessage[]): Promise<readonly number[] | undefined> {
    const followed = this.#history;
    await this.#readRecord();
    return this.#recall?.without(given, {
      from: () => followed.knownIn(given),
      textOf: (message) => followed.userText(message),
    });
  }

  /** Takes over what the log has. While it cannot be read, a call goes on with what is known here. */
  async #readRecord(): Promise<void> {
    const record = this.#record;
    if (!record) return;
    await warnedOutages.attempt(
      record,
      async () => {
        const known = await record.changed();
        if (known) this.#history.know(known);
        this.#recall?.know(record);
      },
      "The chat goes on without its log.",
    );
  }

  /** Takes the history, and learns from the provider's count and refusal of the last request. */
  #follow(history: readonly HostMessage[], call: WindowCall): void {
    const { otherTokens, contextWindow = 0, threshold, edited, outgrown, cached } = call;
    const change = this.#history.follow(history, { whole: edited });
    // The last request may belong to another conversation.
    if (change === "another") this.#sentTokens = undefined;
    if (change === "another" || this.#calls === 0) this.#cache.changed(this.#tokens);
    else if (change === "longer") {
      this.#cache.answered(cached && { model: cached.model, at_ms: cached.atMs });
    }
    if (change !== "the same") this.#learn(call);
    requireRoom(this.#history.sent.systemTokens, otherTokens, threshold);
    if (!outgrown) return;
    const estimated = this.#tokens + otherTokens;
    this.#counts.refused({ estimated, inputTokens: Math.max(estimated, contextWindow) });
  }

  /** Learns from the provider's count of the last request how far the estimate is off. */
  #learn({ lastInputTokens, otherTokens }: WindowCall): void {
    this.#calls += 1;
    const { sent } = this.#history;
    const estimated =
      this.#sentTokens ?? sent.tokensBeforeAnswer + (this.#recall?.tokens ?? 0) + otherTokens;
    if (!(lastInputTokens > 0) || estimated === 0) return;
    this.#counts.counted({ estimated, inputTokens: lastInputTokens });
  }

  #isDue(call: WindowCall): boolean {
    const { outgrown, force, compactor, contextWindow, otherTokens, threshold } = call;
    const { units } = this.#history.sent;
    // Only more tools than at the last attempt make it due, so that says nothing of this one.
    const moreTools = Math.max(0, otherTokens - this.#otherThen);
    const isBesideTools = moreTools > 0 && this.#expected(call) - moreTools < threshold;
    const lastAttempt = isBesideTools ? undefined : this.#lastAttempt;
    return (
      outgrown ||
      force ||
      compactor.shouldCompact({
        lastInputTokens: 0,
        messageCount: units.length,
        ...given({ looseMessages: this.#looseMessages(call) }),
        estimatedHistoryTokens: this.#expected(call) + this.#reservedNow(call),
        lastCompactionTurn: lastAttempt,
        currentTurn: this.#calls,
        ...(contextWindow === undefined ? {} : { contextWindow }),
      })
    );
  }

  /** How many messages a compaction could take out, where their number counts. Most histories have too few for a closer look. */
  #looseMessages(call: WindowCall): number | undefined {
    const { config } = call.compactor;
    const { units } = this.#history.sent;
    if (config.windowSize === undefined) return undefined;
    if (units.length < 2 * config.windowSize) return units.length;
    const pins = pinnedUnits(units, this.#room(call, config.autoCompactThreshold));
    return countLooseMessages(units.map(messageOf), pins);
  }

  /** Estimated tokens that the history may have, for a limit in the provider's tokens. */
  #room(call: WindowCall, most: number, factorMin = 0): number {
    const count = this.#counts.count(this.#tokens + call.otherTokens);
    const within = roomWithin(most, { ...count, factor: Math.max(factorMin, count.factor) });
    const beside = call.otherTokens + this.#reserved(call) + this.#itemTokens;
    return Math.max(1, Math.floor(within) - beside);
  }

  /** A compaction as traces show it: beside what the host shows of its own loop. */
  async #tracedCompaction(history: readonly HostMessage[], call: WindowCall) {
    const model = this.#model;
    const before = this.#tokens;
    const trigger = call.outgrown ? "overflow" : call.force ? "request" : "threshold";
    const fields = { "rkat.compaction.trigger": trigger, "rkat.compaction.tokens_before": before };
    return await TRACES.span({ operation: "rkat.compact", model, fields }, async (span) => {
      const result = await this.#compact(history, call);
      const after = result.outcome === "unchanged" ? before : result.tokensAfter;
      span.set({
        "rkat.compaction.outcome": result.outcome,
        "rkat.compaction.tokens_after": after,
      });
      return result;
    });
  }

  async #compact(history: readonly HostMessage[], call: WindowCall): Promise<CompactHistoryResult> {
    const { compactor, summarize, otherTokens, outgrown, contextWindow, force, signal } = call;
    this.#lastAttempt = this.#calls;
    this.#otherThen = otherTokens;
    this.#history.follow(history, { whole: true });
    const { sent, visible } = this.#history;
    const target = this.#room(call, compactor.config.autoCompactThreshold);
    const opaque = visible.flatMap(({ opaqueTokens }, index) =>
      opaqueTokens > 0 ? [[index, opaqueTokens] as const] : [],
    );
    const options: CompactHistoryOptions = {
      ...this.#settings,
      compactor,
      messages: visible.map(({ message }) => message),
      pins: pinnedUnits(sent.units, target),
      joined: joinedUnits(sent.units),
      opaqueTokens: new Map(opaque),
      speakers: new Map(
        sent.units.flatMap(({ speaker }, index) => (speaker ? [[index, speaker] as const] : [])),
      ),
      targetTokens: outgrown
        ? Math.max(1, Math.min(target, Math.floor(sent.tokens * OVERFLOW_SHARE)))
        : target,
      due: true,
      force,
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(contextWindow === undefined ? {} : { contextWindow: this.#room(call, contextWindow, 1) }),
      ...(outgrown ? { outgrown } : given({ outlook: this.#outlook(call) })),
      ...(typeof summarize === "function"
        ? {
            summarize: (request) =>
              summarize({ ...request, sent: () => this.#now(history, call, request.newestLeaves) }),
          }
        : {}),
      ...(signal ? { signal } : {}),
    };
    const result = await compactHistory(options);
    if (!outgrown || result.outcome !== "unchanged") return result;
    return await compactHistory({ ...options, bare: true });
  }

  /** The expected cost of the rest of the chat, where the host says what is in the cache. */
  #outlook({ cached }: WindowCall): CostOutlook | undefined {
    if (!cached) return undefined;
    const { prices } = this.#options;
    const chat = { model: cached.model, tokens: this.#tokens, calls: this.#calls };
    return outlookOf(this.#cache, { ...chat, ...given({ prices }) });
  }

  /** The messages that would be sent now, if nothing in them is kept out of summaries. */
  #now(
    history: readonly HostMessage[],
    call: WindowCall,
    newestLeaves = false,
  ): SentNow | undefined {
    const { visible, mayHaveItems, sent } = this.#history;
    if (!mayHaveItems || visible.some(({ message }) => hasSecret(message))) return undefined;
    const { messages } = this.#sent(history);
    const { contextWindow } = call;
    const part = (length: number, without = 0): SentNow => {
      const tokens = this.#expected(call, without);
      const room = contextWindow === undefined ? undefined : contextWindow - tokens;
      return { messages: messages.slice(0, length), tokens, ...given({ room }) };
    };
    const step = newestLeaves ? undefined : sent.newestStep;
    const withoutNewest = step && part(messages.length - step.length, step.tokens);
    return { ...part(messages.length), ...given({ withoutNewest }) };
  }

  /** Puts a compaction into force, after it is in the log. */
  async #cut(
    cut: NewCut<HostMessage>,
    history: readonly HostMessage[],
  ): Promise<AppliedWindow<HostMessage>["failure"]> {
    let isFirst: boolean | undefined = true;
    try {
      isFirst = await this.#record?.add(cut);
    } catch (error) {
      return { reason: "not_recorded", detail: errorText(error) };
    }
    this.#counts.historyChanged();
    this.#recall?.clear();
    if (isFirst !== false) {
      this.#history.take(cut);
    } else {
      // Another process was first. Its compaction counts, with the records that it has looked up.
      await this.#readRecord();
      this.#history.follow(history);
    }
    this.#cache.changed(this.#tokens);
    return undefined;
  }

  /**
   * Looks in memory for what a new prompt is about, and again once a compaction has taken the records away. `before`
   * is the number of tokens that the history and its records had.
   */
  async #lookUp(
    call: WindowCall,
    { isCut, before }: { readonly isCut: boolean; readonly before: number },
  ): Promise<void> {
    const { threshold, contextWindow = threshold, outgrown } = call;
    if (!this.#recall) return;
    const prompt = this.#history.sent.lastPrompt;
    // Nothing else leaves, so the records do.
    const expected = this.#expected(call);
    const isFull = expected >= contextWindow;
    if (prompt && !isCut && (isFull || expected > threshold))
      await this.#recall.leave(prompt, { all: isFull });
    if (outgrown && !isCut) return;
    // Before a prompt that was answered in part, records would change the beginning of the next request.
    if (!prompt || !(prompt.isLast || isCut)) return;
    const factor = this.#factor;
    const recalled = this.#recall.tokens;
    await this.#recall.lookUp(prompt, {
      messages: () => this.#history.visible.map(({ message }) => message),
      room: recallRoom({
        threshold: threshold / factor,
        expected: this.#expected(call) / factor,
        recalled,
        ...(isCut ? { freed: before - this.#tokens } : {}),
      }),
    });
  }

  /** The messages to send, with the records in their places. */
  #sent(history: readonly HostMessage[]) {
    const { sent } = this.#history;
    const own = this.#history.sentOf(history);
    const { messages = own, recalled = [] } =
      this.#recall?.addTo(own, (key) => sent.placeOf(key)) ?? {};
    const sentNow = { messages, recalled, tokens: this.#tokens };
    const { item } = sent;
    if (!item || this.#itemTokens === 0) return sentNow;
    const message = item.message as HostMessage;
    const beside = messages.flatMap((each) =>
      each === own[item.place] ? [each, message] : [each],
    );
    return { ...sentNow, messages: beside, recalled: [...recalled, message] };
  }

  /** Estimated tokens of the history, and of the records and the item in it. */
  get #tokens(): number {
    return this.#history.sent.tokens + (this.#recall?.tokens ?? 0) + this.#itemTokens;
  }

  /** Tokens of the item beside the summary; 0 when there is none for this reader. */
  get #itemTokens(): number {
    const { item } = this.#history.sent;
    return item?.reader === this.#reader ? (item?.tokens ?? 0) : 0;
  }

  /** Tokens that a compaction leaves free for the records before the next prompt. */
  #reserved({ threshold }: WindowCall): number {
    const { summaryTokens } = this.#history.sent;
    if (!this.#recall || summaryTokens === 0) return 0;
    const { recallTokens } = this.#recall;
    return reservedForRecords({ threshold: threshold / this.#factor, recallTokens, summaryTokens });
  }

  /** The tokens still free for records. The next call of a turn brings none, so no compaction is due for their sake. */
  #reservedNow(call: WindowCall): number {
    if (!this.#history.sent.lastPrompt?.isLast) return 0;
    return Math.max(0, this.#reserved(call) - (this.#recall?.tokens ?? 0));
  }

  /** How many of the provider's tokens one estimated token of records may be. */
  get #factor(): number {
    return Math.max(1, this.#counts.count(0).factor);
  }

  /** The expected count of the provider. Where the estimate alone fills the window, no lower count is believed. */
  #expected({ otherTokens, contextWindow = Infinity }: WindowCall, without = 0): number {
    const estimated = this.#tokens - without + otherTokens;
    const expected = this.#counts.expected(estimated);
    return estimated < contextWindow ? expected : Math.max(estimated, expected);
  }
}

function failureOf(result: CompactHistoryResult | undefined) {
  if (result?.outcome !== "unchanged" || result.reason === "below_threshold") return undefined;
  return { reason: result.reason, detail: result.detail };
}
