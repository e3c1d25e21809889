import { CostLedger } from "../core/cost-ledger.ts";
import { CostTotals } from "../core/cost-totals.ts";
import type { StoredEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import type { SessionCost } from "../core/operations/cost.ts";
import type { CheckedRequest } from "../core/operations.ts";
import type { ReadLog, SessionState } from "../core/session-state.ts";
import { beginsTurn } from "../core/turn.ts";
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
