import { isAscii } from "../../text/character-kinds.ts";
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
import { STOP_WORDS } from "./english.ts";

/** What a question asks for, if its answer has a form of its own. */
export type AskedValue = "number" | "count" | "duration" | "time" | "colour" | undefined;

export function askedValue(question: string): AskedValue {
  if (ASKS_WHEN.test(question)) return "time";
  if (ASKS_COLOUR.test(question)) return "colour";
  if (!ASKS_NUMBER.test(question)) return undefined;
  if (ASKS_DURATION.test(question)) return "duration";
  return ASKS_COUNT.test(question) ? "count" : "number";
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
  if (value === "colour") return !COLOUR.test(text);
  const isOfTime = value === "time" || value === "duration";
  if (isOfTime ? NUMBER.test(text) : hasAmount(text)) return false;
  if (isOfTime && UNSPACED_TIME.test(text)) return false;
  return !wordsOf(text).some((word) => isNumber(word) || (isOfTime && isTime(word)));
}

/** At the beginning: inside a sentence, "when" seldom asks. */
const ASKS_WHEN =
  /^\P{L}*(?:(?:since|until|till|by|at|on|in|ab|seit|bis|depuis|desde|hasta|da|fino a|até|sinds|tot|od|do|с|до) )?(?:when(?! i\b)|(?:what|which) (?:time|day|date|week|month|year)|wann|quand|cu[aá]ndo|quando|wanneer|när|hvornår|når|kiedy|когда)(?!\p{L})|什么时候|什麼時候|何时|[几幾][点點号號月]|[周週]几|星期[几幾]|哪(?:一)?天|いつ|何[時日月]|何曜日|언제|몇\s?[시월]|saat kaç/iu;

const ASKS_NUMBER =
  /^\P{L}*(?:(?:what|was|wat|vad|hvad|hva)(?!\p{L}).*(?<!\p{L})(?:cost|(?:ge)?kost(?:en|et|ede|ade|ar|er|t)?)(?!\p{L})|how (?:many|much|old|tall|long|big|deep|far|fast|heavy|high|often)|(?:what|which|was|wie|hur|hvor|quel|quelle|qual|cu[aá]l|какой)(?!\p{L}).*(?<!\p{L})(?:number|size|age|height|weight|price|nummer|preis|numéro|taille|âge|prix|número|precio|edad|numero|prezzo|номер|цена)(?=\P{L}*$| (?:of|for|do|does|has|have|is|are|did|hat|haben|ist|a|ha|tiene|de|du|d'|von|vom|des|der|del|della|di|van|av|af|у|на)(?!\p{L}))|wie ?(?:viele?|alt|groß|hoch|lange?|oft|schwer|weit|teuer)|combien|cu[aá]nt[oa]s?|quant[oaie]s?|hoe ?(?:veel|oud|lang|groot|vaak|zwaar|hoog)|hur (?:många|mycket|gammal|stor|länge|ofta)|hvor (?:mange|meget|gammel|stor|længe|lenge|ofte)|ile|сколько|скільки|كم|כמה|hány|mennyi|câte?|câți|kuinka (?:monta|paljon|vanha))(?!\p{L})|(?<!\p{L})(?:kaç|ne kadar)(?!\p{L})|多[少大高重]|[几幾][岁歲个個天次]|何[番歳才人個本枚回円台匹]|いくつ|いくら|몇(?!\s?[시월])|얼마/iu;

/** Several texts may be counted, though none says how many they are. */
const ASKS_COUNT =
  /^\P{L}*(?:how many|wie ?viele|combien d|cu[aá]nt[oa]s|quant[ie]|quant[oa]s|hoe ?veel|hur många|hvor mange|ile|сколько|скільки|كم|כמה|hány|câ[tț][ei]|kuinka monta)(?!\p{L})|(?<!\p{L})kaç(?!\p{L})|[几幾][个個]|何[人個本枚台匹]|몇/iu;

const ASKS_DURATION =
  /^\P{L}*(?:how (?:long|often|far|many times)|wie ?(?:lange?|oft|weit)|combien de (?:temps|fois)|wie ?viele? mal|cu[aá]nt(?:o tiempo|as veces)|quant(?:o tempo|e volte|as vezes)|hoe ?(?:lang|vaak)|hur (?:länge|ofta)|hvor (?:længe|lenge|ofte)|ile (?:czasu|razy)|сколько раз|كم مرة|hur många gånger|hvor mange gange?r?|hoe ?veel keer|ne kadar sür)(?!\p{L})|[几幾][天次]|何[回]/iu;

const ASKS_COLOUR =
  /^\P{L}*(?:(?:in |di |de |в )?(?:what|which|welche[rns]?|quel(?:le)?|qu[eé]|che|qual|welke|vilken|hvilken|какого|jakiego)(?:'?s| is| are| ist| hat| est| es| è| é)?(?: the| our| my| die| la| el| il| a| o)?) (?:colou?rs?|farbe|couleur|colore?|cor|kleur|färg|farve|farge|цвета|koloru)(?!\p{L})|(?<!\p{L})ne renk|[什麼么]+[颜顔顏]色|何色|[무슨떤] 색/iu;

/** Not one in an identifier or a checksum: "3", "4th", "1:52", "三", and not "E4021", "fx-85" or "7be41fa". */
const NUMBER =
  /(?<![A-Za-z\p{N}_-])\p{N}[\p{N}.,:/]*[A-Za-z]{0,3}(?![A-Za-z\p{N}_])|[二三四五六七八九十百千万两每毎]/u;

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
const LAST_WORD = /(\p{L}+)[\s.,]*$/u;
const FIRST_WORD = /^[\s.,]*(?:of |de )?(\p{L}+)/u;
const CLOCK = /^\d{1,2}:\d\d|\d[ap]m$/i;
const OF_CLOCK: ReadonlySet<string> = new Set(["uhr", "am", "pm", "o"]);

const COLOUR =
  /#[0-9a-f]{3,8}\b|(?<!\p{L})(?:(?:hell|dunkel|light|dark)-?)?(?:red|green|blue|yellow|black|white|gr[ae]y|orange|purple|pink|brown|beige|silver|gold(?:en)?|violet|turquoise|(?:rot|grün|blau|gelb|schwarz|wei(?:ß|ss)|grau|lila|rosa|braun|türkis)(?:e[nmrs]?)?|rouge|vert|bleu|jaune|noir|blanc|gris|rose|brun|marron|roj[oa]|verde|azul|amarill[oa]|negr[oa]|blanc[oa]|naranja|morad[oa]|ross[oai]|blu|azzurr[oa]|giall[oa]|ner[oa]|bianc[oa]|grigi[oa]|viola|vermelh[oa]|amarel[oa]|pret[oa]|branc[oa]|cinza|rood|rode|groene?|blauwe?|gele?|zwarte?|witte?|wit|grijze?|grijs|oranje|paarse?|roze|bruine?|röda?|rød|gröna?|grøn|blå|gula?|svarta?|vita?|hvid|grå|bruna?|(?:красн|зел[её]н|син|голуб|ж[её]лт|ч[её]рн|бел|сер|оранжев|фиолетов|розов|коричнев)\p{L}{1,3}|(?:czerwon|zielon|niebiesk|żółt|czarn|biał|szar)\p{L}{1,3}|kırmızı|yeşil|mavi|sarı|siyah|beyaz)s?(?!\p{L})|[红紅绿緑蓝青黄黑黒白灰粉紫橙]|빨[간강]|파[란랑]|노란|초록|검[은정]|하얀|흰|회색/iu;

/** Phrases of other languages become English words, which takes longer. */
function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(/[a-z]+/g) ?? [];
  return tokensOf(text).map(({ word }) => word);
}

/** "A" and "one" are in any text. */
function isNumber(word: string): boolean {
  if (STOP_WORDS.has(word)) return false;
  return (
    (NUMBERS.get(word) ?? OTHER_NUMBERS.get(word) ?? 0) > 1 ||
    UNITS.has(word) ||
    OTHER_AMOUNTS.has(word)
  );
}

function isTime(word: string): boolean {
  const one = word.replace(/s$/, "");
  return TIMES.some((words) => words.has(word) || words.has(one)) || OTHER_TIMES.has(word);
}

const TIMES = [MONTHS, WEEKDAYS, SEASONS, DAY_WORDS, ORDINALS, WORDS.dayParts];

/** Numbers from six on, where `OTHER_NUMBERS` ends, and words of how often. */
const OTHER_AMOUNTS: ReadonlySet<string> = new Set(
  `half twice every each always daily weekly monthly fifteen sixteen twenty thirty forty fifty sixty hundred thousand dozen
  jede jeder jedes jeden immer halb täglich fünfzehn zwanzig dreißig vierzig fünfzig sechzig hundert tausend dutzend
  chaque toujours sept huit neuf dix onze douze quinze vingt trente quarante cinquante soixante cent mille douzaine
  cada siempre seis siete ocho nueve diez once doce quince veinte treinta cuarenta cincuenta sesenta cien ciento mil docena
  ogni sempre sette otto nove dieci undici dodici quindici venti trenta quaranta cinquanta sessanta cento mila
  sete oito dez doze vinte trinta quarenta cinquenta cem elke altijd zes zeven acht negen tien elf twaalf vijftien twintig
  dertig veertig vijftig honderd duizend varje alltid hver altid sex sju åtta nio tio tolv tjugo trettio fyrtio femtio hundra
  tusen seks syv otte ni ti tolv tyve hundrede każdy zawsze sześć siedem osiem dziewięć dziesięć sto
  каждый каждую каждые шесть семь восемь девять десять пятнадцать двадцать тридцать сорок пятьдесят сто тысяч всегда
  altı yedi sekiz dokuz on yirmi otuz kırk elli yüz bin her كل اثنين ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة عشرة عشر`.split(
    /\s+/,
  ),
);

const OTHER_TIMES: ReadonlySet<string> = new Set(
  `when if before after until wenn bevor night noon midnight now nacht été automne hiver matin soir nuit primavera verano
  otoño invierno mañana noche tarde estate autunno mattina sera verão noite zomer avond`.split(
    /\s+/,
  ),
);
