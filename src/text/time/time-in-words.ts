import { Calendar, type Clock, type Day, daysIn, HOUR, type Span, weekdayOf } from "./calendar.ts";
import { isoOf, type Token, tokensOf } from "./time-tokens.ts";
import {
  DAY_WORDS,
  HALVES,
  MONTHS,
  NUMBERS,
  ORDINALS,
  OTHER_NUMBERS,
  SEASONS,
  UNITS,
  WEEKDAYS,
  WORDS,
} from "./time-words.ts";

export interface SaidTime {
  /** The likelier one first: "last Tuesday" is that of this week or that of the last one. */
  readonly spans: readonly Span[];
  /** Where the words that say it begin and end in the text. */
  readonly start: number;
  readonly end: number;
  /** It is said by its distance from now: "last Tuesday", and not "Tuesday" or "May". */
  readonly isRelative: boolean;
}

/**
 * The first time that a text names: "last Tuesday", "two weeks ago", "in spring", "Q3", "on the 14th",
 * "since Monday", "between May and July", "vorgestern", "im März 2025", "上周二". There is one grammar: what other languages say in
 * other ways becomes English words first. Memory looks back: a month or a day without a year is
 * the last one that began. A bare number, a version or a time of day is none.
 */
export function timeInWords(text: string, clock: Clock): SaidTime | undefined {
  const tokens = tokensOf(text);
  const reader = new TimeReader(tokens, clock);
  for (let at = 0; at < tokens.length; at += 1) {
    const found = reader.clause(at);
    const [first, last] = [tokens[at], tokens[(found?.next ?? 0) - 1]];
    if (!found || !first || !last) continue;
    const { spans, isRelative } = found;
    return { spans, isRelative, start: first.start, end: last.end };
  }
  return undefined;
}

interface Found {
  readonly spans: readonly Span[];
  /** The token behind it. */
  readonly next: number;
  readonly isRelative: boolean;
}

class TimeReader {
  readonly #tokens: readonly Token[];
  readonly #calendar: Calendar;

  constructor(tokens: readonly Token[], clock: Clock) {
    this.#tokens = tokens;
    this.#calendar = new Calendar(clock);
  }

  /** A time with the word before it that says since or until when. */
  clause(at: number): Found | undefined {
    const word = this.#word(at);
    if (WORDS.between.has(word)) {
      const first = this.#point(at + 1, true);
      const isAnd = first && WORDS.and.has(this.#word(first.next));
      const last = isAnd ? this.#point(first.next + 1, true) : undefined;
      const [one, other] = [first?.spans[0], last?.spans[0]];
      if (first && one && other && last) {
        const step = this.#stepBack(at + 1, first);
        return { ...last, spans: [this.#spanBetween(one, other, step)] };
      }
    }
    const [isSince, isAfter] = [WORDS.since.has(word), WORDS.after.has(word)];
    const [isUntil, isBefore] = [WORDS.until.has(word), WORDS.before.has(word)];
    if (isSince || isAfter || isUntil || isBefore) {
      const ago = WORDS.beforeAgo.has(word) ? this.#ago(at) : undefined;
      const point = ago ?? this.#point(at + 1, true);
      const [span] = point?.spans ?? [];
      if (!point || !span) return undefined;
      if (ago) return ago;
      if (isSince || isAfter) {
        const from = isSince ? span.from : span.to;
        return { ...point, spans: [{ from, to: Number.POSITIVE_INFINITY }] };
      }
      const to = isUntil ? span.to : span.from;
      return { ...point, spans: [{ from: Number.NEGATIVE_INFINITY, to }] };
    }
    return this.#point(at, false);
  }

  /** A time with the words before it, as in "on the 14th". */
  #point(start: number, isNamed: boolean): Found | undefined {
    // "an" is a number here, and a preposition in German.
    const ago = this.#ago(start);
    if (ago) return ago;
    let at = start;
    let isTold = isNamed;
    while (at < start + 3 && WORDS.beforeTimes.has(this.#word(at))) {
      isTold ||= !WORDS.articles.has(this.#word(at));
      at += 1;
    }
    return (
      this.#dayWord(at) ??
      this.#isoDay(at) ??
      this.#ago(at) ??
      this.#lastOrThis(at) ??
      this.#quarter(at) ??
      this.#dayOfMonth(at, isTold) ??
      this.#month(at, isTold) ??
      this.#season(at, isTold) ??
      this.#year(at, isTold) ??
      this.#weekday(at)
    );
  }

  #word(at: number): string {
    return this.#tokens[at]?.word ?? "";
  }

  #dayWord(at: number): Found | undefined {
    const word = this.#word(at);
    if (word === "day" && this.#word(at + 1) === "before" && this.#word(at + 2) === "yesterday")
      return this.#relative(this.#calendar.days(2), at + 3);
    if (WORDS.last.has(word) && this.#word(at + 1) === "night") {
      const { from } = this.#calendar.days(1);
      return this.#relative({ from: from + 18 * HOUR, to: from + 30 * HOUR }, at + 2);
    }
    const isPart = WORDS.this.has(word) && WORDS.dayParts.has(this.#word(at + 1));
    const back = isPart ? 0 : DAY_WORDS.get(word);
    if (back === undefined) return undefined;
    const hasPart = isPart || WORDS.dayParts.has(this.#word(at + 1));
    return this.#relative(this.#calendar.days(back), at + (hasPart ? 2 : 1));
  }

  #isoDay(at: number): Found | undefined {
    const iso = isoOf(this.#word(at));
    const [, year, month, day] = /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(iso) ?? [];
    if (year === undefined || Number(month) < 1 || Number(month) > 12) return undefined;
    const first = { year: Number(year), month: Number(month) - 1, day: Number(day ?? 1) };
    if (first.day < 1 || first.day > daysIn(first)) return undefined;
    const after =
      day === undefined ? { ...first, month: first.month + 1 } : { ...first, day: first.day + 1 };
    return { spans: [this.#calendar.between(first, after)], next: at + 1, isRelative: false };
  }

  /** "two weeks ago", "vor zwei Wochen", "il y a deux semaines". */
  #ago(start: number): Found | undefined {
    const isFrench = [0, 1, 2].every((at) => this.#word(start + at) === "il y a".split(" ")[at]);
    const isBefore = isFrench || WORDS.beforeAgo.has(this.#word(start));
    const at = isFrench ? start + 3 : isBefore ? start + 1 : start;
    const isFew = WORDS.few.has(this.#word(at));
    const { number, next } = isFew
      ? { number: FEW, next: at + 1 }
      : (this.#number(at) ?? NO_NUMBER);
    const unit = UNITS.get(this.#word(next));
    if (number === 0 || unit === undefined) return undefined;
    if (!isBefore && !WORDS.ago.has(this.#word(next + 1))) return undefined;
    const end = next + (isBefore ? 1 : 2);
    if (!isFew) return this.#relative(this.#calendar.unitAgo(unit, number), end);
    const { from } = this.#calendar.unitBack(unit, number);
    return this.#relative({ from, to: this.#calendar.unitBack(unit, 1).to }, end);
  }

  /** "last week", "this month", "last Tuesday", "in den letzten drei Tagen". */
  #lastOrThis(at: number): Found | undefined {
    const word = this.#word(at);
    if (WORDS.lastBehind.has(this.#word(at + 1))) return this.#lastBehind(word, at + 2);
    const isLast = WORDS.last.has(word);
    if (!isLast && !WORDS.this.has(word)) return undefined;
    const counted = isLast ? this.#number(at + 1) : undefined;
    const unitOfCounted = counted && UNITS.get(this.#word(counted.next));
    if (counted && unitOfCounted !== undefined) {
      const { from } = this.#calendar.unitsUpToNow(unitOfCounted, counted.number);
      return this.#relative({ from, to: this.#calendar.days(0).to }, counted.next + 1);
    }
    const next = this.#word(at + 1);
    const unit = UNITS.get(next);
    const weeks = isLast ? 1 : 0;
    if (unit === "week" && !counted) {
      const day = this.#skip(at + 2, WORDS.beforeTimes);
      const named = WEEKDAYS.get(this.#word(day));
      if (named !== undefined) return this.#dayOfWeek(named, weeks, day + 1);
    }
    if (unit !== undefined) return this.#relative(this.#calendar.unitBack(unit, weeks), at + 2);
    const weekday = WEEKDAYS.get(next);
    if (weekday !== undefined) return this.#weekdayBack(weekday, isLast, at + 2);
    if (WORDS.weekend.has(next)) return this.#relative(this.#calendar.weekend(weeks), at + 2);
    const named = this.#month(at + 1, true) ?? this.#season(at + 1, true);
    return named && { ...named, isRelative: true };
  }

  /** "vendredi dernier", "la semana pasada". */
  #lastBehind(word: string, next: number): Found | undefined {
    const unit = UNITS.get(word);
    const weekday = WEEKDAYS.get(word);
    if (unit !== undefined) return this.#relative(this.#calendar.unitBack(unit, 1), next);
    if (WORDS.weekend.has(word)) return this.#relative(this.#calendar.weekend(1), next);
    return weekday === undefined ? undefined : this.#weekdayBack(weekday, true, next);
  }

  #weekdayBack(weekday: number, isLast: boolean, next: number): Found {
    const since = (weekdayOf(this.#calendar.today) - weekday + 7) % 7;
    if (!isLast) return this.#relative(this.#calendar.days(since), next);
    const nearer = since === 0 ? 7 : since;
    const spans = [this.#calendar.days(nearer)];
    // Said on a Friday, "last Tuesday" may be that of the week before.
    if (since > 0 && since <= weekdayOf(this.#calendar.today))
      spans.push(this.#calendar.days(nearer + 7));
    return { spans, next, isRelative: true };
  }

  #weekday(at: number): Found | undefined {
    const weekday = WEEKDAYS.get(this.#word(at));
    if (weekday === undefined) return undefined;
    const date = this.#dateBehind(at + 1);
    if (date) return date;
    const week = this.#weekBehind(at + 1);
    if (week) return this.#dayOfWeek(weekday, week.back, week.next);
    // It may be the day of each week: "never on a Friday".
    return { ...this.#weekdayBack(weekday, false, at + 1), isRelative: false };
  }

  /** The date behind its day: "Tuesday, January 14, 2025", "tirsdag den 14. januar", "on Tuesday the 14th". */
  #dateBehind(start: number): Found | undefined {
    const at = this.#skip(start, WORDS.beforeTimes);
    return this.#isoDay(at) ?? this.#dayOfMonth(at, at > start);
  }

  /** The week behind a day: "Tuesday of last week", "Dienstag dieser Woche", "mardi de la semaine dernière". */
  #weekBehind(start: number): { readonly back: number; readonly next: number } | undefined {
    const at = this.#skip(start, WORDS.beforeWeek);
    const [word, next] = [this.#word(at), this.#word(at + 1)];
    const isLast = WORDS.last.has(word);
    if ((isLast || WORDS.this.has(word)) && UNITS.get(next) === "week")
      return { back: isLast ? 1 : 0, next: at + 2 };
    const isBehind = UNITS.get(word) === "week" && WORDS.lastBehind.has(next);
    return isBehind ? { back: 1, next: at + 2 } : undefined;
  }

  #dayOfWeek(weekday: number, back: number, next: number): Found {
    const days = weekdayOf(this.#calendar.today) - weekday + 7 * back;
    return this.#relative(this.#calendar.days(days), next);
  }

  /** The place behind some words, of which there may be two. */
  #skip(start: number, words: ReadonlySet<string>): number {
    let at = start;
    while (at < start + 2 && words.has(this.#word(at))) at += 1;
    return at;
  }

  /** "Q3", "third quarter", "im dritten Quartal 2025". */
  #quarter(at: number): Found | undefined {
    const short = /^q([1-4])$/.exec(this.#word(at))?.[1];
    const ordinal = ORDINALS.get(this.#word(at));
    const isLong = ordinal !== undefined && ordinal <= 4 && WORDS.quarter.has(this.#word(at + 1));
    const quarter = short === undefined ? (isLong ? ordinal : undefined) : Number(short);
    if (quarter === undefined) return undefined;
    const { year, next } = this.#yearBehind(at + (isLong ? 2 : 1));
    return this.#months(3 * (quarter - 1), 3, year, next);
  }

  /** "on the 14th", "am 14.", "14 March 2025", "March 14". */
  #dayOfMonth(at: number, isTold: boolean): Found | undefined {
    const month = MONTHS.get(this.#word(at));
    if (month !== undefined) {
      const day = this.#dayNumber(at + 1, true);
      if (day === undefined) return undefined;
      return this.#date(day, month, at + 2, this.#yearBefore(at));
    }
    if (WORDS.dayNames.has(this.#word(at))) return this.#dayOfThisMonth(at + 1);
    const day = this.#dayNumber(at, false);
    if (day === undefined) return undefined;
    const of = WORDS.of.has(this.#word(at + 1)) ? at + 2 : at + 1;
    const behind = MONTHS.get(this.#word(of));
    if (behind !== undefined) return this.#date(day, behind, of + 1);
    const isOrdinal = /\D/.test(this.#word(at)) || (this.#tokens[at]?.hasPoint ?? false);
    return isTold && isOrdinal ? this.#dayOfThisMonth(at) : undefined;
  }

  /** The day with this number in this month, or the last month that had it. */
  #dayOfThisMonth(at: number): Found | undefined {
    const day = this.#dayNumber(at, false);
    if (day === undefined) return undefined;
    const { year, month: now, day: today } = this.#calendar.today;
    for (let back = day <= today ? 0 : 1; back < 12; back += 1) {
      const first = { year, month: now - back, day };
      if (day > daysIn(first)) continue;
      return this.#relative(this.#calendar.between(first, { ...first, day: day + 1 }), at + 1);
    }
    return undefined;
  }

  #dayNumber(at: number, isBehindMonth: boolean): number | undefined {
    const [, digits] = /^(\d{1,2})(?:st|nd|rd|th|ter|ten|e|de|º)?$/.exec(this.#word(at)) ?? [];
    const day = Number(digits ?? 0);
    if (isBehindMonth && MONTHS.has(this.#word(at + 1))) return undefined;
    return day >= 1 && day <= 31 ? day : undefined;
  }

  #date(day: number, month: number, next: number, yearBefore?: number): Found | undefined {
    const said = this.#yearBehind(next);
    const { year: now } = this.#calendar.today;
    const year = said.year ?? yearBefore ?? this.#lastYearOf(day, month);
    const first = { year: year ?? now, month, day };
    if (day > daysIn(first)) return undefined;
    const span = this.#calendar.between(first, { ...first, day: day + 1 });
    return { spans: [span], next: said.next, isRelative: false };
  }

  /** The last year in which a day has begun. February 29 is in one of up to eight. */
  #lastYearOf(day: number, month: number): number | undefined {
    const { year: now, month: thisMonth, day: today } = this.#calendar.today;
    const hasBegun = month < thisMonth || (month === thisMonth && day <= today);
    const last = hasBegun ? now : now - 1;
    return [...Array(8).keys()]
      .map((back) => last - back)
      .find((year) => day <= daysIn({ year, month, day }));
  }

  /** "in May", "June 2023", "Anfang Juni". */
  #month(start: number, isTold: boolean): Found | undefined {
    const half = HALVES.get(this.#word(start));
    const named = WORDS.of.has(this.#word(start + 1)) ? start + 2 : start + 1;
    const at = half === undefined ? start : named;
    const word = this.#word(at);
    const month = MONTHS.get(word);
    if (month === undefined) return undefined;
    const { year: behind, next } = this.#yearBehind(at + 1);
    const year = behind ?? this.#yearBefore(at);
    const isOnlyMonth = !WORDS.alsoWords.has(word);
    if (!isTold && half === undefined && year === undefined && !isOnlyMonth) return undefined;
    const found = this.#months(month, 1, year, next);
    const [span] = found.spans;
    if (half === undefined || !span) return found;
    const third = (span.to - span.from) / 3;
    const from = span.from + half * third;
    return { ...found, spans: [{ from, to: from + third }] };
  }

  /** "in spring", "im Sommer 2025". Winter begins in December. */
  #season(at: number, isTold: boolean): Found | undefined {
    const season = SEASONS.get(this.#word(at));
    const { year, next } = this.#yearBehind(at + 1);
    if (season === undefined || (!isTold && year === undefined)) return undefined;
    return this.#months(season, 3, year, next);
  }

  #year(start: number, isTold: boolean): Found | undefined {
    const isYear = WORDS.year.has(this.#word(start));
    const { year, next } = this.#yearBehind(isYear ? start + 1 : start);
    if (year === undefined || !(isTold || isYear)) return undefined;
    return this.#months(0, 12, year, next);
  }

  #yearBehind(at: number): { readonly year: number | undefined; readonly next: number } {
    const skipped = WORDS.of.has(this.#word(at)) ? at + 1 : at;
    const year = this.#yearAt(skipped);
    return { year, next: year === undefined ? at : skipped + 1 };
  }

  /** The year that stands before its month, as in Hungarian: "2025. január". */
  #yearBefore(at: number): number | undefined {
    return this.#tokens[at - 1]?.hasPoint ? this.#yearAt(at - 1) : undefined;
  }

  #yearAt(at: number): number | undefined {
    return /^(?:19|20)\d\d$/.test(this.#word(at)) ? Number(this.#word(at)) : undefined;
  }

  /** Months of the year that is said, or of the last time that they began. */
  #months(month: number, count: number, said: number | undefined, next: number): Found {
    const { year, month: now } = this.#calendar.today;
    const first = { year: said ?? (month <= now ? year : year - 1), month, day: 1 };
    const span = this.#calendar.between(first, { ...first, month: month + count });
    return { spans: [span], next, isRelative: false };
  }

  #number(at: number): { readonly number: number; readonly next: number } | undefined {
    const word = this.#word(at);
    const other = UNITS.has(this.#word(at + 1)) ? OTHER_NUMBERS.get(word) : undefined;
    const number = /^\d{1,3}$/.test(word) ? Number(word) : (NUMBERS.get(word) ?? other);
    if (number === undefined) return undefined;
    const isCouple = word === "a" && this.#word(at + 1) === "couple";
    if (!isCouple) return { number, next: at + 1 };
    return { number: 2, next: at + (this.#word(at + 2) === "of" ? 3 : 2) };
  }

  /** From one time to another. Where the first one is the later, an earlier one of the same name is meant: May of the year before. */
  #spanBetween(one: Span, other: Span, step: Partial<Day> | undefined): Span {
    if (!step) return { from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
    const { year = 0, month = 0, day = 0 } = step;
    let { from } = one;
    // At least so many: the other time may lie thousands of years before.
    let steps = Math.max(
      0,
      Math.floor((from - other.to) / ((year * 366 + month * 31 + day) * 24 * HOUR)),
    );
    for (; from >= other.to; steps += 1) {
      const back = { year: year * steps, month: month * steps, day: day * steps };
      from = this.#calendar.before(one.from, back);
    }
    return { from, to: other.to };
  }

  /** How long before a time the one is that has the same name. `undefined` where no other has it. */
  #stepBack(start: number, { next, isRelative }: Found): Partial<Day> | undefined {
    const words = this.#tokens.slice(start, next).map(({ word }) => word);
    if (words.some((word) => WEEKDAYS.has(word))) return { day: 7 };
    if (!isRelative) return words.some((word) => HAS_YEAR.test(word)) ? undefined : { year: 1 };
    return this.#dayNumber(next - 1, false) === undefined ? undefined : { month: 1 };
  }

  #relative(span: Span, next: number): Found {
    return { spans: [span], next, isRelative: true };
  }
}

const HAS_YEAR = /(?:19|20)\d\d/;
/** "A few days ago" is any of the six before today. */
const FEW = 6;
const NO_NUMBER = { number: 0, next: 0 };
