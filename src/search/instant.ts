/** Unix time in milliseconds, NaN for what is none. A time without a zone is UTC, so that a store says the same wherever it is asked. */
export function instant(time: string | undefined): number {
  if (time === undefined) return Number.NaN;
  return Date.parse(/T[\d:.]+$/.test(time) ? `${time}Z` : time);
}

const DAY_MS = 86_400_000;

/** From when to when a filter reaches, both included. A day as the upper bound is all of that day. */
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
