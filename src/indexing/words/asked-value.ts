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

/** The value that a question asks for, if it is a number or a time. */
export type AskedValue = "number" | "time" | undefined;

export function askedValue(question: string): AskedValue {
  if (ASKS_WHEN.test(question)) return "time";
  return ASKS_NUMBER.test(question) ? "number" : undefined;
}

/**
 * Whether a question asks for a number or a time, and a text has none, in digits or in words. Such a text is about the
 * question's words, and hardly answers it:
 *
 *     how old is Priyanka      "Priyanka leads the mobile team."     lacks a number
 *     wann kommt Milena        "Milena kommt donnerstags."           has a time
 */
export function lacksValue(value: AskedValue, text: string): boolean {
  if (value === undefined || NUMBER.test(text)) return false;
  if (value === "time" && UNSPACED_TIME.test(text)) return false;
  return !wordsOf(text).some((word) => isNumber(word) || (value === "time" && isTime(word)));
}

/** At the beginning: inside a sentence, "when" seldom asks. */
const ASKS_WHEN =
  /^\P{L}*(?:(?:since|until|till|by|at|on|in|ab|seit|bis|depuis|desde|hasta|da|fino a|até|sinds|tot|od|do|с|до) )?(?:when(?! i\b)|(?:what|which) (?:time|day|date|week|month|year)|wann|quand|cu[aá]ndo|quando|wanneer|när|hvornår|når|kiedy|когда)(?!\p{L})|什么时候|什麼時候|何时|[几幾][点點号號月]|[周週]几|星期[几幾]|哪(?:一)?天|いつ|何[時日月]|何曜日|언제/iu;

const ASKS_NUMBER =
  /^\P{L}*(?:how (?:many|much|old|tall|long|big|deep|far|fast|heavy|high|often)|(?:what|which|was|wie|hur|hvor|quel|quelle|qual|cu[aá]l|какой)(?!\p{L}).*(?<!\p{L})(?:number|size|age|height|weight|price|nummer|preis|numéro|taille|âge|prix|número|precio|edad|numero|prezzo|номер|цена)|wie ?(?:viele?|alt|groß|hoch|lange?|oft|schwer|weit|teuer)|combien|cu[aá]nt[oa]s?|quant[oaie]s?|hoe ?(?:veel|oud|lang|groot|vaak|zwaar|hoog)|hur (?:många|mycket|gammal|stor|länge|ofta)|hvor (?:mange|meget|gammel|stor|længe|lenge|ofte)|ile|сколько)(?!\p{L})|多少|[几幾][岁歲个個天次]|何番|いくつ|いくら|몇|얼마/iu;

/** Not one in an identifier or a checksum: "3", "4th", "1:52", "三", and not "E4021", "fx-85" or "7be41fa". */
const NUMBER =
  /(?<![A-Za-z\p{N}_-])\p{N}[\p{N}.,:/]*[A-Za-z]{0,3}(?![A-Za-z\p{N}_])|[二三四五六七八九十百千万两每毎]/u;

/** Days of the week and times of day, which have no spaces around them. */
const UNSPACED_TIME =
  /曜日|[周週][日天末]|(?:星期|礼拜|禮拜)[日天]|[上下午]午|午[前后後]|[早晚]上|今晚|清晨|傍晚|深夜|半夜|夜|朝|昼|夕方|[月年]末|요일|오전|오후|아침|점심|저녁|정오|자정/u;

/** Phrases of other languages become English words, which takes longer. */
function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(/[a-z]+/g) ?? [];
  return tokensOf(text).map(({ word }) => word);
}

/** "A" and "one" are in any text. */
function isNumber(word: string): boolean {
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

const OTHER_AMOUNTS: ReadonlySet<string> = new Set(
  `half twice every each always twenty thirty forty fifty hundred thousand jede jeder immer halb zwanzig dreißig hundert
  chaque toujours vingt trente cent mille cada siempre veinte treinta ogni sempre venti trenta elke altijd varje alltid hver
  altid każdy zawsze каждый каждую всегда`.split(/\s+/),
);

const OTHER_TIMES: ReadonlySet<string> = new Set(
  `when if before after until wenn bevor night noon midnight now nacht été automne hiver matin soir nuit primavera verano
  otoño invierno noche tarde estate autunno mattina sera verão noite zomer avond`.split(/\s+/),
);
