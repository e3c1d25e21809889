import type { HistoryQuery } from "../../core/event-store.ts";

const DAY_MS = 86_400_000;

/** The bounds of a query in milliseconds, both included. An `until` that is a day includes the whole day. */
export function timeRange({ since, until }: Pick<HistoryQuery, "since" | "until">): {
  readonly sinceMs: number;
  readonly untilMs: number;
} {
  return {
    sinceMs: since === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(since),
    untilMs: until === undefined ? Number.MAX_SAFE_INTEGER : endOf(until),
  };
}

function endOf(until: string): number {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(until);
  return Date.parse(until) + (isDay ? DAY_MS - 1 : 0);
}
