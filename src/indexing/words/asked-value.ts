import { isAscii } from "../../text/character-kinds.ts";
import { madeOnce } from "../../text/made-once.ts";
import { tokensOf } from "../../text/time/time-tokens.ts";
import {
  DAY_WORDS,
  MONTHS,
  NUMBERS,
  ORDINALS,
  OTHER_NUMBERS,
  SEASONS,
  UNITS,
  WEEKDAYS,
  WORDS,
} from "../../text/time/time-words.ts";
import { wordSet } from "../../text/word-set.ts";
import { STOP_WORDS } from "./english.ts";

/** The kind of value that a question asks for, if such values have a form of their own. */
export type AskedValue =
  | "e-mail"
  | "phone"
  | "address"
  | "birthday"
  | "birthplace"
  | "time"
  | "duration"
  | "colour"
  | "measure"
  | "age"
  | "count"
  | "money"
  | "amount"
  | undefined;

export function askedValue(question: string): AskedValue {
  const lower = question.toLowerCase();
  return ASKED.find(([, asks]) => asks(lower))?.[0];
}

/**
 * Whether a question asks for a value and a text has none, in digits or in words. Such a text is about the question's
 * words, and hardly answers it:
 *
 *     how old is Priyanka      "Priyanka leads the mobile team."     lacks a number
 *     wann kommt Milena        "Milena kommt donnerstags."           has a time
 *     which colour is the car  "The car needs new tyres."            lacks a colour
 */
export function lacksValue(value: AskedValue, text: string): boolean {
  if (value === undefined) return false;
  const lower = text.toLowerCase();
  if (value === "colour") return !COLOUR.test(lower);
  if (value === "e-mail") return !/@|mails?(?: address)?(?::| is | are )/i.test(text);
  if (value === "phone") return !/(?:\d[ ()/.-]{0,2}){5}|phone number|telefonnummer/i.test(text);
  if (value === "address") return !ADDRESS.test(lower);
  if (value === "birthplace") return !BIRTHPLACE.test(lower);
  if (value === "birthday") return !hasDate(text);
  if (value === "money" && FREE.test(lower)) return false;
  if (value === "money" && !hasMoney(lower)) return true;
  const isOfTime = value === "time" || value === "duration";
  if (isOfTime || value === "age" ? NUMBER.test(text) : hasAmount(text)) return false;
  if (isOfTime && UNSPACED_TIME.test(text)) return false;
  if (NUMBER_END.test(lower)) return false;
  const words = wordsOf(text);
  const isAmount = (word: string, at: number) =>
    numberWords().has(word) && (isOfTime || !isOfDay(words, at));
  return !words.some((word, at) => isAmount(word, at) || (isOfTime && isTime(word)));
}

/** "Until ten" is a time of day, and "at five pounds" is none. */
function isOfDay(words: readonly string[], at: number): boolean {
  const next = words[at + 1];
  return AT.has(words[at - 1] ?? "") && (next === undefined || STOP_WORDS.has(next));
}

const AT: ReadonlySet<string> = wordSet(
  "at until till before after um bis à jusqu'à alle las om tot kl",
);

// All in small letters, and asked of texts in small letters: V8 takes four times as long to make `\p{L}` for letters of both kinds.

const ASKS_EMAIL =
  /^\P{L}*(?:what|which|was|wie|quel(?:le)?|cu[aá]l|qual|wat|vad|hvad|hva|какой|jaki)(?!\p{L}).*(?<!\p{L})(?:e-?mail|mail[- ]?(?:address|adresse))(?: address| adresse?)?(?=\P{L}*$| (?:of|for|von|de|di|van|för|til)(?!\p{L}))/u;
const ASKS_PHONE =
  /^\P{L}*(?:what|which|was|wie|quel(?:le)?|cu[aá]l|qual|wat|vad|hvad|hva|какой|jaki)(?!\p{L}).*(?<!\p{L})(?:(?:tele)?phone number|phone|telefon(?:nummer)?|teléfono|numéro de téléphone|numero di telefono|номер телефона)(?=\P{L}*$| (?:of|for|von|de|di|van|för|til)(?!\p{L}))/u;
const ASKS_ADDRESS =
  /^\P{L}*(?:what|which|wie lautet|was|quelle?|cu[aá]l|qual|wat|vad|hvad|hva|какой|jaki)(?!\p{L}).*(?<!\p{L})(?:address|adresse?|dirección|indirizzo|endereço|adress|адрес)(?=\P{L}*$| (?:of|for|von|de|di|van|för|til)(?!\p{L}))/u;
const ADDRESS =
  /\d|@|\p{L}\.\p{L}|(?<!\p{L})(?:street|road|avenue|lane|square|lives?|moved|address|rue|calle|via|ul\.)(?!\p{L})|stra(?:ß|ss)e|adress|straat|gatan|indirizzo|dirección|адрес|улиц/u;
const ASKS_BIRTHPLACE =
  /^\P{L}*(?:(?:in )?(?:what|which) (?:city|town|country|place|hospital)|where|wo|où|d[oó]nde|dove|onde|waar|var|hvor|gdzie|где)(?!\p{L}).*(?<!\p{L})(?:born|geboren|née?|naci[oó]|nat[oa]|nasceu|född|født|urodził\p{L}*|родил\p{L}+)(?!\p{L})/u;
const BIRTHPLACE =
  /(?<!\p{L})(?:born|birthplace|from|grew up|native|geboren|gebürtig|stammt|née?|originaire|naci\p{L}+|nat[oa]|nasc\p{L}+|född|født|urodz\p{L}+|родил\p{L}+|родом)(?!\p{L})/u;
const ASKS_BIRTHDAY =
  /^\P{L}*(?:when|wann|quand|cu[aá]ndo|quando|wanneer|när|hvornår|når|kiedy|когда|(?:on )?(?:what|which) (?:day|date|year))(?!\p{L}).*(?<!\p{L})(?:birthdays?|born|geburtstag|geboren|anniversaire|née?|cumpleaños|naci[oó]|compleanno|nat[oa]|aniversário|nasceu|verjaardag|jarig|födelsedag|född|fødselsdag|født|bursdag|urodz\p{L}+|родил\p{L}+|день рождения)(?!\p{L})/u;

/** At the beginning: inside a sentence, "when" seldom asks. */
const ASKS_WHEN =
  /^\P{L}*(?:(?:since|until|till|by|at|on|in|ab|seit|bis|depuis|desde|hasta|da|fino a|até|sinds|tot|od|do|с|до) )?(?:when(?! i\b)|(?:what|which) (?:time|day|date|week|month|year)|wann|quand|cu[aá]ndo|quando|wanneer|när|hvornår|når|kiedy|когда)(?!\p{L})|什么时候|什麼時候|何时|[几幾][点點号號月]|[周週]几|星期[几幾]|哪(?:一)?天|いつ|何[時日月]|何曜日|언제|몇\s?[시월]|saat kaç/u;

const ASKS_COLOUR =
  /^\P{L}*(?:(?:in |di |de |в )?(?:what|which|welche[rns]?|quel(?:le)?|qu[eé]|che|qual|welke|vilken|hvilken|какого)(?:'?s| is| are| ist)?(?: the)?) (?:colou?rs?|farbe|couleur|colore?|cor|kleur|färg|farve|farge|цвета)(?=\P{L}*$| (?:is|are|was|will|should|of|for|do|does|did|has|have|hat|haben|ist|sind|est|sont|a|es|son|tiene|è|ha|heeft|har|är|er)(?!\p{L})| [а-я])|什[么麼][颜顏]色|何色|[슨떤] 색/u;

const ASKS_DURATION =
  /^\P{L}*(?:how (?:long|often|far|many times)|wie ?(?:lange?|oft|weit)|combien de (?:temps|fois)|cu[aá]nt(?:o tiempo|as veces)|quant(?:o tempo|e volte|as vezes)|hoe ?(?:lang|vaak)|hur (?:länge|ofta)|hvor (?:længe|lenge|ofte)|сколько раз|كم مرة)(?!\p{L})|[几幾][天次]|何回/u;

/** A word, or letters, may answer these too: "the risk is low", "size M", "she likes it a lot". */
const ASKS_MEASURE =
  /^\P{L}*(?:how (?:big|deep|high|fast|much)|wie ?(?:groß|hoch|viel)|combien|cu[aá]nt[oa]|quant[oa]|hur mycket|hvor meget|hoe ?(?:groot|hoog)|hvor stor|hur stor|(?:what|which|was|welche|quel|quelle|qual|cu[aá]l|какой)(?!\p{L}).*(?<!\p{L})(?:number|(?:\p{L}*größe|size)|nummer|taille|numéro|número|numero|номер))(?!\p{L})|ne kadar|何番|多大/u;

const ASKS_AGE =
  /^\P{L}*(?:how old|wie ?alt|quel âge|cu[aá]ntos años|quanti anni|quantos anos|hoe ?oud|hur gammal|hvor gammel|сколько лет|ile lat|كم عمر)(?!\p{L})|kaç yaşında|[几幾][岁歲]|何[歳才]|몇 ?살/u;

/** Several texts may be counted, though none says how many they are. */
const ASKS_COUNT =
  /^\P{L}*(?:how many|wie ?viele|combien de|cu[aá]nt[oa]s|quant[ie]|quant[oa]s|hoe ?veel|hur många|hvor mange|ile|сколько|كم|כמה)(?!\p{L})|(?<!\p{L})kaç(?!\p{L})|[几幾][个個]|何[人個本枚台匹]|몇(?!\s?[시월])/u;

/** How much something costs or weighs, and not how much it is liked. */
const ASKS_AMOUNT =
  /^\P{L}*(?:how (?:tall|heavy)|(?:how much|wie ?viel|combien|cu[aá]nt[oa]|quant[oa]|hur mycket|hvor meget)(?: (?:is|are|was|were|est|es|è|é|money|rent|geld|miete|dinero|denaro|dinheiro|pengar|penge)|(?!\p{L}).*(?<!\p{L})(?:cost|pa(?:y|id|i|g)|spen[dt]|charge|earn|owe|weigh|worth|(?:ge)?kost|(?:be)?zahl|wieg|verdien|co[uû]t|pès|gagn|cuest|val[eo]|gana|pesa|cust|guadagn|ganh|betal|väg|vej|tjän|tjen)\p{L}*)|(?:what|was|wat|vad|hvad|hva)(?!\p{L}).*(?<!\p{L})(?:(?:cost|charge)s?(?=\P{L}*$| (?:the|our|my|an?|per|each|at|in|for)(?!\p{L}))|(?:ge)?kost(?:en|et|ede|ade|ar|er|t)?)|(?:what|which|was|quel|qual|cu[aá]l)(?!\p{L}).*(?<!\p{L})(?:age|height|weight|price|salary|wages?|fee|preis|gehalt|prix|salaire|precio|edad|salario|sueldo|prezzo|stipendio)(?=\P{L}*$| (?:of|for|has|is|de|du|von|del|di)(?!\p{L}))|wie ?(?:schwer|teuer)|how expensive|hoe duur|hur dyr|hvor dyr)(?!\p{L})|多少|多[高重]|いくつ|いくら|얼마/u;

const OF_MONEY =
  /(?<!\p{L})(?:cost|pa(?:y|id)|spen[dt]|charge|earn|owe|price|salary|wages?|fee|expensive|money|rent|(?:ge)?kost|(?:be)?zahl|verdien|teuer|preis|gehalt|geld|miete|co[uû]t|prix|salaire|gagn|cuest|precio|salario|sueldo|dinero|gana|prezzo|stipendio|guadagn|custo)/u;
const MONEY =
  /[€£$¥₽₺]|(?<!\p{L})(?:pounds?|euros?|dollars?|cents?|pence|quid|bucks|francs?|franken|kron\p{L}+|kr|z[łl]\p{L}*|eur|usd|gbp|chf|rub\p{L}*|руб\p{L}*|lira|hal[fb]\p{L}*|per ?cent|percent|prozent)(?!\p{L})|%/u;
/** What costs nothing. */
const FREE =
  /(?<!\p{L})(?:free|nothing|complimentary|included|waived|donated|on the house|no charge|gratis|kostenlos|inklusive|umsonst|geschenkt|gratuite?|offerte?|incluido|gratuito)(?!\p{L})/u;
/** What stands behind a number that measures time, sizes or people, and is no money. */
const MEASURED =
  /^[\s-]?(?:[kc]m|[mk]?g|[mcd]?l|oz|lbs?|miles?|met(?:er|re)s?|feet|inch(?:es)?|gramm?s?|kilos?|kilo(?:gramm?|meter|metre)s?|tons?|tonnes?|lit(?:er|re)s?|degrees?|grad|[kmgt]i?b|watts?|kwh?|volts?|people|persons?|personen|leute|guests?|kids|children|kinder|times|mal|fois|veces|pieces?|stück|(?:year|month|week|day|hour|minute|second|min|hr)s?|jahre?n?|monate?n?|wochen?|tagen?|stunden?|minuten?|sekunden?|ans|années?|mois|semaines?|jours?|heures?|años?|meses|semanas?|días?|horas?|minutos?|anni|mesi|settimane|giorni|ore|uhr|[ap]m|h)(?!\p{L})/iu;

/** Whether a text has money, or a number that may be money: most people write none behind it. */
function hasMoney(lower: string): boolean {
  if (MONEY.test(lower)) return true;
  const ends = [...lower.matchAll(ALL_NUMBERS)].map(
    ({ 0: number, index }) => index + number.length,
  );
  if (ends.some((end) => !MEASURED.test(lower.slice(end, end + NEAR)))) return true;
  const words = wordsOf(lower);
  return words.some((word, at) => {
    if (!numberWords().has(word) || UNITS.has(word) || isOfDay(words, at)) return false;
    const next = words[at + 1];
    return next === undefined || STOP_WORDS.has(next);
  });
}

/** The first that fits is taken. The others are not made. */
const ASKED: readonly (readonly [AskedValue, (lower: string) => boolean])[] = [
  ["birthday", (lower) => ASKS_BIRTHDAY.test(lower)],
  ["birthplace", (lower) => ASKS_BIRTHPLACE.test(lower)],
  ["e-mail", (lower) => ASKS_EMAIL.test(lower)],
  ["phone", (lower) => ASKS_PHONE.test(lower)],
  ["address", (lower) => ASKS_ADDRESS.test(lower)],
  ["time", (lower) => ASKS_WHEN.test(lower)],
  ["colour", (lower) => ASKS_COLOUR.test(lower)],
  ["duration", (lower) => ASKS_DURATION.test(lower)],
  ["age", (lower) => ASKS_AGE.test(lower)],
  ["count", (lower) => ASKS_COUNT.test(lower)],
  ["money", (lower) => ASKS_AMOUNT.test(lower) && OF_MONEY.test(lower)],
  ["amount", (lower) => ASKS_AMOUNT.test(lower)],
  ["measure", (lower) => ASKS_MEASURE.test(lower)],
];

/** A day, a month or a year. */
function hasDate(text: string): boolean {
  return DATE.test(text) || wordsOf(text).some((word) => MONTHS.has(word) || DAY_WORDS.has(word));
}

const DATE = /(?<!\d)(?:1[89]|20)\d\d(?!\d)|\d{1,2}[./]\s?\d{1,2}(?!\d)|\d月|\d(?:st|nd|rd|th)\b/u;

/** Not one in an identifier or a checksum: "3", "4th", "1:52", "三", and not "E4021", "fx-85" or "7be41fa". */
const NUMBER =
  /(?<![A-Za-z\p{N}_-])\p{N}[\p{N}.,:/]*[A-Za-z]{0,3}(?![A-Za-z\p{N}_])|[二三四五六七八九十百千万两每毎]|다섯|여섯|일곱|여덟|아홉|(?<![가-힣])(?:한|두|세|네|열|열한|열두) ?[명개살마번대]/u;

/** A number that is no part of a date or a time of day. */
function hasAmount(text: string): boolean {
  for (const { 0: number, index } of text.matchAll(ALL_NUMBERS)) {
    const end = index + number.length;
    const before = LAST_WORD.exec(text.slice(Math.max(0, index - NEAR), index))?.[1] ?? "";
    const after = FIRST_WORD.exec(text.slice(end, end + NEAR))?.[1] ?? "";
    if (!CLOCK.test(number) && !isOfDate(before) && !isOfDate(after)) return true;
  }
  return false;
}

function isOfDate(word: string): boolean {
  return MONTHS.has(word.toLowerCase()) || OF_CLOCK.has(word.toLowerCase());
}

/** Days of the week and times of day, which have no spaces around them. */
const UNSPACED_TIME =
  /曜日|[周週][日天末]|(?:星期|礼拜|禮拜)[日天]|[上下午]午|午[前后後]|[早晚]上|今晚|清晨|傍晚|深夜|半夜|夜|朝|昼|夕方|[月年]末|요일|오전|오후|아침|점심|저녁|정오|자정/u;

const ALL_NUMBERS = new RegExp(NUMBER, "gu");
const NEAR = 16;
const LAST_WORD = /(?<!\p{L})(\p{L}+)[\s.,]*$/u;
const FIRST_WORD = /^[\s.,]*(?:of |de )?(\p{L}+)/u;
const CLOCK = /^\d{1,2}:\d\d|\d[ap]m$/i;
const OF_CLOCK: ReadonlySet<string> = new Set(["uhr", "am", "pm", "o"]);

/** A colour may have any name, in a text about paint. */
const COLOUR =
  /#[0-9a-f]{3,8}\b|(?<!\p{L})(?:paint(?:ed)?|colou?rs?|farbe|gestrichen|peinture|couleur|pintura|color|vernice|colore|verf|färg|краска|цвет)(?!\p{L})|(?<!\p{L})(?:(?:hell|dunkel|light|dark)-?)?(?:red|green|blue|yellow|black|white|gr[ae]y|orange|purple|pink|brown|beige|silver|gold(?:en)?|teal|navy|maroon|(?:violet|turqu|türkis|turkos|anthra|cyan|magenta|oliv|lavend|cr[eèé]m|khaki|mint|bronz|бордов)\p{L}*|(?:rot|grün|blau|gelb|schwarz|wei(?:ß|ss)|grau|lila|rosa|braun)(?:e[nmrs]?)?|rouge|vert|bleu|jaune|noir|blanc|gris|rose|brun|marron|roj[oa]|verde|azul|amarill[oa]|negr[oa]|blanc[oa]|naranja|morad[oa]|ross[oai]|blu|azzurr[oa]|giall[oa]|ner[oa]|bianc[oa]|grigi[oa]|viola|vermelh[oa]|amarel[oa]|pret[oa]|branc[oa]|cinza|rood|rode|groene?|blauwe?|gele?|zwarte?|witte?|wit|grijze?|grijs|oranje|paarse?|roze|bruine?|röda?|rød|gröna?|grøn|blå|gula?|svarta?|vita?|hvid|grå|bruna?|(?:красн|зел[её]н|син|голуб|ж[её]лт|ч[её]рн|бел|сер|оранжев|фиолетов|розов|коричнев)\p{L}{1,3}|(?:czerwon|zielon|niebiesk|żółt|czarn|biał|szar)\p{L}{1,3}|kırmızı|yeşil|mavi|sarı|siyah|beyaz)s?(?!\p{L})|[红紅绿緑蓝青黄黑黒白灰粉紫橙]|빨[간강]|파[란랑]|노란|초록|검[은정]|하얀|흰|회색/u;

/** Phrases of other languages become English words, which takes longer. */
function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(/[a-z]+/g) ?? [];
  return tokensOf(text).map(({ word }) => word);
}

/** "A" and "one" are in any text, and "to" is the Danish two. */
const numberWords = madeOnce<ReadonlySet<string>>(() => {
  const numbers = [...NUMBERS, ...OTHER_NUMBERS].flatMap(([word, is]) => (is > 1 ? [word] : []));
  const named = [...numbers, ...UNITS.keys()].filter((word) => !STOP_WORDS.has(word));
  return new Set([...named, ...OTHER_AMOUNTS]);
});

const timeWords = madeOnce<ReadonlySet<string>>(() => {
  const lists = [MONTHS, WEEKDAYS, SEASONS, DAY_WORDS, ORDINALS, WORDS.dayParts];
  return new Set([...lists.flatMap((words) => [...words.keys()]), ...OTHER_TIMES]);
});

function isTime(word: string): boolean {
  return timeWords().has(word) || (word.endsWith("s") && timeWords().has(word.slice(0, -1)));
}

/** Numbers that `NUMBERS` and `OTHER_NUMBERS` lack, and words for all, none and some. */
const OTHER_AMOUNTS =
  `no nothing none half twice every each always several plenty few enough free unlimited bit lot daily weekly monthly fifteen
  sixteen eighteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen dozens
  kein keine keinen nichts frei gratis kostenlos mehrere jede jeder jedes jeden immer halb täglich dutzend
  aucun rien gratuit gratuite plusieurs chaque toujours sept huit neuf dix onze douze quinze vingt trente quarante cinquante
  soixante cent mille douzaine nada cada siempre varios varias seis siete ocho nueve diez once doce quince veinte treinta
  cuarenta cincuenta cien ciento mil ogni sempre niente sette otto nove dieci undici dodici diciotto venti trenta cento mila
  oito dez vinte cem geen elke altijd zes zeven acht negen elf twaalf ingen varje alltid sex sju åtta nio tio elva tolv arton
  tjugo hundra tusen hver altid syv otte atten tyve żaden każdy zawsze darmowy sześć siedem osiem dziewięć dziesięć sto
  нет каждый каждую каждые шесть семь восемь девять сорок пятьдесят сто тысяч всегда
  altı yedi sekiz dokuz yirmi otuz kırk elli yüz كل اثنا ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة عشر`.split(
    /\s+/,
  );

/** Endings of German, Dutch and Russian numbers: achthundert, twintig, пятнадцать; and of "free" in Russian. */
const NUMBER_END =
  /(?:zehn|zig|ßig|hundert|tausend|tien|tig|honderd|дцать|десят)(?!\p{L})|бесплатн/u;

const OTHER_TIMES =
  `when if before after until wenn bevor night noon midnight now nacht été automne hiver matin soir nuit primavera verano
  otoño invierno mañana noche tarde estate autunno mattina sera verão noite zomer avond`.split(
    /\s+/,
  );
