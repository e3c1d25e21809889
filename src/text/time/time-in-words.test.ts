import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { type Clock, nowByOffset, readClock } from "./calendar.ts";
import { timeInWords } from "./time-in-words.ts";

/** A Thursday in Berlin. */
const ASKED = "2026-11-26T10:00:00+01:00[Europe/Berlin]";

function clockAt(at: string): Clock {
  const clock = readClock(at);
  if (!clock) throw new Error(at);
  return clock;
}

/** The days that a text names, the last one included; `…` where it has no end. */
function days(text: string, at = ASKED): string[] {
  const clock = clockAt(at);
  const day = (ms: number) =>
    Number.isFinite(ms)
      ? new Intl.DateTimeFormat("sv", { timeZone: clock.zone }).format(ms).slice(2)
      : "…";
  return (timeInWords(text, clock)?.spans ?? []).map(({ from, to }) => {
    const [first, last] = [day(from), day(to - 1)];
    return first === last ? first : `${first} ${last}`;
  });
}

test.each([
  ["what did I say last Tuesday", ["26-11-24", "26-11-17"]],
  ["what did we decide on Wednesday", ["26-11-25"]],
  ["what did we do on Tuesday this week", ["26-11-24"]],
  ["what was said on Tuesday of last week", ["26-11-17"]],
  ["on Saturday last week", ["26-11-21"]],
  ["what did we plan last week on Friday", ["26-11-20"]],
  ["letzte Woche Dienstag", ["26-11-17"]],
  ["am Montag dieser Woche", ["26-11-23"]],
  ["mardi de la semaine dernière", ["26-11-17"]],
  ["el lunes de la semana pasada", ["26-11-16"]],
  ["on Tuesday in the week of the fair", ["26-11-24"]],
  ["last Friday", ["26-11-20"]],
  ["yesterday", ["26-11-25"]],
  ["the day before yesterday", ["26-11-24"]],
  ["what was this morning", ["26-11-26"]],
  ["two weeks ago", ["26-11-09 26-11-15"]],
  ["a couple of days ago", ["26-11-24"]],
  ["what was said an hour ago", ["26-11-26"]],
  ["in the last three weeks", ["26-11-05 26-11-26"]],
  ["this week", ["26-11-23 26-11-29"]],
  ["at the beginning of October", ["26-10-01 26-10-11"]],
  ["que s'est-il passé vendredi dernier", ["26-11-20"]],
  ["la semaine dernière", ["26-11-16 26-11-22"]],
  ["il y a deux semaines", ["26-11-09 26-11-15"]],
  ["qué hicimos el martes", ["26-11-24"]],
  ["hace dos semanas", ["26-11-09 26-11-15"]],
  ["em maio de 2025", ["25-05-01 25-05-31"]],
  ["il 30 maggio", ["26-05-30"]],
  ["el 30 de mayo", ["26-05-30"]],
  ["due settimane fa", ["26-11-09 26-11-15"]],
  ["twee weken geleden", ["26-11-09 26-11-15"]],
  ["för två veckor sedan", ["26-11-09 26-11-15"]],
  ["forrige uge", ["26-11-16 26-11-22"]],
  ["что было в прошлый вторник", ["26-11-24", "26-11-17"]],
  ["две недели назад", ["26-11-09 26-11-15"]],
  ["в октябре", ["26-10-01 26-10-31"]],
  ["hier", ["26-11-25"]],
  ["qu'est-ce que j'ai dit hier", ["26-11-25"]],
  ["avant-hier", ["26-11-24"]],
  ["en été 2025", ["25-06-01 25-08-31"]],
  ["il y a quelques jours", ["26-11-20 26-11-25"]],
  ["a principios de octubre", ["26-10-01 26-10-11"]],
  ["los últimos tres días", ["26-11-23 26-11-26"]],
  ["lo scorso fine settimana", ["26-11-21 26-11-22"]],
  ["na terça-feira passada", ["26-11-24", "26-11-17"]],
  ["vorig jaar", ["25-01-01 25-12-31"]],
  ["i går", ["26-11-25"]],
  ["i tisdags", ["26-11-24"]],
  ["sidste uge", ["26-11-16 26-11-22"]],
  ["i fjor", ["25-01-01 25-12-31"]],
  ["viime viikolla", ["26-11-16 26-11-22"]],
  ["maaliskuussa", ["26-03-01 26-03-31"]],
  ["két héttel ezelőtt", ["26-11-09 26-11-15"]],
  ["acum două săptămâni", ["26-11-09 26-11-15"]],
  ["на этой неделе", ["26-11-23 26-11-29"]],
  ["между маем и июлем", ["26-05-01 26-07-31"]],
  ["минулого тижня", ["26-11-16 26-11-22"]],
  ["geçen hafta", ["26-11-16 26-11-22"]],
  ["dwa tygodnie temu", ["26-11-09 26-11-15"]],
  ["הבנק אמר אתמול", ["26-11-25"]],
  ["الأسبوع الماضي", ["26-11-16 26-11-22"]],
  ["我昨天说了什么", ["26-11-25"]],
  ["上周二", ["26-11-24", "26-11-17"]],
  ["三天前", ["26-11-23"]],
  ["先週の火曜日に何を話した", ["26-11-24", "26-11-17"]],
  ["3月に", ["26-03-01 26-03-31"]],
  ["2주 전", ["26-11-09 26-11-15"]],
  ["เมื่อวาน", ["26-11-25"]],
  ["a fortnight ago", ["26-11-09 26-11-15"]],
  ["a few days ago", ["26-11-20 26-11-25"]],
  ["on Nov 3rd", ["26-11-03"]],
  ["am 14.11.2025", ["25-11-14"]],
  ["le 14/11/2025", ["25-11-14"]],
  ["on 11/14/2025", ["25-11-14"]],
  ["last weekend", ["26-11-21 26-11-22"]],
  ["last month", ["26-10-01 26-10-31"]],
  ["last year", ["25-01-01 25-12-31"]],
  ["in spring", ["26-03-01 26-05-31"]],
  ["last summer", ["26-06-01 26-08-31"]],
  ["what happened in Q3", ["26-07-01 26-09-30"]],
  ["Q4 2025", ["25-10-01 25-12-31"]],
  ["in the third quarter", ["26-07-01 26-09-30"]],
  ["on the 14th", ["26-11-14"]],
  ["on the 30th", ["26-10-30"]],
  ["on the 31st", ["26-10-31"]],
  ["in May", ["26-05-01 26-05-31"]],
  ["in December", ["25-12-01 25-12-31"]],
  ["the 3rd of May 2025", ["25-05-03"]],
  ["May 3 release", ["26-05-03"]],
  ["early June", ["26-06-01 26-06-10"]],
  ["in 2024", ["24-01-01 24-12-31"]],
  ["on 2026-05-08", ["26-05-08"]],
  ["since Monday", ["26-11-23 …"]],
  ["after last Friday", ["26-11-21 …"]],
  ["before March", ["… 26-02-28"]],
  ["until yesterday", ["… 26-11-25"]],
  ["between May and July", ["26-05-01 26-07-31"]],
  ["between November and February", ["25-11-01 26-02-28"]],
  ["between November and February 2023", ["22-11-01 23-02-28"]],
  ["between May and July 2023", ["23-05-01 23-07-31"]],
  ["between 2026-05-08 and 2026-05-01", ["26-05-01 26-05-08"]],
  ["between Monday and Friday", ["26-11-16 26-11-20"]],
  ["between last Monday and last Friday", ["26-11-16 26-11-20"]],
  ["between the 20th and the 10th", ["26-10-20 26-11-10"]],
  ["between yesterday and last week", ["26-11-16 26-11-25"]],
  ["between today and two days ago", ["26-11-24 26-11-26"]],
])("in English: %s", (text, expected) => {
  expect(days(text)).toEqual(expected);
});

test.each([
  ["was habe ich gestern gesagt", ["26-11-25"]],
  ["vorgestern", ["26-11-24"]],
  ["heute früh", ["26-11-26"]],
  ["letzten Dienstag", ["26-11-24", "26-11-17"]],
  ["am Mittwoch", ["26-11-25"]],
  ["vor zwei Wochen", ["26-11-09 26-11-15"]],
  ["in den letzten drei Tagen", ["26-11-23 26-11-26"]],
  ["diese Woche", ["26-11-23 26-11-29"]],
  ["letztes Jahr", ["25-01-01 25-12-31"]],
  ["im Frühling", ["26-03-01 26-05-31"]],
  ["im Sommer 2025", ["25-06-01 25-08-31"]],
  ["im dritten Quartal", ["26-07-01 26-09-30"]],
  ["am 14.", ["26-11-14"]],
  ["am 14. März", ["26-03-14"]],
  ["im März 2025", ["25-03-01 25-03-31"]],
  ["Anfang Juni", ["26-06-01 26-06-10"]],
  ["seit Montag", ["26-11-23 …"]],
  ["vor März", ["… 26-02-28"]],
  ["bis März", ["… 26-03-31"]],
  ["zwischen Mai und Juli", ["26-05-01 26-07-31"]],
])("in German: %s", (text, expected) => {
  expect(days(text)).toEqual(expected);
});

test("full dates in the form of each language are that day", () => {
  const LANGUAGES = "en de fr es it pt nl sv da nb ru uk pl fi hu ro tr zh ja ko".split(" ");
  for (const language of LANGUAGES) {
    for (let month = 0; month < 12; month += 1) {
      const date = new Date(Date.UTC(2025, month, 14, 12));
      for (const dateStyle of ["full", "long"] as const) {
        const text = date.toLocaleDateString(language, { dateStyle, timeZone: "UTC" });
        expect(days(text), text).toEqual([date.toISOString().slice(2, 10)]);
      }
      const named = { month: "long", year: "numeric", timeZone: "UTC" } as const;
      const text = date.toLocaleDateString(language, named);
      const last = new Date(Date.UTC(2025, month + 1, 0)).toISOString().slice(2, 10);
      expect(days(text), text).toEqual([`${last.slice(0, 6)}01 ${last}`]);
    }
  }
});

test.each([
  ["on Tuesday the 17th", ["26-11-17"]],
  ["on Tuesday, 2026-11-10", ["26-11-10"]],
  ["2025/11/14", ["25-11-14"]],
  ["2025年に", ["25-01-01 25-12-31"]],
  ["3月14日", ["26-03-14"]],
  ["３日前", ["26-11-23"]],
  ["la fin de fe\u0301vrier 2025", ["25-02-19 25-02-28"]],
  ["أول أمس", ["26-11-24"]],
  ["เมื่อวานซืน", ["26-11-24"]],
  ["on February 29", ["24-02-29"]],
])("a date in another form: %s", (text, expected) => {
  expect(days(text)).toEqual(expected);
});

test("a time in a script without spaces and the words before it stay apart", () => {
  const text = "Tuesday dinner 上周";
  expect(timeInWords(text, clockAt(ASKED))).toMatchObject({ start: 15, end: 17 });
  expect(days(text)).toEqual(["26-11-16 26-11-22"]);
});

test("a span that began in the year before begins on its first day, also over a February 29", () => {
  const at = "2028-11-26T10:00:00+01:00[Europe/Berlin]";
  expect(days("between November and February", at)).toEqual(["27-11-01 28-02-29"]);
});

test.each([
  "what may happen",
  "long ago",
  "many moons ago",
  "version 4.5.2026",
  "port 4310",
  "march on",
  "she sat down",
  "I am 14",
  "at 10:30",
  "on 2024-13-41",
  "on 2026-02-30",
  "the spring boot app",
  "fall back to sqlite",
  "from 3 to 5",
  "vor Ort",
  "nach dem Release",
  "before the release",
  "was ist hier das Problem",
  "what is the APR of the card",
  "is the mart open",
  "the dec of the variable",
  "ma che cosa",
  "le 4.5.2026",
  "on 03/04/2026",
  "14.13.2026",
  "三个月",
  "",
])("names no time: %s", (text) => {
  expect(days(text)).toEqual([]);
});

describe("the zone of who asks", () => {
  test("decides which day it is", () => {
    expect(days("today", "2026-11-26T02:00Z[America/New_York]")).toEqual(["26-11-25"]);
    expect(days("today", "2026-11-26T02:00Z[Asia/Tokyo]")).toEqual(["26-11-26"]);
    expect(days("today", "2026-11-26T23:30-05:00")).toEqual(["26-11-26"]);
    expect(days("today", "2026-11-26T23:30")).toEqual(["26-11-26"]);
  });

  test("has days of 23 and 25 hours", () => {
    const hours = (text: string) => {
      const [span] = timeInWords(text, clockAt(ASKED))?.spans ?? [];
      return span && (span.to - span.from) / 3_600_000;
    };
    expect(hours("on 2026-03-29")).toBe(23);
    expect(hours("on 2026-10-25")).toBe(25);
  });

  test.each(["", "yesterday", "2026-11-26T10:00[Nowhere/Land]", "2026-13-01T00:00Z"])(
    "has to be one: %j",
    (at) => {
      expect(readClock(at)).toBeUndefined();
    },
  );
});

describe("a clock with an offset", () => {
  const NAMED = "2026-11-26T10:00:00+05:30[Asia/Kolkata]";
  const OFFSET = "2026-11-26T10:00:00+05:30";

  test.each(["yesterday", "last week", "in May", "on the 14th", "since Monday", "two hours ago"])(
    "tells the same times as one with a name: %s",
    (text) => {
      const spans = timeInWords(text, clockAt(NAMED))?.spans;
      expect(spans).toBeDefined();
      expect(timeInWords(text, clockAt(OFFSET))?.spans).toEqual(spans);
    },
  );

  test("needs no formats of zones, which take a process 12 ms", () => {
    using formats = vi.spyOn(Intl, "DateTimeFormat");
    expect(timeInWords("since yesterday", clockAt(OFFSET))).toBeDefined();
    expect(timeInWords("since yesterday", clockAt(nowByOffset()))).toBeDefined();
    expect(formats).not.toHaveBeenCalled();
  });

  test.each([
    [0, "+00:00"],
    [-330, "+05:30"],
    [210, "-03:30"],
    [480, "-08:00"],
  ])("of now is that of the process: %d minutes", (minutes, zone) => {
    const now = new Date("2026-11-26T10:00:00Z");
    now.getTimezoneOffset = () => minutes;
    expect(readClock(nowByOffset(now))).toEqual({ ms: now.getTime(), zone });
  });

  test("has to be one", () => {
    expect(readClock("2026-11-26T10:00Z[+24:00]")).toBeUndefined();
  });
});

test("the words that say the time are a part of the text", () => {
  const text = "What did we say last week about the harbour?";
  const said = timeInWords(text, clockAt(ASKED));
  expect(text.slice(said?.start, said?.end)).toBe("last week");
  expect(said?.isRelative).toBe(true);
});

test("a time begins before it ends, whatever is asked", () => {
  const words =
    "last this in on the between and since until before two 3 14th weeks days ago may june 2025 monday spring q2 vor seit im letzten tagen 2026-02-03 week of quarter first";
  const texts = fc
    .array(fc.constantFrom(...words.split(" ")), { maxLength: 8 })
    .map((some) => some.join(" "));
  const times = fc.date({
    min: new Date("1990-01-01"),
    max: new Date("2060-01-01"),
    noInvalidDate: true,
  });
  fc.assert(
    fc.property(texts, times, (text, time) => {
      const said = timeInWords(text, { ms: time.getTime(), zone: "Pacific/Auckland" });
      for (const { from, to } of said?.spans ?? []) expect(from).toBeLessThan(to);
    }),
    { numRuns: trials(100, 5000) },
  );
});
