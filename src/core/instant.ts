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

/** When and where something was asked. */
export interface Clock {
  /** Unix milliseconds. */
  readonly ms: number;
  /** An IANA name, or an offset such as +01:00. */
  readonly zone: string;
}

/**
 * Reads a time with the zone behind it: `2026-11-26T10:00+01:00[Europe/Berlin]`. Without a name, the zone is the offset of
 * the time, or UTC. `undefined` when there is no such time or zone.
 */
export function readClock(at: string): Clock | undefined {
  const [, time = "", name] = /^([^[]*)(?:\[([^\]]+)\])?$/.exec(at) ?? [];
  const zone = name ?? /[+-]\d\d:?\d\d$/.exec(time)?.[0] ?? "UTC";
  const ms = instant(time);
  return Number.isNaN(ms) || !formatOf(zone) ? undefined : { ms, zone };
}

/** Now, in the zone of this process. */
export function nowHere(now = new Date()): string {
  return `${now.toISOString()}[${Intl.DateTimeFormat().resolvedOptions().timeZone}]`;
}

const FORMATS = new Map<string, Intl.DateTimeFormat | undefined>();
const FORMATS_MAX = 100;

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  if (FORMATS.has(zone)) return FORMATS.get(zone);
  if (FORMATS.size >= FORMATS_MAX) FORMATS.clear();
  let format: Intl.DateTimeFormat | undefined;
  try {
    const two = "2-digit" as const;
    const fields = { month: two, day: two, hour: two, minute: two, second: two } as const;
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      year: "numeric",
      ...fields,
    });
  } catch {
    // There is no such zone.
  }
  FORMATS.set(zone, format);
  return format;
}

/** The wall clock of a zone, as milliseconds that read so in UTC. */
function wallClock(ms: number, zone: string): number {
  const parts = formatOf(zone)?.formatToParts(ms) ?? [];
  const part = (type: Intl.DateTimeFormatPartTypes) =>
    Number(parts.find((one) => one.type === type)?.value);
  const time = [part("hour"), part("minute"), part("second")] as const;
  return Date.UTC(part("year"), part("month") - 1, part("day"), ...time);
}

/** A day of the calendar. Months are from 0, and a day may be beyond its month, as `Date.UTC` takes it. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export function dayOf({ ms, zone }: Clock): Day {
  const there = new Date(wallClock(ms, zone));
  return { year: there.getUTCFullYear(), month: there.getUTCMonth(), day: there.getUTCDate() };
}

/** From 0 for Monday. */
export function weekdayOf({ year, month, day }: Day): number {
  return (new Date(Date.UTC(year, month, day)).getUTCDay() + 6) % 7;
}

/** When a day begins in a zone, in Unix milliseconds. */
export function startOfDay({ year, month, day }: Day, zone: string): number {
  const wall = Date.UTC(year, month, day);
  const first = wall - (wallClock(wall, zone) - wall);
  return wall - (wallClock(first, zone) - first);
}
