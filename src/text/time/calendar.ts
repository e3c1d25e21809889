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
  const isZone = offsetOf(zone) !== undefined || formatOf(zone) !== undefined;
  return Number.isNaN(ms) || !isZone ? undefined : { ms, zone };
}

/** Now, in the zone of this process. */
export function nowHere(now = new Date()): string {
  return `${now.toISOString()}[${Intl.DateTimeFormat().resolvedOptions().timeZone}]`;
}

/** Now, with the offset of this process's zone now. A process takes 12 ms for the name of a zone, or for its formats. */
export function nowByOffset(now = new Date()): string {
  const minutes = -now.getTimezoneOffset();
  const two = (number: number) => String(Math.floor(Math.abs(number))).padStart(2, "0");
  return `${now.toISOString()}[${minutes < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}]`;
}

/** Milliseconds that a zone is ahead of UTC. Undefined for one with a name. */
function offsetOf(zone: string): number | undefined {
  const [, sign, hours, minutes] = /^([+-])([01]\d|2[0-3]):?([0-5]\d)$/.exec(zone) ?? [];
  if (sign === undefined) return zone === "UTC" ? 0 : undefined;
  return Number(`${sign}1`) * (Number(hours) * HOUR + Number(minutes) * 60_000);
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
  const offset = offsetOf(zone);
  if (offset !== undefined) return ms + offset;
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

function dayOf({ ms, zone }: Clock): Day {
  const there = new Date(wallClock(ms, zone));
  return { year: there.getUTCFullYear(), month: there.getUTCMonth(), day: there.getUTCDate() };
}

/** From 0 for Monday. */
export function weekdayOf({ year, month, day }: Day): number {
  return (new Date(Date.UTC(year, month, day)).getUTCDay() + 6) % 7;
}

/**
 * When a day begins in a zone, in Unix milliseconds. Clocks are changed at midnight in some zones. The day then begins at
 * its first midnight, or at the end of the hour that is left out.
 */
function startOfDay({ year, month, day }: Day, zone: string): number {
  const wall = Date.UTC(year, month, day);
  const midnightBy = (at: number) => wall - (wallClock(at, zone) - at);
  const [before, after] = [midnightBy(wall - DAY_MS), midnightBy(wall + DAY_MS)];
  if (before === after) return before;
  const midnights = [before, after].filter((ms) => wallClock(ms, zone) === wall);
  return midnights.length === 0 ? Math.max(before, after) : Math.min(...midnights);
}

/** A time in the zone of who asks: from `from` up to `to`, in Unix milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** The likeliest moment in it: a week ago is the same day of that week first. */
  readonly likeliest?: number;
}

/** The calendar of who asks, seen from now. */
export class Calendar {
  readonly today: Day;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.today = dayOf(clock);
  }

  /** The day that is `back` before today. */
  days(back: number): Span {
    const first = { ...this.today, day: this.today.day - back };
    return this.between(first, { ...first, day: first.day + 1 });
  }

  /** The Saturday and Sunday of the week that is `back` before this one. */
  weekend(back: number): Span {
    const { day } = this.today;
    const saturday = { ...this.today, day: day - weekdayOf(this.today) - 7 * back + 5 };
    return this.between(saturday, { ...saturday, day: saturday.day + 2 });
  }

  /** The hour, day, week, month, quarter or year of the calendar that is `back` before this one. */
  unitBack(unit: string, back: number): Span {
    const { year, month, day } = this.today;
    if (unit === "hour") {
      const from = this.#clock.ms - (back + 0.5) * HOUR;
      return { from, to: from + HOUR };
    }
    if (unit === "day") return this.days(back);
    if (unit === "week") {
      const monday = { ...this.today, day: day - weekdayOf(this.today) - 7 * back };
      return this.between(monday, { ...monday, day: monday.day + 7 });
    }
    const count = unit === "month" ? 1 : unit === "quarter" ? 3 : 12;
    const first = { year, month: month - (month % count) - count * back, day: 1 };
    return this.between(first, { ...first, month: first.month + count });
  }

  /** The same, where the day as far back is the likeliest. */
  unitAgo(unit: string, back: number): Span {
    const span = this.unitBack(unit, back);
    return { ...span, likeliest: span.from + this.#clock.ms - this.unitBack(unit, 0).from };
  }

  /** The last `count` hours, days, weeks, months, quarters or years, with today. */
  unitsUpToNow(unit: string, count: number): Span {
    const { year, month, day } = this.today;
    if (unit === "hour") return { from: this.#clock.ms - count * HOUR, to: this.#clock.ms };
    const days = unit === "day" ? count : unit === "week" ? 7 * count : 0;
    const months =
      unit === "month" ? count : unit === "quarter" ? 3 * count : unit === "year" ? 12 * count : 0;
    const first = { year, month: month - months, day: day - days };
    return this.between(first, { ...this.today, day: day + 1 });
  }

  /** The same time of the day that is so much before. */
  before(ms: number, { year = 0, month = 0, day = 0 }: Partial<Day>): number {
    const { zone } = this.#clock;
    const own = dayOf({ ms, zone });
    const first = { year: own.year - year, month: own.month - month, day: own.day - day };
    return startOfDay(first, zone) + ms - startOfDay(own, zone);
  }

  /** From the beginning of one day up to that of another. */
  between(first: Day, after: Day): Span {
    const { zone } = this.#clock;
    return { from: startOfDay(first, zone), to: startOfDay(after, zone) };
  }
}

/** How many days the month of a day has. */
export function daysIn({ year, month }: Day): number {
  return new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
}

export const HOUR = 3_600_000;

/** A time as Unix milliseconds; NaN if it is none. Without a zone it is UTC, so that a store answers the same everywhere. */
export function instant(time: string | undefined): number {
  if (time === undefined) return Number.NaN;
  // The engine takes a day of ISO 8601 as one of UTC, and all else without a zone as a time of this machine's.
  if (ISO_DAY.test(time) || saysZone(time)) return Date.parse(time);
  const inUtc = Date.parse(/T[\d:.]+$/i.test(time) ? `${time}Z` : `${time} UTC`);
  return Number.isNaN(inUtc) ? Date.parse(time) : inUtc;
}

const ISO_DAY = /^(?:[+-]\d\d)?\d{4}(?:-\d\d){0,2}$/;

function saysZone(time: string): boolean {
  const [plain = ""] = time.split("(");
  return ZONE.test(plain) || (plain.includes(":") && OFFSET.test(plain));
}

const ZONE = /(?:Z|UTC?|GMT|[ECMP][SD]T)\s?$/i;
const OFFSET = /[+-]\d\d:?\d\d\s?$/;

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
