/**
 * The words of times, in English and German, and the commonest in French, Spanish, Italian, Portuguese, Dutch, Swedish,
 * Danish, Norwegian and Russian. A name with two meanings is in `alsoWords`, and counts behind a preposition only. */

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
  `january januar jänner janvier enero gennaio janeiro januari январь января январе,
  february februar février febrero febbraio fevereiro februari февраль февраля феврале,
  march märz maerz mars marzo março maart март марта марте, april avril abril aprile апрель апреля апреле,
  may mai mayo maggio maio mei maj май мая мае, june juni juin junio giugno junho июнь июня июне,
  july juli juillet julio luglio julho июль июля июле, august août agosto augustus augusti август августа августе,
  september septembre septiembre settembre setembro сентябрь сентября сентябре,
  october oktober octobre octubre ottobre outubro октябрь октября октябре,
  november novembre noviembre novembro ноябрь ноября ноябре,
  december dezember décembre diciembre dicembre dezembro декабрь декабря декабре`,
);

/** From Monday. */
export const WEEKDAYS: ReadonlyMap<string, number> = numbered(
  `monday montag montags lundi lunes lunedì maandag måndag måndagen mandag mandagen понедельник,
  tuesday dienstag mardi martes martedì dinsdag tisdag tisdagen tirsdag tirsdagen вторник,
  wednesday mittwoch mercredi miércoles mercoledì woensdag onsdag onsdagen среду,
  thursday donnerstag jeudi jueves giovedì donderdag torsdag torsdagen четверг,
  friday freitag vendredi viernes venerdì vrijdag fredag fredagen пятница пятницу,
  saturday samstag sonnabend samedi sábado sabato zaterdag lördag lördagen lørdag lørdagen суббота субботу,
  sunday sonntag dimanche domingo domenica zondag söndag söndagen søndag søndagen воскресенье`,
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
  day: "day days tag tage tagen jour jours día días dia dias giorno giorni dagen dagar dage dager день дня дней",
  week: "week weeks woche wochen semaine semaines semana semanas settimana settimane weken vecka veckan veckor uge uger uke uka uker неделя неделю неделе недели недель",
  month:
    "month months monat monate monaten monats mois mes meses mese mesi mês maand maanden månad månaden månader måned måneder месяц месяца месяце месяцев",
  quarter: "quarter quarters quartal quartale quartalen quartals",
  year: "year years jahr jahre jahren jahres année années ans año años anno anni ano anos jaar år året год года году лет",
});

export const NUMBERS: ReadonlyMap<string, number> = numbered(
  `a an one ein eine einer einem einen, two zwei zwo, three drei, four vier, five fünf fuenf, six sechs, seven sieben,
  eight acht, nine neun, ten zehn, eleven elf, twelve zwölf zwoelf`,
  1,
);

/** In languages where they are other words as well: the Italian `due`. They count before a unit of time only. */
export const OTHER_NUMBERS: ReadonlyMap<string, number> = numbered(
  `un une una uno um uma één en ett et один одну, deux dos due dois duas twee två to два две, trois tres tre três drie три,
  quatre cuatro quattro quatro fyra fire четыре, cinq cinco cinque vijf fem пять`,
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
export const HALVES: ReadonlyMap<string, number> = numbered(
  "early anfang beginning start, mid mitte middle, late ende end",
);

export const WORDS = {
  last: set(
    "last past previous afgelopen förra forrige прошлый прошлую прошлая прошлой прошлом прошлое última último letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen vergangener vergangenes",
  ),
  /** Behind the name of a time. */
  lastBehind: set("dernier dernière pasado pasada scorso scorsa passado passada"),
  of: set("of de"),
  beforeAgo: set("vor hace há"),
  ago: set("ago fa geleden sedan siden назад atrás"),
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
  alsoWords: set("may march august mars mei maj julio"),
} as const;
