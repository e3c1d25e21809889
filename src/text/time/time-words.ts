import { wordSet } from "../word-set.ts";

/**
 * The words of times, in English and German, and the commonest of the other languages that memory knows. A name with two meanings
 * is in `alsoWords`, and counts behind a preposition only. `PHRASES` has what other languages say in several words, or in one
 * that stands for several of English.
 */

function numbered(lists: string, from = 0): Map<string, number> {
  const found = new Map<string, number>();
  lists.split(",").forEach((words, at) => {
    for (const word of words.split(/\s+/).filter(Boolean)) found.set(word, at + from);
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

/** Words with each of the endings: "maaliskuu" and "maaliskuussa". */
function inflected(lists: string, endings: string): string {
  const all = endings.split(" ");
  return lists.replace(/[^\s,]+/g, (word) => `${word} ${all.map((end) => word + end).join(" ")}`);
}

/** Words by the place of their list, in each of the texts. */
function numberedInAll(...texts: readonly string[]): Map<string, number> {
  return new Map(texts.flatMap((text) => [...numbered(text)]));
}

export const MONTHS: ReadonlyMap<string, number> = numberedInAll(
  `january januar jänner janvier enero gennaio janeiro januari январь января январе,
  february februar février febrero febbraio fevereiro februari февраль февраля феврале,
  march märz maerz mars marzo março maart marts март марта марте, april avril abril aprile апрель апреля апреле,
  may mai mayo maggio maio mei maj май мая мае, june juni juin junio giugno junho июнь июня июне,
  july juli juillet julio luglio julho июль июля июле, august août agosto augustus augusti август августа августе,
  september septembre septiembre settembre setembro сентябрь сентября сентябре,
  october oktober octobre octubre ottobre outubro октябрь октября октябре,
  november novembre noviembre novembro ноябрь ноября ноябре,
  december dezember décembre diciembre dicembre dezembro desember декабрь декабря декабре`,
  "jan,feb,mar,apr,maj,jun czerwiec czerwca czerwcu,jul lipiec lipca lipcu,aug sierpień sierpnia sierpniu,sep sept wrzesień września wrześniu,oct okt październik października październiku,nov listopad listopada listopadzie,dec dez grudzień grudnia grudniu",
  "styczeń stycznia styczniu ianuarie січень січня січні,luty lutego lutym februarie лютий лютого лютому,marzec marca marcu martie березень березня березні,kwiecień kwietnia kwietniu aprilie квітень квітня квітні,maja maju травень травня травні,iunie червень червня червні,iulie липень липня липні,серпень серпня серпні,septembrie вересень вересня вересні,octombrie жовтень жовтня жовтні,noiembrie листопад листопада листопаді,decembrie грудень грудня грудні",
  inflected(
    "tammikuu,helmikuu,maaliskuu,huhtikuu,toukokuu,kesäkuu,heinäkuu,elokuu,syyskuu,lokakuu,marraskuu,joulukuu",
    "n ssa ta",
  ),
  inflected("január,február,március,április,május,június,július,augusztus", "ban i"),
  inflected(",,,,,,,,szeptember,október,november,december", "ben i"),
  inflected(
    "ocak,şubat,mart,nisan,mayıs,haziran,temmuz,ağustos,eylül,ekim,kasım,aralık",
    "ta da te de",
  ),
  "1月 一月,2月 二月,3月 三月,4月 四月,5月 五月,6月 六月,7月 七月,8月 八月,9月 九月,10月 十月,11月 十一月,12月 十二月",
  "январем,февралем,мартом,апрелем,маем,июнем,июлем,августом,сентябрем,октябрем,ноябрем,декабрем",
);

/** From Monday. */
export const WEEKDAYS: ReadonlyMap<string, number> = numberedInAll(
  `monday montag montags lundi lunes lunedì maandag måndag måndagen mandag mandagen понедельник,
  tuesday dienstag mardi martes martedì dinsdag tisdag tisdagen tirsdag tirsdagen вторник,
  wednesday mittwoch mercredi miércoles mercoledì woensdag onsdag onsdagen среду,
  thursday donnerstag jeudi jueves giovedì donderdag torsdag torsdagen четверг,
  friday freitag vendredi viernes venerdì vrijdag fredag fredagen пятница пятницу,
  saturday samstag sonnabend samedi sábado sabato zaterdag lördag lördagen lørdag lørdagen суббота субботу,
  sunday sonntag dimanche domingo domenica zondag söndag söndagen søndag søndagen воскресенье`,
  "måndags mandags понедельника понеділок понеділка luni,tisdags tirsdags вторника вівторок вівторка marți marțea,onsdags среда среды середа середу miercuri,torsdags четверга четвер joi,fredags пятницы vineri,lördags lørdags субботы субота суботу sâmbătă,söndags søndags воскресенья неділя неділю duminică",
  "poniedziałek,wtorek,środa środę,czwartek,piątek,sobota sobotę,niedziela niedzielę",
  "hétfő hétfőn,kedd kedden,szerda szerdán,csütörtök csütörtökön,péntek pénteken,szombat szombaton,vasárnap",
  "pazartesi,salı,çarşamba,perşembe,cuma,cumartesi,pazar",
  inflected("maanantai,tiistai,keskiviikko,torstai,perjantai,lauantai,sunnuntai", "na"),
  "一 月 월,二 火 화,三 水 수,四 木 목,五 金 금,六 土 토,日 天 일",
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
  hour: "hour hours stunde stunden heure heures hora horas uur uren timmar часа часов",
  day: "day days tag tage tagen jour jours día días dia dias giorno giorni dagen dagar dagarna dage dager день дня дней дні днів dni päivä päivää nap nappal gün zi zile",
  week: "week weeks woche wochen semaine semaines semana semanas settimana settimane weken vecka veckan veckor uge uger uke uka uken uker неделя неделю неделе недели недель тиждень тижні тижнів тижня tydzień tygodnie tygodni tygodniu viikko viikkoa viikolla hét héten héttel hafta săptămână săptămâni săptămâna الأسبوع בשבוע",
  month:
    "month months monat monate monaten monats mois mes meses mese mesi mês maand maanden månad månaden månader måned måneden måneder месяц месяца месяце месяцев місяць місяці місяців місяця miesiąc miesiące miesięcy miesiącu kuukausi kuukautta kuussa hónap hónapban hónappal ay lună luni luna الشهر בחודש",
  quarter:
    "quarter quarters quartal quartale quartalen quartals trimestre kwartaal kvartal квартале",
  year: "year years jahr jahre jahren jahres année années ans año años anno anni ano anos jaar år året год года году лет jaren рік роки років року rok roku lata lat vuosi vuotta vuonna év évben évvel yıl ani anul السنة בשנה",
});

export const NUMBERS: ReadonlyMap<string, number> = numbered(
  `a an one ein eine einer einem einen, two zwei zwo, three drei, four vier, five fünf fuenf, six sechs, seven sieben,
  eight acht, nine neun, ten zehn, eleven elf, twelve zwölf zwoelf, thirteen dreizehn, fourteen vierzehn`,
  1,
);

/** In languages where they are other words as well: the Italian `due`. They count before a unit of time only. */
export const OTHER_NUMBERS: ReadonlyMap<string, number> = numbered(
  `un une una uno um uma één en ett et один одну yksi egy bir jeden o 一, deux dos due dois duas twee två to два две дві 二 两 kaksi két kettő iki dwa dwie două, trois tres tre três drie три 三 kolme három üç trzy trei,
  quatre cuatro quattro quatro fyra fire четыре чотири 四 neljä négy dört cztery patru, cinq cinco cinque vijf fem пять 五 viisi öt beş pięć cinci,六,七,八,九,十`,
  1,
);

export const ORDINALS: ReadonlyMap<string, number> = numbered(
  "first erstes ersten erste premier primer primo primeiro eerste första første первом, second zweites zweiten zweite deuxième segundo secondo tweede andra andet втором, third drittes dritten dritte troisième tercer terzo terceiro derde tredje третьем, fourth viertes vierten vierte quatrième cuarto quarto vierde fjärde fjerde четвертом",
  1,
);

/** Days before today. */
export const DAY_WORDS: ReadonlyMap<string, number> = numbered(
  `today tonight heute сегодня сьогодні oggi hoy hoje vandaag idag tänään astăzi azi dzisiaj dziś bugün היום اليوم stamattina vanmorgen,
  yesterday gestern вчера вчора учора ieri ayer ontem gisteren igår wczoraj eilen tegnap dün אתמול أمس,
  vorgestern позавчера позавчора anteayer anteontem eergisteren przedwczoraj toissapäivänä tegnapelőtt alaltăieri שלשום`,
);

/** The third of a month that a word names. */
export const HALVES: ReadonlyMap<string, number> = numbered(
  "early anfang beginning start début principios inicio início inizio begin början начале, mid mitte middle mediados metà meados середине, late ende end fin fine finales final eind slutet конце",
);

export const WORDS = {
  last: wordSet(
    "last past previous afgelopen laatste vorig senaste sidste scorso scorsa ultimi ultimo ultima últimos últimas последние viime múlt geçen zeszły zeszłym zeszłego ostatnie минулого минулий förra forrige прошлый прошлую прошлая прошлой прошлом прошлое última último letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen vergangener vergangenes",
  ),
  /** Behind the name of a time. */
  lastBehind: wordSet(
    "dernier dernière pasado pasada scorso scorsa passado passada trecut trecută الماضي שעבר שעברה",
  ),
  of: wordSet("of de av di van"),
  beforeAgo: wordSet("vor hace há acum"),
  ago: wordSet("ago fa geleden sedan siden назад atrás sitten ezelőtt önce temu тому"),
  few: wordSet(
    "few einige quelques unos algunos qualche alcuni alguns några nogle noen несколько кілька kilka muutama néhány birkaç câteva",
  ),
  this: wordSet(
    "this diese diesen dieser dieses diesem cette ce cet esta este questa questo deze denna denne dette этой этом tällä ezen bu tym цього",
  ),
  weekend: wordSet("weekend wochenende helg helgen viikonloppuna hétvégén выходных"),
  quarter: wordSet("quarter quartal quartals trimestre kwartaal kvartal квартале"),
  year: wordSet("jahr year"),
  /** Before the number of a day. */
  dayNames: wordSet("día dia"),
  dayParts: wordSet("morning afternoon evening morgen früh vormittag mittag nachmittag abend"),
  since: wordSet("since seit ab depuis desde sinds sedan siden с od"),
  after: wordSet("after nach après después"),
  until: wordSet("until till by bis hasta até tot до"),
  before: wordSet("before vor avant antes före før перед"),
  between: wordSet("between zwischen from von entre tra mellan mellem mellom tussen между między"),
  and: wordSet("and und to bis until till et y e en och og и"),
  beforeTimes: wordSet(
    "in on at during of the im am an der dem den das des die zum en nel nella nell em op på om в",
  ),
  articles: wordSet("the der dem den das des die"),
  /** Between a day and its week. */
  beforeWeek: wordSet("of in the de la della da van av der"),
  alsoWords: wordSet(
    "may march august mars mei maj maja mart julio jan feb mar apr jun jul aug sep sept oct okt nov dec dez ekim ocak",
  ),
} as const;

/** Phrases of other languages in English words: `i går` is "yesterday". */
export const PHRASES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    today: "aujourd hui,ce matin,i dag,i morse,i morges,esta mañana,hoje de manhã",
    yesterday: "i går",
    "day before yesterday":
      "avant hier,l altro ieri,antes de ayer,أول أمس,i förrgår,i forgårs,evvelsi gün",
    few: "a few,ein paar,een paar",
    "two weeks": "a fortnight,quinze jours",
    weekend: "week end,fin de semana,fim de semana,fine settimana",
    this: "den här",
    "this year": "heuer,dit jaar,i år",
    "last year": "i fjol,i fjor,tavaly",
    "last spring": "i våras",
    "last summer": "i somras,l été dernier",
    "last autumn": "i höstas",
    "last winter": "i vintras",
    "in spring":
      "au printemps,en primavera,in primavera,na primavera,in de lente,in het voorjaar,på våren,om våren,i vår,i foråret,om foråret,весной,навесні,wiosną,keväällä,tavasszal,ilkbaharda",
    "in summer":
      "en été,en verano,in estate,d estate,nell estate,no verão,in de zomer,på sommaren,sommaren,om sommeren,sommeren,i sommer,летом,влітку,latem,kesällä,nyáron,yazın",
    "in autumn":
      "en automne,en otoño,in autunno,no outono,in de herfst,på hösten,i høst,om høsten,i efteråret,осенью,восени,jesienią,syksyllä,ősszel,sonbaharda",
    "in winter":
      "en hiver,en invierno,in inverno,no inverno,på vintern,i vinter,om vinteren,зимой,взимку,zimą,talvella,télen,kışın",
    "in march": "i mars,i marts",
    "in may": "i maj",
    monday: "segunda feira,ביום שני",
    tuesday: "terça feira,ביום שלישי",
    wednesday: "quarta feira,ביום רביעי",
    thursday: "quinta feira,ביום חמישי",
    friday: "sexta feira,п ятницю,ביום שישי",
    sunday: "ביום ראשון",
  }).flatMap(([english, phrases]) =>
    phrases.split(",").map((phrase): [string, readonly string[]] => [phrase, english.split(" ")]),
  ),
);

/** Yesterday in French, and "here" in German and Dutch: it counts beside a word of the first, or alone. */
export const FRENCH_YESTERDAY = "hier";
export const FRENCH: ReadonlySet<string> = wordSet(
  "je j ai que qu nous avons dit quoi quel quelle est elle",
);

const COUNT = "([\\d一二两三四五六七八九十]+)\\s?";
const AGO = "\\s?(?:之?前|전)";

const YEAR = "(\\d{4})\\s?[年년]";
const MONTH = "(\\d{1,2})\\s?[月월]";
const DAY = "(\\d{1,2})\\s?[日号號일]";

/** Pieces of scripts without spaces, and what they are in English words. `$1` is a number, or a day of the week. */
export const UNSPACED_PIECES: readonly (readonly [pattern: string, english: string])[] = [
  [`${YEAR}\\s?${MONTH}\\s?${DAY}`, "$1-$2-$3"],
  [`${YEAR}\\s?${MONTH}`, "$1-$2"],
  [`${YEAR}(?!\\s?[\\d前전間간])`, "in $1"],
  [`${MONTH}\\s?${DAY}(?!${AGO})`, "$2 $1月"],
  [
    "(?:上个?(?:周|星期)|先週の?|지난\\s?주\\s?)([一二三四五六日天月火水木金土월화수목금토일])(?:曜日?|요일)?",
    "last $1",
  ],
  ["上个?(?:周|星期)|先週|지난\\s?주", "last week"],
  ["这个?(?:周|星期)|本周|今週|이번\\s?주", "this week"],
  ["上个?月|先月|지난\\s?달", "last month"],
  ["这个月|本月|今月|이번\\s?달", "this month"],
  ["去年|昨年|작년", "last year"],
  ["今年|올해", "this year"],
  ["今天|今日|오늘|วันนี้", "today"],
  ["前天|一昨日|おととい|그저께|그제|เมื่อวานซืน", "day before yesterday"],
  ["昨天|昨日|きのう|어제|เมื่อวาน", "yesterday"],
  [`${COUNT}(?:天|日|일)${AGO}`, "$1 days ago"],
  [`${COUNT}(?:个?周|个星期|週間|주)${AGO}`, "$1 weeks ago"],
  [`${COUNT}(?:个月|か月|ヶ月|개월)${AGO}`, "$1 months ago"],
  [`${COUNT}(?:月|월)(?![前日\\d一二三四五六七八九十])`, "in $1月"],
];
