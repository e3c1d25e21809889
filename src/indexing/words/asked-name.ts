import { madeOnce } from "../../text/made-once.ts";
import { MONTHS, WEEKDAYS } from "../../text/time/time-words.ts";
import { wordSet } from "../../text/word-set.ts";
import { isCommonWord } from "./common-words.ts";
import { STOP_WORDS } from "./english.ts";

/** The kind of name that a question asks for. */
export type AskedName = "name" | "surname" | "person" | "thing" | undefined;

export function askedName(question: string): AskedName {
  const lower = question.toLowerCase();
  if (ASKS_SURNAME.test(lower)) return "surname";
  if (ASKS_NAME.test(lower)) return "name";
  if (ASKS_WHO.test(question)) return "person";
  return ASKS_THING.test(lower) ? "thing" : undefined;
}

/**
 * Whether a question asks for a name and a text has none beside those of the question. Such a text is about its words, and
 * hardly answers it:
 *
 *     what is Magda's surname        "Magda is late."                      lacks a name
 *     who built the shed             "The shed is full of boxes."          lacks a person
 *     which bank does Magda use      "Magda likes trains."                 lacks a thing with a name
 *
 * Texts in scripts without capitals lack none. Neither do those in German, where each noun has a capital.
 */
export function lacksName(asked: AskedName, question: string, text: string): boolean {
  if (asked === undefined || !LATIN_OR_CYRILLIC.test(text) || NAMES.test(text.toLowerCase()))
    return false;
  if (asked !== "surname" && CODE.test(text)) return false;
  const known = wordsIn(question);
  if (asked === "person" && hasPerson(question, text, known)) return false;
  if (asked === "thing" && hasThing(question, text)) return false;
  return !hasName(text, known, asked !== "surname");
}

/** The others are asked of texts in small letters, as those of `askedValue`. "Who is Magda?" asks for no name. */
const ASKS_WHO =
  /^\P{L}*(?:[Ww]ho|[Ww]hose|[Ww]hom|[Ww]er|[Ww]em|[Qq]ui|[Qq]ui[eé]n(?:es)?|[Cc]hi|[Qq]uem|[Vv]em|[Hh]vem|[Kk]to|[Кк]то)(?!\p{L})(?!(?:['’]s| is| are| was| ist| est| es| è| é| är| er| jest) \p{Lu})/u;
const ASKS_NAME =
  /^\P{L}*(?:(?:what|which)(?:['’]s| is| are| was| were)(?!\p{L}).*(?<!\p{L})names?|comment s['’]appellent?|c[oó]mo se llaman?|come si chiaman?o?|como se chamam?|hoe heet|vad heter|hva heter|hvad hedder|как зовут|jak się nazywa)(?!\p{L})/u;
const ASKS_SURNAME =
  /(?<!\p{L})(?:surname|last name|family name|maiden name|nom de famille|apellidos?|cognome|sobrenome|achternaam|efternamn|фамилия|nazwisko)(?!\p{L})/u;
/** Things that have names, or numbers. */
const ASKS_THING =
  /^\P{L}*(?:at |in |to |with |from |for )?(?:which|what) (?:airline|airport|app|bank|book|brand|browser|carrier|city|clinic|club|college|company|country|database|doctor|film|framework|gym|hospital|hotel|insurer|lawyer|movie|museum|provider|restaurant|school|shop|song|store|supplier|team|teacher|town|university|village)s?(?!\p{L})/u;

const LATIN_OR_CYRILLIC = /^[^\p{L}]*[\p{Script=Latin}\p{Script=Cyrillic}]/u;

/** Says that a name comes, or quotes one. */
const NAMES =
  /(?<!\p{L})(?:called|named|names?|nicknamed|hei(?:ß|ss)t|namens|s['’]appelle\p{L}*|se llama\p{L}*|si chiama\p{L}*|se chama\p{L}*|heet|heter|hedder|зовут|nazywa)(?!\p{L})|["“„«]/u;
/** Names in programs and of hosts: max_size, a/b.ts, lyon-2, useCache. */
const CODE = /[\p{L}\d][_/@][\p{L}\d]|\p{L}-\d|\p{L}\.\p{L}{2}|\p{Ll}\p{Lu}/u;

const WORD = /[\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*/gu;
const OF_SOMEBODY = /['’]s?$/u;

function wordsIn(text: string): readonly string[] {
  return (text.match(WORD) ?? []).map((word) => word.replace(OF_SOMEBODY, "").toLowerCase());
}

/** Whether a text has a word with a capital that is no part of the question. The first word of a sentence may have one anyway. */
function hasName(text: string, known: readonly string[], canBegin: boolean): boolean {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const lower = word.replace(OF_SOMEBODY, "").toLowerCase();
    if (!CAPITAL.test(word) || lower.length === 1 || isOfQuestion(lower, known) || isDay(lower))
      continue;
    if (!BEGINS.test(text.slice(Math.max(0, index - 3), index))) return true;
    if (canBegin && word.length === lower.length && !isUsual(lower)) return true;
  }
  return false;
}

const CAPITAL = /^\p{Lu}/u;
const BEGINS = /^\P{L}*$|[.!?:]\s+["'(]?$/u;

/** "Okafors" is "Okafor". */
function isOfQuestion(word: string, known: readonly string[]): boolean {
  return known.some((one) => one === word || `${one}s` === word || one === `${word}s`);
}

function isDay(word: string): boolean {
  return MONTHS.has(word) || WEEKDAYS.has(word) || WEEKDAYS.has(word.replace(/s$/, ""));
}

function isUsual(word: string): boolean {
  return STOP_WORDS.has(word) || isCommonWord(word);
}

/** Whether a text has the thing's own word: "school" of "which school". */
function hasThing(question: string, text: string): boolean {
  const thing = ASKS_THING.exec(question.toLowerCase())?.[0].split(" ").at(-1) ?? "";
  const beginning = thing.replace(/(?:ies|y|s)$/, "");
  return wordsIn(text).some((word) => word.startsWith(beginning));
}

function hasPerson(question: string, text: string, known: readonly string[]): boolean {
  const isEnglish = /\bwho/i.test(question);
  const isPerson = (word: string) =>
    people().has(word) || (isEnglish && OF_PEOPLE.test(word) && !isUsual(word) && !isDay(word));
  const others = wordsIn(text).filter((word) => !known.includes(word));
  return (
    (isEnglish && /\bI\b/.test(text)) ||
    others.some(isPerson) ||
    namesIn(question).some((name) => text.includes(name))
  );
}

/** Words with a capital inside a question. They may be of people. */
function namesIn(question: string): readonly string[] {
  const words = question.match(WORD) ?? [];
  return words.slice(1).filter((word) => CAPITAL.test(word));
}

/** Endings of what people are by their work, in English. */
const OF_PEOPLE = /.{3}(?:er|or|ist|ian|man|men|woman|women|eur)s?$/u;

/** Whether a word stands for a person, such as "sister", whose name may be said instead. */
export function isPerson(word: string): boolean {
  return people().has(word);
}

const people = madeOnce<ReadonlySet<string>>(() =>
  wordSet(`me my we us our he him his she her they them their nobody everybody everyone somebody someone anyone people team
      staff family mum mom mother dad father parents sister brother son daughter wife husband uncle aunt cousin
      grandma granny grandpa grandmother grandfather niece nephew child children kids twins friend colleague boss chef
      nurse student client tenant landlady police company department support dog cat chefin hund katze équipe chien chat equipo perro gato squadra cane gatto ich mir mich wir uns mein meine unser
      unsere er ihn sie ihr je moi nous mon mes notre elle ils elles yo nosotros él ella io noi mio mia lui lei eu nós
      meu minha ik wij we mijn ons hij zij jag vi vår han hon jeg hun vår mama papa oma opa maman mamá papá я мы мой
      моя мне нас он она они мама папа бабушка дедушка брат сестра my mój moja ona babcia dziadek`),
);
