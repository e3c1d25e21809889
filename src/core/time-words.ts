/** The words of times, in English and German. A name with two meanings is in `alsoWords`, and counts behind a preposition only. */

function numbered(lists: string, from = 0): Map<string, number> {
  const found = new Map<string, number>();
  lists.split(",").forEach((words, at) => {
    for (const word of words.trim().split(/\s+/)) found.set(word, at + from);
  });
  return found;
}

function named(table: Readonly<Record<string, string>>): Map<string, string> {
  return new Map(
    Object.entries(table).flatMap(([name, words]) =>
      words.split(" ").map((word): [string, string] => [word, name]),
    ),
  );
}

const set = (words: string): ReadonlySet<string> => new Set(words.split(" "));

export const MONTHS: ReadonlyMap<string, number> = numbered(
  `january januar jänner, february februar, march märz maerz, april, may mai, june juni, july juli, august,
  september, october oktober, november, december dezember`,
);

/** From Monday. */
export const WEEKDAYS: ReadonlyMap<string, number> = numbered(
  `monday montag montags, tuesday dienstag, wednesday mittwoch, thursday donnerstag, friday freitag,
  saturday samstag sonnabend, sunday sonntag`,
);

/** The months in which they begin. */
export const SEASONS: ReadonlyMap<string, number> = new Map([
  ...["spring", "frühling", "frühjahr", "fruehling", "fruehjahr"].map((word): [string, number] => [
    word,
    2,
  ]),
  ...["summer", "sommer"].map((word): [string, number] => [word, 5]),
  ...["autumn", "fall", "herbst"].map((word): [string, number] => [word, 8]),
  ["winter", 11],
]);

export const UNITS: ReadonlyMap<string, string> = named({
  hour: "hour hours stunde stunden",
  day: "day days tag tage tagen",
  week: "week weeks woche wochen",
  month: "month months monat monate monaten monats",
  quarter: "quarter quarters quartal quartale quartalen quartals",
  year: "year years jahr jahre jahren jahres",
});

export const NUMBERS: ReadonlyMap<string, number> = numbered(
  `a an one ein eine einer einem einen, two zwei zwo, three drei, four vier, five fünf fuenf, six sechs, seven sieben,
  eight acht, nine neun, ten zehn, eleven elf, twelve zwölf zwoelf`,
  1,
);

export const ORDINALS: ReadonlyMap<string, number> = numbered(
  "first erstes ersten erste, second zweites zweiten zweite, third drittes dritten dritte, fourth viertes vierten vierte",
  1,
);

/** Days before today. */
export const DAY_WORDS: ReadonlyMap<string, number> = new Map([
  ...[
    "today",
    "tonight",
    "heute",
    "сегодня",
    "сьогодні",
    "oggi",
    "hoy",
    "hoje",
    "vandaag",
    "idag",
  ].map((word): [string, number] => [word, 0]),
  ...[
    "yesterday",
    "gestern",
    "вчера",
    "вчора",
    "ieri",
    "ayer",
    "ontem",
    "gisteren",
    "igår",
    "wczoraj",
  ].map((word): [string, number] => [word, 1]),
  ...["vorgestern", "позавчера", "anteayer", "eergisteren"].map((word): [string, number] => [
    word,
    2,
  ]),
]);

/** Which third of a month. */
export const HALVES: ReadonlyMap<string, number> = numbered("early anfang, mid mitte, late ende");

export const WORDS = {
  last: set(
    "last past previous letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen vergangener vergangenes",
  ),
  this: set("this diese diesen dieser dieses diesem"),
  weekend: set("weekend wochenende"),
  quarter: set("quarter quartal quartals"),
  year: set("jahr year"),
  dayParts: set("morning afternoon evening morgen früh vormittag mittag nachmittag abend"),
  since: set("since seit ab"),
  after: set("after nach"),
  until: set("until till by bis"),
  before: set("before vor"),
  between: set("between zwischen from von"),
  and: set("and und to bis until till"),
  beforeTimes: set("in on at during of the im am an der dem den das des die zum"),
  articles: set("the der dem den das des die"),
  alsoWords: set("may march august"),
} as const;
