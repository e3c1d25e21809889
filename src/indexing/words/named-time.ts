/** Tells whether an entry is from the time that a question names. `newest` is the time of the newest entry. */
export type NamedTime = (time: number, newest: number) => boolean;

/**
 * The time that a question names: a day ("2023-05-08"), a month ("in May", "June 2023"), or a
 * time relative to the newest entry ("yesterday", "last week", "three months ago").
 */
export function namedTime(query: string, named = monthIn(query)): NamedTime | undefined {
  const lower = query.toLowerCase();
  return day(query) ?? month(query, named) ?? ago(lower) ?? period(lower);
}

const MONTHS =
  "january february march april may june july august september october november december".split(
    " ",
  );

function day(query: string): NamedTime | undefined {
  const found = /\b\d{4}-\d\d-\d\d\b/.exec(query)?.[0];
  const start = found === undefined ? Number.NaN : Date.parse(found);
  return Number.isNaN(start) ? undefined : (time) => within(time, start, start + DAY_MS);
}

/** "may" is the month only in "in may", "last may", "may 3" and the like. */
const MONTH =
  /\b(january|february|march|april|june|july|august|september|october|november|december)\b|\b(?:in|of|on|by|early|mid|late|since|until|during|last|this|next) (may)\b|\b(may),? (?:the )?\d/i;

/** The first month that a question names, in small letters. */
export function monthIn(query: string): string | undefined {
  const [, month, before, after] = MONTH.exec(query) ?? [];
  return (month ?? before ?? after)?.toLowerCase();
}

function month(query: string, named: string | undefined): NamedTime | undefined {
  if (named === undefined) return undefined;
  const number = MONTHS.indexOf(named);
  const year = /\b(?:19|20)\d\d\b/.exec(query)?.[0];
  return (time) => {
    const date = new Date(time);
    const inYear = year === undefined || date.getUTCFullYear() === Number(year);
    return inYear && date.getUTCMonth() === number;
  };
}

const DAY_MS = 86_400_000;
const UNIT_DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30.4, year: 365.25 };
const NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split(" ");

const AGO = /\b(\d{1,3}|an?|[a-z]{3,6}) (day|week|month|year)s? ago\b/;

/** Exact to half of the unit, and to a day at least. */
function ago(lower: string): NamedTime | undefined {
  const [, count = "", unit = ""] = (lower.includes(" ago") && AGO.exec(lower)) || [];
  const number = /^an?$/.test(count) ? 1 : Number(count) || NUMBERS.indexOf(count);
  const days = UNIT_DAYS[unit];
  if (days === undefined || number < 0) return undefined;
  const half = Math.max(1, days / 2);
  return (time, newest) =>
    within(
      time,
      newest - (number * days + half) * DAY_MS,
      newest - (number * days - half) * DAY_MS,
    );
}

const PERIOD = /\b(today|yesterday|(?:this|last|past) (?:week|month|year))\b/;

function period(lower: string): NamedTime | undefined {
  const [which = "", unit] = PERIOD.exec(lower)?.[0].split(" ") ?? [];
  if (which === "") return undefined;
  const back = which === "today" || which === "this" ? 0 : 1;
  return (time, newest) =>
    within(time, startOf(unit ?? "day", newest, back), startOf(unit ?? "day", newest, back - 1));
}

/** The start of the day, week, month or year that is `back` before that of `time`, in UTC. Weeks begin on Monday. */
function startOf(unit: string, time: number, back: number): number {
  const date = new Date(time);
  const [year, monthOfYear, dayOfMonth] = [
    date.getUTCFullYear(),
    date.getUTCMonth(),
    date.getUTCDate(),
  ];
  if (unit === "year") return Date.UTC(year - back, 0);
  if (unit === "month") return Date.UTC(year, monthOfYear - back);
  if (unit === "day") return Date.UTC(year, monthOfYear, dayOfMonth - back);
  return Date.UTC(year, monthOfYear, dayOfMonth - ((date.getUTCDay() + 6) % 7) - 7 * back);
}

function within(time: number, from: number, until: number): boolean {
  return from <= time && time < until;
}

/** Whether a text says when something happened. */
export function saysWhen(text: string): boolean {
  return TIME_WORD.test(text);
}

/** The words of a date: 2023, may and 8 for "2023-05-08". */
export function dateWords(time: string | undefined): string[] {
  const date = /^(\d{4})-(\d\d)-(\d\d)/.exec(time ?? "");
  if (!date) return [];
  const [, year = "", month = "", day = ""] = date;
  return [year, MONTHS[Number(month) - 1] ?? "", String(Number(day))].filter((word) => word !== "");
}

const TIME_WORD =
  /\b(today|tonight|tomorrow|yesterday|ago|since|recently|just|last|next|this (morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|fall)|(mon|tues|wednes|thurs|fri|satur|sun)day|weekend|weeks?|months?|years?|january|february|march|april|may|june|july|august|september|october|november|december|(19|20)\d\d)\b/i;
