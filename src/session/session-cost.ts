import { type Compacted, CostTotals, type ListedCall } from "../core/cost-totals.ts";
import type { StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { isSummary } from "../core/message.ts";
import type { CallCost, CompactionCost, Cost, SessionCost } from "../core/operations/cost.ts";
import type { CheckedRequest } from "../core/operations.ts";
import { costOf, dollars, type FullPrice, type PriceTable, priceOf } from "../core/prices.ts";
import type { ReadLog, SessionState } from "../core/session-state.ts";
import { beginsTurn } from "../core/turn.ts";
import { addUsage, NO_USAGE, tokenUsage, type Usage } from "../core/usage.ts";
import type { ServiceCore } from "./service-core.ts";

const TURNS_DEFAULT = 20;

/** Events of one page. */
const PAGE = 256;

/** The cost of a session. The sums are in its state; only the turns that are listed are read from the log. */
export async function sessionCost(
  { live, options }: ServiceCore,
  { sessionId, limit = TURNS_DEFAULT }: CheckedRequest<"sessionCost">,
): Promise<SessionCost> {
  const { state } = await live.open(sessionId);
  const read: ReadLog = (after, to) => options.stores.events.read(sessionId, after, to);
  const totals = state.cost ?? (await totalsOf(state, read));
  const log = await lastTurns(read, { limit, totals, seq: state.seq });
  const begun = state.turns - log.filter(({ event }) => beginsTurn(event)).length;
  const { model } = state.settings;
  const ledger = new CostLedger(limit, { model, begun, ...given({ own: options.prices }) });
  for (const stored of log) ledger.note(stored);
  return ledger.view(sessionId, totals);
}

/** An earlier version did not keep the sums. From now on the session has them. */
async function totalsOf(state: SessionState, read: ReadLog): Promise<CostTotals> {
  const { seq } = state;
  const totals = new CostTotals();
  for await (const stored of read(0, seq)) totals.note(stored);
  if (state.seq === seq) state.cost = totals;
  return totals;
}

/**
 * The events of the last turns, and of one more before them that has a call: whether that came from the provider's cache
 * tells what a compaction after it cost. It reads the log backwards, page by page.
 */
async function lastTurns(
  read: ReadLog,
  {
    limit,
    totals,
    seq,
  }: { readonly limit: number; readonly totals: CostTotals; readonly seq: number },
): Promise<readonly StoredEvent[]> {
  if (totals.turns === 0) return [];
  const log: StoredEvent[] = [];
  for (let end = seq; end >= totals.first; ) {
    const after = Math.max(totals.first - 1, end - PAGE);
    log.unshift(...(await Array.fromAsync(read(after, end))));
    end = after;
    const runs = log.flatMap(({ event: { type } }, at) => (type === "run_started" ? [at] : []));
    const first = runs.at(-limit);
    if (first === undefined) continue;
    const isCall = ({ event: { type } }: StoredEvent) => type === "turn_completed";
    const call = log.slice(0, first).findLastIndex(isCall);
    const begins = runs.findLast((at) => at < call);
    if (call >= 0 && begins !== undefined) return log.slice(begins);
  }
  return log;
}

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

interface OpenTurn {
  readonly turn: number;
  readonly sum: Sum;
  readonly calls: CallCost[];
  readonly paid: ListedCall[];
  readonly compactions: OpenCompaction[];
}

/**
 * The costs of the newest turns of a session: a fold of the events since the turn before them.
 *
 *     run_started ─► turn_completed … compaction_completed … turn_completed ─► run_started …
 *     └ a turn       └ a call         └ a call for the summary; what the calls after it save
 *
 * Calls outside of turns, such as those of a compaction that a caller asked for, belong to the turn before. `CostTotals`
 * has the sums of all turns.
 */
export class CostLedger {
  readonly #own: PriceTable;
  readonly #turnsMax: number;
  #turns: OpenTurn[] = [];
  /** User messages so far. */
  #begun: number;
  /** The session's model, for logs that do not say which one answered. */
  #model: string;
  /** The last change of the history. Each call saves what it took away. */
  #now: OpenCompaction | undefined;
  /** The change in effect before each change of the history, and before each undo of one. */
  readonly #before = new Map<number, OpenCompaction | undefined>();
  /** Whether the last call read from the provider's cache. */
  #isCached = false;

  /** `begun` is the number of user messages before the first event that it is given. */
  constructor(
    turnsMax: number,
    { own = {}, model = "", begun = 0 }: { own?: PriceTable; model?: string; begun?: number } = {},
  ) {
    this.#turnsMax = turnsMax;
    this.#own = own;
    this.#model = model;
    this.#begun = begun;
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
      case "turn_completed":
        this.#answered(seq, event.usage, event.model ?? this.#model);
        return;
      case "compaction_undone":
        this.#becomes(seq, this.#before.get(event.undone));
        return;
      case "compaction_completed":
      case "compaction_failed":
      case "tool_output_pruned":
        this.#compacted(seq, event);
        return;
    }
  }

  /** The newest turns, and the sums of all. */
  view(sessionId: string, totals: CostTotals): SessionCost {
    const calls = this.#turns.flatMap(({ paid }) => paid);
    return {
      sessionId,
      ...totals.view({ turns: this.#turns.length, calls }, this.#own),
      turns: this.#turns.map(({ turn, sum, calls, compactions }) => ({
        turn,
        ...sum.cost,
        calls,
        compactions: compactions.map(compactionCost),
      })),
    };
  }

  #begin(): OpenTurn {
    const turn = {
      turn: Math.max(0, this.#begun - 1),
      sum: new Sum(),
      calls: [],
      paid: [],
      compactions: [],
    };
    this.#turns.push(turn);
    // The oldest turn is only a part of a sum from now on.
    if (this.#turns.length > Math.max(1, this.#turnsMax)) this.#turns.shift();
    return turn;
  }

  #pay(call: Pick<CallCost, "seq" | "wrote" | "model">, usage: Usage): Sum {
    const price = priceOf(call.model, this.#own);
    const billionths = price && costOf(usage, price);
    const sum = new Sum();
    sum.add(usage, billionths);
    const turn = this.#turns.at(-1) ?? this.#begin();
    turn.calls.push({ ...call, ...sum.cost });
    turn.paid.push({ model: call.model, usage, billionths });
    turn.sum.addSum(sum);
    return sum;
  }

  #answered(seq: number, usage: Usage, model: string): void {
    this.#pay({ seq, wrote: "answer", model }, usage);
    const cached = (usage.cache_read_tokens ?? 0) > 0;
    if (this.#now && usage.input_tokens > 0) {
      this.#show(this.#now, usage, priceOf(model, this.#own));
    }
    this.#isCached = cached;
  }

  /** The effect of the compaction before it, as a call shows it. */
  #show(compaction: OpenCompaction, usage: Usage, price: FullPrice | undefined): void {
    const { savedTokensPerCall: less, rewrittenTokens } = compaction;
    compaction.callsSince += 1;
    if (!price) return;
    if (compaction.callsSince === 1 && rewrittenTokens !== null) {
      const fresh = usage.cache_creation_tokens === null ? price.input : price.cacheWrite;
      const dearer = this.#isCached ? Math.max(0, fresh - price.cacheRead) : 0;
      compaction.rewritten = Math.round(1000 * rewrittenTokens * dearer);
    }
    const isCached = this.#isCached || (usage.cache_read_tokens ?? 0) > 0;
    const saved = Math.round(1000 * less * (isCached ? price.cacheRead : price.input));
    compaction.saved = (compaction.saved ?? 0) + saved;
  }

  #compacted(seq: number, event: Compacted): void {
    const usage = event.usage ?? NO_USAGE;
    const model = event.model ?? this.#model;
    const asked = usage.input_tokens + usage.output_tokens > 0;
    const summary = asked ? this.#pay({ seq, wrote: "summary", model }, usage) : new Sum();
    const kind = KINDS[event.type];
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
    if (!isFailed) this.#becomes(seq, compaction);
  }

  #becomes(seq: number, now: OpenCompaction | undefined): void {
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
