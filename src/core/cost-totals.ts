import type { DurableEvent, MemoryRecalled, StoredEvent } from "./event.ts";
import type { CompactingCost, SessionCost } from "./operations/cost.ts";
import {
  costOfTokens,
  dollars,
  keysOf,
  minus,
  NO_TOKENS,
  type PriceTable,
  paidFor,
  plus,
  priceOf,
  sumOf,
  type Tokens,
  tokensOf,
} from "./prices.ts";
import { tokensOfLine } from "./recalled.ts";
import { NO_USAGE, type Usage } from "./usage.ts";

/** The tokens of one model: those of all calls, of summaries, and those that compactions saved and cost. */
interface OfModel {
  readonly all: Tokens;
  readonly summaries: Tokens;
  /** Tokens that calls had less: those that the cache would have had, and the others. */
  readonly saved: { readonly fresh: number; readonly cached: number };
  /** Tokens that a call read again as fresh ones, or wrote into the cache again, because a compaction changed them. */
  readonly rewritten: { readonly input: number; readonly written: number };
}

/** The change of the history whose effect the next calls show, and the records that they carry. */
interface InEffect {
  /** The last change of the history; null when there is none. Each call saves what it took away. */
  readonly compaction: {
    readonly saved_per_call: number;
    readonly rewritten: number | null;
    readonly is_shown: boolean;
  } | null;
  /** Tokens of the records of memory in each request. */
  readonly recalled: number;
  /** Tokens of each of them, by id, without its heading. Missing when there are none, and in the snapshot of an earlier version. */
  readonly records?: Readonly<Record<string, number>>;
}

interface Counts {
  readonly turns: number;
  /** The event that opened the first turn; 0 before it. */
  readonly first: number;
  readonly compacted: number;
  readonly pruned: number;
  readonly failed: number;
  readonly rewritten_tokens: number;
  readonly saved_tokens: number;
  readonly recalled_times: number;
  readonly recalled_tokens: number;
}

/** The totals in a snapshot. Their size depends on the number of models. */
export interface CostSnapshot {
  readonly models: Readonly<Record<string, OfModel>>;
  readonly counts: Counts;
  readonly now: InEffect;
  /** Whether the last call read from the provider's cache. */
  readonly cached: boolean;
}

/** A change of the history, or a try. */
export type Compacted = Extract<
  DurableEvent,
  { type: "compaction_completed" | "compaction_failed" | "tool_output_pruned" }
>;

/**
 * The sums of what a session cost: a fold of its log, in tokens by model, so that any price table makes money of it. It is
 * a part of the session's state and of its snapshot, so that the sums cost no read of the log.
 */
export class CostTotals {
  #model: string;
  readonly #models = new Map<string, OfModel>();
  #counts = NO_COUNTS;
  #now: InEffect = NOTHING;
  /** The effect before each change of the history, and before each undo of one. No snapshot has it. */
  readonly #before = new Map<number, InEffect>();
  #isCached = false;

  constructor(model = "") {
    this.#model = model;
  }

  /** How many turns have costs. */
  get turns(): number {
    return this.#counts.turns;
  }

  /** The event that opened the first of them. */
  get first(): number {
    return this.#counts.first;
  }

  /** Whether it knows the effect before a change of the history, for an undo. One that a snapshot gave knows only later ones. */
  knowsBefore(change: number): boolean {
    return this.#before.has(change);
  }

  note({ seq, event }: StoredEvent): void {
    switch (event.type) {
      case "session_created":
        this.#model = event.settings.model;
        return;
      case "run_started":
        this.#add({ turns: 1 });
        if (this.#counts.first === 0) this.#counts = { ...this.#counts, first: seq };
        return;
      case "memory_recalled":
        this.#add({ recalled_times: Number(event.tokens > 0) });
        this.#now = withMore(this.#now, event);
        return;
      case "recall_refused":
        this.#now = withoutRefused(this.#now, event.records);
        for (const [change, then] of this.#before)
          this.#before.set(change, withoutRefused(then, event.records));
        return;
      case "turn_completed":
        this.#answered(seq, event.usage, event.model ?? this.#model);
        return;
      case "compaction_undone":
        this.#becomes(seq, this.#before.get(event.undone) ?? NOTHING);
        return;
      case "compaction_completed":
      case "compaction_failed":
      case "tool_output_pruned":
        this.#compacted(seq, event);
        return;
    }
  }

  #answered(seq: number, usage: Usage, model: string): void {
    this.#open(seq);
    const before = this.#of(model);
    this.#models.set(model, { ...before, all: plus(before.all, tokensOf(usage)) });
    this.#add({ recalled_tokens: this.#now.recalled });
    const cached = (usage.cache_read_tokens ?? 0) > 0;
    if (usage.input_tokens > 0) this.#show(usage, model, cached);
    this.#isCached = cached;
  }

  /** Adds what a call saved, or paid again, because of the compaction before it. */
  #show(usage: Usage, model: string, cached: boolean): void {
    const { compaction } = this.#now;
    if (!compaction) return;
    const { saved_per_call: less, rewritten, is_shown } = compaction;
    this.#add({ saved_tokens: less });
    this.#now = { ...this.#now, compaction: { ...compaction, is_shown: true } };
    const { saved, rewritten: again, ...rest } = this.#of(model);
    const dearer = !is_shown && this.#isCached ? (rewritten ?? 0) : 0;
    const isWritten = usage.cache_creation_tokens !== null;
    const fromCache = this.#isCached || cached;
    this.#models.set(model, {
      ...rest,
      saved: fromCache
        ? { ...saved, cached: saved.cached + less }
        : { ...saved, fresh: saved.fresh + less },
      rewritten: isWritten
        ? { ...again, written: again.written + dearer }
        : { ...again, input: again.input + dearer },
    });
  }

  #compacted(seq: number, event: Compacted): void {
    this.#open(seq);
    const usage = event.usage ?? NO_USAGE;
    if (usage.input_tokens + usage.output_tokens > 0) {
      const model = event.model ?? this.#model;
      const before = this.#of(model);
      const tokens = tokensOf(usage);
      const summaries = plus(before.summaries, tokens);
      this.#models.set(model, { ...before, all: plus(before.all, tokens), summaries });
    }
    if (event.type === "compaction_failed") {
      this.#add({ failed: 1 });
      return;
    }
    const rewritten = event.rewritten_tokens ?? null;
    this.#add(event.type === "compaction_completed" ? { compacted: 1 } : { pruned: 1 });
    this.#add({ rewritten_tokens: rewritten ?? 0 });
    const saved_per_call = Math.max(0, event.tokens_before - event.tokens_after);
    this.#becomes(seq, { compaction: { saved_per_call, rewritten, is_shown: false }, recalled: 0 });
  }

  #becomes(seq: number, now: InEffect): void {
    this.#before.set(seq, this.#now);
    this.#now = now;
  }

  /** A cost before the first prompt belongs to a turn too. */
  #open(seq: number): void {
    if (this.#counts.turns === 0) this.#counts = { ...this.#counts, turns: 1, first: seq };
  }

  #of(model: string): OfModel {
    return this.#models.get(model) ?? NO_MODEL;
  }

  #add(counts: Partial<Counts>): void {
    const sums = { ...this.#counts };
    for (const key of keysOf(counts)) sums[key] += counts[key] ?? 0;
    this.#counts = sums;
  }

  /**
   * The session's sums. `listed` are the calls that are told one by one; the others are in `earlier`, so the sum of all
   * is exact.
   */
  view(
    listed: { readonly turns: number; readonly calls: readonly ListedCall[] },
    own: PriceTable,
  ): Omit<SessionCost, "sessionId" | "turns"> {
    const rest = new Map([...this.#models].map(([model, { all }]) => [model, all]));
    let paid: number | undefined;
    for (const { model, usage, billionths } of listed.calls) {
      rest.set(model, minus(rest.get(model) ?? NO_TOKENS, tokensOf(usage)));
      if (billionths !== undefined) paid = (paid ?? 0) + billionths;
    }
    const earlier = paidFor(rest, own);
    const all = sumOf([...this.#models.values()].map((each) => each.all));
    const isPaid = earlier !== undefined || paid !== undefined;
    const total = isPaid ? (earlier ?? 0) + (paid ?? 0) : undefined;
    const { turns, recalled_times: times, recalled_tokens: tokens } = this.#counts;
    const unpriced = [...this.#models].filter(
      ([model, { all: used }]) => used.input + used.output > 0 && !priceOf(model, own),
    );
    return {
      ...costOfTokens(all, total),
      calls: all.calls,
      unpricedModels: unpriced.map(([model]) => model),
      earlier: {
        turns: turns - listed.turns,
        calls: all.calls - listed.calls.length,
        ...costOfTokens(sumOf([...rest.values()]), earlier),
      },
      compacting: this.#compacting(own),
      recalled: { times, tokens },
    };
  }

  #compacting(own: PriceTable): CompactingCost {
    const { compacted, pruned, failed, rewritten_tokens, saved_tokens } = this.#counts;
    const summaries = new Map([...this.#models].map(([model, each]) => [model, each.summaries]));
    let [savedUsd, rewrittenUsd] = [0, 0];
    for (const [model, { saved, rewritten }] of this.#models) {
      const price = priceOf(model, own);
      if (!price) continue;
      const dearer = (fresh: number) => Math.max(0, fresh - price.cacheRead);
      savedUsd += saved.fresh * price.input + saved.cached * price.cacheRead;
      rewrittenUsd += rewritten.input * dearer(price.input);
      rewrittenUsd += rewritten.written * dearer(price.cacheWrite);
    }
    return {
      compacted,
      pruned,
      failed,
      summaries: costOfTokens(sumOf([...summaries.values()]), paidFor(summaries, own)),
      rewrittenTokens: rewritten_tokens,
      rewrittenUsd: dollars(Math.round(1000 * rewrittenUsd)),
      savedTokens: saved_tokens,
      savedUsd: dollars(Math.round(1000 * savedUsd)),
    };
  }

  snapshot(): CostSnapshot {
    const models = Object.fromEntries(this.#models);
    return { counts: this.#counts, now: this.#now, cached: this.#isCached, models };
  }

  static restore({ models, counts, now, cached }: CostSnapshot, model: string): CostTotals {
    const totals = new CostTotals(model);
    for (const [name, each] of Object.entries(models)) totals.#models.set(name, each);
    totals.#counts = counts;
    totals.#now = now;
    totals.#isCached = cached;
    return totals;
  }
}

/** A call that is told one by one. */
export interface ListedCall {
  readonly model: string;
  readonly usage: Usage;
  /** Undefined for a model without a price. */
  readonly billionths: number | undefined;
}

function withMore(now: InEffect, { records, tokens, replaces }: MemoryRecalled): InEffect {
  const kept = replaces ? NOTHING : now;
  const more = records.map((record) => [record.id, tokensOfLine(record)]);
  return {
    compaction: now.compaction,
    recalled: tokens + kept.recalled,
    records: { ...kept.records, ...Object.fromEntries(more) },
  };
}

/** The effect without records that a person refused. The last one takes the headings along. */
function withoutRefused(now: InEffect, refused: readonly string[]): InEffect {
  const all = Object.entries(now.records ?? {});
  const left = all.filter(([id]) => !refused.includes(id));
  if (left.length === all.length) return now;
  const sum = (records: typeof all) => records.reduce((tokens, [, each]) => tokens + each, 0);
  const recalled = left.length === 0 ? 0 : Math.max(0, now.recalled - sum(all) + sum(left));
  return { ...now, recalled, records: Object.fromEntries(left) };
}

const NOTHING: InEffect = { compaction: null, recalled: 0 };

const NO_COUNTS: Counts = {
  turns: 0,
  first: 0,
  compacted: 0,
  pruned: 0,
  failed: 0,
  rewritten_tokens: 0,
  saved_tokens: 0,
  recalled_times: 0,
  recalled_tokens: 0,
};

const NO_MODEL: OfModel = {
  all: NO_TOKENS,
  summaries: NO_TOKENS,
  saved: { fresh: 0, cached: 0 },
  rewritten: { input: 0, written: 0 },
};
