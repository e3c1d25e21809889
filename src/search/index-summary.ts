import type { PassageColumns, PassageIndex } from "./passage-index.ts";

/** What is known of an index as a whole. */
export interface IndexSummary {
  readonly sessions: number;
  /** The largest number of one. */
  readonly lastSession: number;
  /** The time of its newest entry. */
  readonly newest: number;
}

/** Reads the columns once: a store gives others when they change. */
export function summaryOf(index: PassageIndex): IndexSummary {
  const known = summaries.get(index.columns);
  if (known) return known;
  const { session, time } = index.columns;
  const sessions = new Set<number>();
  let before = 0;
  let lastSession = 0;
  let newest = Number.NEGATIVE_INFINITY;
  for (let slot = 0; slot < index.slots; slot += 1) {
    const number = session[slot] as number;
    if (number === 0) continue;
    if (number !== before) sessions.add(number);
    if (number > lastSession) lastSession = number;
    before = number;
    if ((time[slot] as number) > newest) newest = time[slot] as number;
  }
  const summary = { sessions: sessions.size, lastSession, newest };
  summaries.set(index.columns, summary);
  return summary;
}

const summaries = new WeakMap<PassageColumns, IndexSummary>();
