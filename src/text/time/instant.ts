/** A time as Unix milliseconds; NaN if it is none. Without a zone it is UTC, so that a store answers the same everywhere. */
export function instant(time: string | undefined): number {
  if (time === undefined) return Number.NaN;
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
}

/** Whether a value from outside is a time in Unix milliseconds that a `Date` can have. */
export function isTime(ms: unknown): ms is number {
  return typeof ms === "number" && Math.abs(ms) <= 8.64e15;
}

const DAY_MS = 86_400_000;

/** The first and last millisecond of a filter. A day in `until` includes all of that day. */
export function timeSpan(filter: { readonly since?: string; readonly until?: string }): {
  readonly since: number;
  readonly until: number;
} {
  const { since, until } = filter;
  const wholeDay = until !== undefined && /^\d{4}-\d\d-\d\d$/.test(until) ? DAY_MS - 1 : 0;
  return {
    since: since === undefined ? -Infinity : instant(since),
    until: until === undefined ? Infinity : instant(until) + wholeDay,
  };
}
