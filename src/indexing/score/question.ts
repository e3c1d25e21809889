import { CharacterKinds, isAscii, sizeIn } from "../../text/character-kinds.ts";
import { madeOnce } from "../../text/made-once.ts";
import { readClock, type Span } from "../../text/time/calendar.ts";
import { timeInWords } from "../../text/time/time-in-words.ts";
import { STOP_WORDS } from "../words/english.ts";
import { functionWordsIn, languagesByLetters, withoutPhrases } from "../words/function-words.ts";
import { monthIn, type NamedTime, namedTime } from "../words/named-time.ts";
import { otherSpellings } from "../words/other-spellings.ts";
import { withoutInvisible } from "../words/unseen.ts";
import { newRoom, unitsOf } from "../words/vocabulary.ts";
import { askedWords, isBeginning, stem } from "../words/words.ts";

/** The words, names and times of a query. */
export interface Question {
  readonly text: string;
  /**
   * Its words without the stop words of its language, each once, at most 64. If it has no others, those that are
   * written like a name:
   *
   *     what is it         no words
   *     was ist das        no words
   *     The Who            who
   *     IT                 it
   *     "to be or not"     to be or not
   */
  readonly words: readonly string[];
  /** The same words by their forms in the index. */
  readonly forms: ReadonlyMap<string, string>;
  /** Other forms of some of the words, for letters that are written in two ways. */
  readonly otherForms: ReadonlyMap<string, readonly string[]>;
  /** All its words are stop words, whatever time they name. Only its own text answers it. */
  readonly saysNothing: boolean;
  /** It has neither words nor letters of another language. */
  readonly isEnglish: boolean;
  /**
   * Languages that it may be in, other than English; `undefined` for words alone, which are of any language that the
   * store has.
   */
  readonly languages: readonly string[] | undefined;
  /** Words that are written like names: with a capital inside a sentence. */
  readonly names: ReadonlySet<string>;
  /** Whether it asks for a time. Texts that name one are likelier answers. */
  readonly asksWhen: boolean;
  /** Whether it asks for the assistant's words. Otherwise those are less likely answers. */
  readonly asksForAnswers: boolean;
  /** The time that it names. */
  readonly time: NamedTime | undefined;
  /** The same, where it is known when the question was asked; the likelier one first. */
  readonly spans: readonly Span[];
  /** The time is said by its distance from now, as "yesterday" is. An entry from that time hardly says it. */
  readonly isRelative: boolean;
  /**
   * It has a time and asks for nothing more than what was said then. Entries that have its words are results too: after
   * those of that time, and before them when the name of a time is the whole query:
   *
   *     what did I say last Tuesday    "first"   no words
   *     what did I say on Tuesday      "first"   tuesday
   *     Friday                         "last"    friday
   */
  readonly listsTime: "first" | "last" | undefined;
}

/** More words make a search slower, and no better. */
const WORDS_MAX = 64;

/** The last question: a search reads its own several times. */
let last:
  | { readonly query: string; readonly at: string | undefined; readonly question: Question }
  | undefined;

/** `at` is when and where it was asked. */
export function readQuestion(query: string, at?: string): Question {
  if (last?.query !== query || last.at !== at) last = { query, at, question: read(query, at) };
  return last.question;
}

function read(asked: string, at: string | undefined): Question {
  const query = withoutInvisible(asked);
  const clock = at === undefined ? undefined : readClock(at);
  const said = clock && timeInWords(query, clock);
  const timeWords = new Set(said ? askedWords(query, [said.start, said.end]) : []);
  const all = askedWords(withoutPhrases(query));
  const month = monthIn(query);
  const foreign = functionWordsIn(all, FOREIGN_LETTER.test(query));
  const isStopWord = (word: string) =>
    STOP_WORDS.has(word) || foreign.words.has(word) || word === LONG_VOWEL;
  const isMeant = (word: string) => !isStopWord(word) || (word === "may" && month === "may");
  const meaningful: string[] = [];
  for (const word of all) {
    if (!isMeant(word)) continue;
    // An entry of that day has its time. Its text hardly says "last Tuesday".
    if (said?.isRelative && timeWords.has(word)) continue;
    if (meaningful.push(word) === WORDS_MAX) break;
  }
  const names = askedWords(query, capitalised(query));
  const isOnlyTime =
    said !== undefined &&
    meaningful.every((word) => timeWords.has(word) || sayingWords().has(stem(word)));
  const isSaid = meaningful.length > 0 || all.length === 0;
  const words = isOnlyTime
    ? meaningful.filter((word) => timeWords.has(word))
    : isSaid
      ? meaningful
      : named(query, names);
  return {
    text: query,
    words,
    forms: new Map(words.map((word) => [formOf(word), word])),
    otherForms: new Map(
      [...otherSpellings(query)]
        .filter(([word]) => words.includes(word))
        .map(([word, others]) => [word, others.map(formOf)]),
    ),
    saysNothing:
      !all.some(isMeant) && named(query, names).length === 0 && askedWords(query).length > 0,
    isEnglish: foreign.words.size === 0 && words.every(isAscii),
    languages: languagesOf(query, all, foreign.language),
    names: new Set(names),
    asksWhen: WHEN.test(query),
    asksForAnswers: ANSWERS.test(query),
    time: clock ? said && isIn(said.spans) : namedTime(query, month),
    spans: said?.spans ?? [],
    isRelative: said?.isRelative ?? false,
    listsTime: isOnlyTime
      ? all.every((word) => words.includes(word))
        ? "last"
        : "first"
      : undefined,
  };
}

/** A function word tells more than a letter: "wo" is German, and "Málaga" is in texts of any language. */
function languagesOf(
  query: string,
  all: readonly string[],
  told: string | undefined,
): readonly string[] | undefined {
  if (told !== undefined) return NAMED_TOGETHER[told] ?? [told];
  const english = all.filter((word) => STOP_WORDS.has(word)).length;
  const byLetters = english > 1 ? [] : languagesByLetters(query);
  if (byLetters.length > 0)
    return byLetters.flatMap((language) => NAMED_TOGETHER[language] ?? [language]);
  return english > 0 ? [] : undefined;
}

/** The sign of a long vowel in Japanese is read as a word of its own, and any text has it. */
const LONG_VOWEL = "ー";

const FOREIGN_LETTER = /[^\P{L}A-Za-z]/u;

/** Languages whose function words are the same. */
const NAMED_TOGETHER: Readonly<Record<string, readonly string[]>> = {
  danish: ["danish", "norwegian"],
};

function isIn(spans: readonly Span[]): NamedTime {
  return (time) => spans.some(({ from, to }) => from <= time && time < to);
}

/** Words of questions for whatever was said, by their stems. */
const sayingWords = madeOnce<ReadonlySet<string>>(
  () =>
    new Set(
      `say tell talk speak discuss mention write note ask happen do plan decide work chat conversation message anything
  everything something thing session sagen gesagt besprochen geredet erzählt erzahlt geschrieben notiert passiert
  gemacht los entschieden gefragt passe fait dit parle note decide faisons hicimos hice dije dijimos paso hablamos
  ocurrio fatto detto successo parlato deciso fizemos disse aconteceu falamos gedaan gezegd besproken gebeurde gebeurd
  gjorde sade hande sagde skete skjedde сделали делали говорили сказал сказали произошло обсуждали случилось записали
  notiere anote apunte escribi annotato scritto anotei escrevi skrev antecknade genoteerd geschreven opgeschreven записал
  записала писал zanotowalem zanotowalam zapisalem zapisalam pisalem mowilem mowilam yazdım soyledim konustuk yaptım`
        .split(/\s+/)
        .map(stem),
    ),
);

/** Whether a question has stop words and says nothing more. `at` is as in `readQuestion`: a question is read once. */
export function saysNothing(query: string, at?: string): boolean {
  return readQuestion(query, at).saysNothing;
}

/** Whether all words of a text are stop words, also those that are meant as a name. */
export function hasOnlyStopWords(text: string): boolean {
  const all = askedWords(withoutPhrases(text));
  const foreign = functionWordsIn(all);
  const areStopWords = all.every((word) => STOP_WORDS.has(word) || foreign.words.has(word));
  return areStopWords && askedWords(text).length > 0;
}

/** All forms to look up for a question. */
export function formsOf({ forms, otherForms }: Question): string[] {
  return [...forms.keys(), ...[...otherForms.values()].flat()];
}

/** The stop words that a question of stop words means as a name: with a capital inside, in capitals, or in quotes. */
function named(query: string, withCapital: readonly string[]): string[] {
  const bounds = [...boundsOf(query, IN_CAPITALS), ...boundsOf(query, IN_QUOTES)];
  const meant = [...withCapital.filter((word) => word.length > 1), ...askedWords(query, bounds)];
  return [...new Set(meant)].slice(0, WORDS_MAX);
}

/** Words that are written in capitals alone. */
export function capitalsIn(query: string): string[] {
  return askedWords(query, boundsOf(query, /(?<![\p{L}\p{N}])\p{Lu}{2,100}(?![\p{L}\p{N}])/gu));
}

const IN_CAPITALS =
  /(?<![\p{L}\p{N}])(?!(?:OK|OKAY|YES|NO|PLEASE)\b)\p{Lu}{2,20}(?![\p{L}\p{N}])/gu;
const IN_QUOTES = /(?<=["“„«])[^"“”„«»]{1,200}(?=["”»])/g;

function boundsOf(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].flatMap(({ index, 0: found }) => [
    index,
    index + found.length,
  ]);
}

/** The form of a word in the index; `東*` is all words that begin so. */
export function formOf(word: string): string {
  return isBeginning(word) ? `${word}*` : stem(word);
}

/**
 * Where the words with a capital begin and end that do not begin a sentence: `Jo's` and `York` of
 * "Did Jo's cat go to York? Yes". A quote or a bracket may stand before the capital.
 */
function capitalised(text: string): number[] {
  const units = unitsOf(text, ROOM);
  const found: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if ((KINDS.in(units, at) & CAPITAL) === 0 || !isInside(units, at)) continue;
    const start = at;
    do at += sizeIn(units, at);
    while (at < text.length && (KINDS.in(units, at) & IN_WORD) !== 0);
    found.push(start, at);
  }
  return found;
}

const ROOM = newRoom();

/** Whether a space and no end of a sentence is before a place, or before the quote in front of it. */
function isInside(units: Uint16Array, start: number): boolean {
  let at = start - 1;
  if (at >= 0 && (KINDS.in(units, at) & QUOTE) !== 0) at -= 1;
  if (at < 0 || (KINDS.in(units, at) & SPACE) === 0) return false;
  while (at >= 0 && (KINDS.in(units, at) & SPACE) !== 0) at -= 1;
  return at >= 0 && (KINDS.in(units, at) & STOP) === 0;
}

/** A character has one or more of these kinds. */
const SPACE = 1;
const STOP = 2;
const QUOTE = 4;
const CAPITAL = 8;
const IN_WORD = 16;
const OTHER = 32;
const KINDS = new CharacterKinds((character) => {
  let kind = OTHER;
  if (/\s/.test(character)) kind |= SPACE;
  if (/[.!?。！？]/.test(character)) kind |= STOP;
  if (/["'“‘(]/.test(character)) kind |= QUOTE;
  if (/\p{Lu}/u.test(character)) kind |= CAPITAL;
  if (/[\p{L}\p{N}\p{M}'’._-]/u.test(character)) kind |= IN_WORD;
  return kind;
});

const WHEN =
  /^\W*(when|since when|how long|how (many|much) (hours|days|weeks|months|years|time)|(in |on |at )?(what|which) (date|day|week|month|year|season|time))\b/i;

const ANSWERS =
  /\b(you|the assistant|your) (\w+ )?(said|say|told|tell|suggest|recommend|advise|propose|mention|explain|list|g[ia]ve|write|wrote|recommendation|suggestion|advice|answer)/i;
