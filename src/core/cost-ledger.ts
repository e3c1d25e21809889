import type { DurableEvent, StoredEvent } from "./event.ts";
import { isSummary } from "./message.ts";
import type {
  CallCost,
  CompactingCost,
  CompactionCost,
  Cost,
  SessionCost,
} from "./operations/cost.ts";
import { costOf, dollars, type FullPrice, type PriceTable, priceOf } from "./prices.ts";
import { addUsage, NO_USAGE, tokenUsage, type Usage } from "./usage.ts";

/** A sum of tokens and money. */
class Sum {
  usage: Usage = NO_USAGE;
  /** Undefined until something with a price is added. */
  #billionths: number | undefined;

  add(usage: Usage, billionths: number | undefined): void {
    this.usage = addUsage(this.usage, usage);
    if (billionths !== undefined) this.#billionths = (this.#billionths ?? 0) + billionths;
  }

  addSum(sum: Sum): void {
    this.add(sum.usage, sum.#billionths);
  }

  get cost(): Cost {
    const costUsd = this.#billionths === undefined ? null : dollars(this.#billionths);
    return { usage: tokenUsage(this.usage), costUsd };
  }
}

type Compacted = Extract<
  DurableEvent,
  { type: "compaction_completed" | "compaction_failed" | "tool_output_pruned" }
>;

/** A compaction whose effect the calls after it show. Money is in billionths of a dollar. */
interface OpenCompaction {
  readonly seq: number;
  readonly kind: CompactionCost["kind"];
  readonly summary: Sum;
  readonly savedTokensPerCall: number;
  readonly rewrittenTokens: number | null;
  /** Undefined until a call with a price came after it. */
  rewritten: number | undefined;
  saved: number | undefined;
  callsSince: number;
}

/** What the calls that come next show. */
interface InEffect {
  /** The last change of the history. Each call saves what it took away. */
  readonly compaction: OpenCompaction | undefined;
  /** Tokens of the records of memory in each request. */
  readonly recalled: number;
}

const NOTHING: InEffect = { compaction: undefined, recalled: 0 };

interface OpenTurn {
  readonly turn: number;
  readonly sum: Sum;
  readonly calls: CallCost[];
  readonly compactions: OpenCompaction[];
}

/** The counts of all compactions, and what they changed. */
type Totals = { -readonly [Field in Exclude<keyof CompactingCost, "summaries">]: number };

/**
 * What a session cost: a fold of its log.
 *
 *     run_started ─► turn_completed … compaction_completed … turn_completed ─► run_started …
 *     └ a turn       └ a call         └ a call for the summary; what the calls after it save
 *
 * Calls outside of turns, such as those of a compaction that a caller asked for, belong to the turn before. Only the
 * newest turns are kept one by one, so its size does not grow with the session.
 */
export class CostLedger {
  readonly #own: PriceTable;
  readonly #turnsMax: number;
  readonly #total = new Sum();
  readonly #earlier = new Sum();
  readonly #summaries = new Sum();
  readonly #unpriced = new Set<string>();
  readonly #totals: Totals = {
    compacted: 0,
    pruned: 0,
    failed: 0,
    rewrittenTokens: 0,
    rewrittenUsd: 0,
    savedTokens: 0,
    savedUsd: 0,
  };
  readonly #recalled = { times: 0, tokens: 0 };
  #calls = 0;
  #earlierTurns = 0;
  #earlierCalls = 0;
  #turns: OpenTurn[] = [];
  /** User messages so far. */
  #begun = 0;
  /** The session's model, for logs that do not say which one answered. */
  #model = "";
  #now = NOTHING;
  /** What was in effect before each change of the history, and before each undo of one. */
  readonly #before = new Map<number, InEffect>();
  /** Whether the last call read from the provider's cache. */
  #isCached = false;

  constructor(turnsMax: number, own: PriceTable = {}) {
    this.#turnsMax = turnsMax;
    this.#own = own;
  }

  note({ seq, event }: StoredEvent): void {
    switch (event.type) {
      case "session_created":
        this.#model = event.settings.model;
        return;
      case "message_added":
        if (event.message.role === "user" && !isSummary(event.message)) this.#begun += 1;
        return;
      case "run_started":
        this.#begun += 1;
        this.#begin();
        return;
      case "memory_recalled":
        this.#recalled.times += 1;
        this.#now = {
          ...this.#now,
          recalled: event.tokens + (event.replaces ? 0 : this.#now.recalled),
        };
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

  view(sessionId: string): SessionCost {
    const { rewrittenUsd, savedUsd, ...totals } = this.#totals;
    return {
      sessionId,
      ...this.#total.cost,
      calls: this.#calls,
      unpricedModels: [...this.#unpriced],
      turns: this.#turns.map(({ turn, sum, calls, compactions }) => ({
        turn,
        ...sum.cost,
        calls,
        compactions: compactions.map(compactionCost),
      })),
      earlier: { turns: this.#earlierTurns, calls: this.#earlierCalls, ...this.#earlier.cost },
      compacting: {
        ...totals,
        summaries: this.#summaries.cost,
        rewrittenUsd: dollars(rewrittenUsd),
        savedUsd: dollars(savedUsd),
      },
      recalled: this.#recalled,
    };
  }

  #begin(): OpenTurn {
    const turn = {
      turn: Math.max(0, this.#begun - 1),
      sum: new Sum(),
      calls: [],
      compactions: [],
    };
    this.#turns.push(turn);
    if (this.#turns.length > Math.max(1, this.#turnsMax)) this.#leave();
    return turn;
  }

  /** The oldest turn is only a part of a sum from now on. */
  #leave(): void {
    const left = this.#turns.shift();
    if (!left) return;
    this.#earlier.addSum(left.sum);
    this.#earlierTurns += 1;
    this.#earlierCalls += left.calls.length;
  }

  #pay(call: Pick<CallCost, "seq" | "wrote" | "model">, usage: Usage): Sum {
    const price = this.#priceOf(call.model, usage);
    const sum = new Sum();
    sum.add(usage, price && costOf(usage, price));
    const turn = this.#turns.at(-1) ?? this.#begin();
    turn.calls.push({ ...call, ...sum.cost });
    turn.sum.addSum(sum);
    this.#total.addSum(sum);
    this.#calls += 1;
    return sum;
  }

  #priceOf(model: string, { input_tokens, output_tokens }: Usage): FullPrice | undefined {
    const price = priceOf(model, this.#own);
    if (!price && input_tokens + output_tokens > 0) this.#unpriced.add(model);
    return price;
  }

  #answered(seq: number, usage: Usage, model: string): void {
    this.#pay({ seq, wrote: "answer", model }, usage);
    this.#recalled.tokens += this.#now.recalled;
    const cached = (usage.cache_read_tokens ?? 0) > 0;
    if (this.#now.compaction && usage.input_tokens > 0) {
      this.#show(this.#now.compaction, usage, priceOf(model, this.#own));
    }
    this.#isCached = cached;
  }

  /** What a call shows of the compaction before it. */
  #show(compaction: OpenCompaction, usage: Usage, price: FullPrice | undefined): void {
    const { savedTokensPerCall: less, rewrittenTokens } = compaction;
    compaction.callsSince += 1;
    this.#totals.savedTokens += less;
    if (!price) return;
    if (compaction.callsSince === 1 && rewrittenTokens !== null) {
      const fresh = usage.cache_creation_tokens === null ? price.input : price.cacheWrite;
      const dearer = this.#isCached ? Math.max(0, fresh - price.cacheRead) : 0;
      compaction.rewritten = Math.round(1000 * rewrittenTokens * dearer);
      this.#totals.rewrittenUsd += compaction.rewritten;
    }
    const isCached = this.#isCached || (usage.cache_read_tokens ?? 0) > 0;
    const saved = Math.round(1000 * less * (isCached ? price.cacheRead : price.input));
    compaction.saved = (compaction.saved ?? 0) + saved;
    this.#totals.savedUsd += saved;
  }

  #compacted(seq: number, event: Compacted): void {
    const usage = event.usage ?? NO_USAGE;
    const model = event.model ?? this.#model;
    const asked = usage.input_tokens + usage.output_tokens > 0;
    const summary = asked ? this.#pay({ seq, wrote: "summary", model }, usage) : new Sum();
    this.#summaries.addSum(summary);
    const kind = KINDS[event.type];
    this.#totals[kind] += 1;
    const isFailed = event.type === "compaction_failed";
    const compaction: OpenCompaction = {
      seq,
      kind,
      summary,
      savedTokensPerCall: isFailed ? 0 : Math.max(0, event.tokens_before - event.tokens_after),
      rewrittenTokens: isFailed ? 0 : (event.rewritten_tokens ?? null),
      rewritten: isFailed ? 0 : undefined,
      saved: isFailed ? 0 : undefined,
      callsSince: 0,
    };
    (this.#turns.at(-1) ?? this.#begin()).compactions.push(compaction);
    if (isFailed) return;
    this.#totals.rewrittenTokens += compaction.rewrittenTokens ?? 0;
    this.#becomes(seq, { compaction, recalled: 0 });
  }

  #becomes(seq: number, now: InEffect): void {
    this.#before.set(seq, this.#now);
    this.#now = now;
  }
}

const KINDS = {
  compaction_completed: "compacted",
  compaction_failed: "failed",
  tool_output_pruned: "pruned",
} as const satisfies Record<Compacted["type"], CompactionCost["kind"]>;

function compactionCost(compaction: OpenCompaction): CompactionCost {
  const { seq, kind, summary, rewritten, saved } = compaction;
  const { savedTokensPerCall, rewrittenTokens, callsSince } = compaction;
  const usd = (billionths: number | undefined) =>
    billionths === undefined ? null : dollars(billionths);
  return {
    seq,
    kind,
    summary: summary.cost,
    rewrittenTokens,
    rewrittenUsd: usd(rewritten),
    savedTokensPerCall,
    callsSince,
    savedTokens: callsSince * savedTokensPerCall,
    savedUsd: usd(saved),
  };
}
