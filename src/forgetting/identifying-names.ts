import { anchorsIn } from "../compaction/anchors.ts";
import { isFunctionWord } from "../compaction/content-words.ts";
import { groupedNumbers, isNumber, placesOfNumbers } from "../text/word-numbers.ts";
import { wordsOf } from "./forgotten-phrases.ts";

/** A name or number of a forgotten text. Another text with it may be about the forgotten one. */
export interface IdentifyingName {
  readonly text: string;
  /** Other messages that have it are reported. A path or an identifier names a thing, so it is not. */
  readonly isReported: boolean;
  /** Set when it begins a sentence: a word that is also written small is no name. */
  readonly begins?: true;
}

/** A number or a code with fewer characters is in too many texts. */
const CODE_CHARACTERS_MIN = 4;
const NAMES_MAX = 2000;
/** The most words that are searched for one by one. */
const SOUGHT_MAX = 50;
/** Longer ones are texts. */
const NAME_WORDS_MAX = 8;

/** A text with more capitals than this is German, or a heading: there a capital makes no name. */
const CAPITALS_PART_MAX = 0.2;
const WORDS_TO_JUDGE_BY = 20;

const CAPITALISED = /(?<![\p{L}\p{M}\p{N}_])\p{Lu}[\p{L}\p{M}]{2,60}/gu;

/** The end of the text before the first word of a sentence. */
const SENTENCE_BEGINS = /(?:^|[.!?:;\n*•-])["'“‘(\s]{0,7}$/u;
/** Shorter first words are "The", "And", "You". */
const BEGINNING_LETTERS_MIN = 4;

/** The names and numbers of texts: people, places, codes, paths, identifiers. */
export function identifyingNames(texts: readonly string[]): readonly IdentifyingName[] {
  const names = new Map<string, IdentifyingName>();
  for (const text of texts) {
    for (const name of [...codesIn(text), ...capitalisedIn(text)]) {
      if (names.size < NAMES_MAX && !names.has(name.text)) names.set(name.text, name);
    }
  }
  return [...names.values()];
}

function* codesIn(text: string): Generator<IdentifyingName> {
  for (const { text: code } of anchorsIn(text)) {
    const length = wordsOf(code).reduce((sum, { word }) => sum + word.length, 0);
    if (length < CODE_CHARACTERS_MIN || wordsOf(code).length > NAME_WORDS_MAX) continue;
    yield { text: code, isReported: /[\p{N}@]/u.test(code) };
  }
  for (const number of groupedNumbers(text)) yield { text: number, isReported: true };
}

function* capitalisedIn(text: string): Generator<IdentifyingName> {
  const found = [...text.matchAll(CAPITALISED)];
  const words = wordsOf(text).length;
  if (words >= WORDS_TO_JUDGE_BY && found.length > words * CAPITALS_PART_MAX) return;
  for (const { 0: name, index } of found) {
    const begins = SENTENCE_BEGINS.test(text.slice(Math.max(0, index - 8), index));
    if (isFunctionWord(name.toLowerCase()) || (begins && name.length < BEGINNING_LETTERS_MIN))
      continue;
    yield { text: name, isReported: true, ...(begins ? { begins } : {}) };
  }
}

/** Finds names in texts, as whole words. Punctuation makes no difference, and neither do the groups of a number. */
export class NameFinder {
  /** The names by their first words. */
  readonly #names = new Map<
    string,
    { readonly name: string; readonly words: readonly string[] }[]
  >();

  readonly #numbers: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#numbers = new Set(names.filter(isNumber));
    for (const name of names) {
      const words = wordsOf(name).map(({ word }) => word);
      const first = words[0];
      if (first === undefined) continue;
      this.#names.set(first, [...(this.#names.get(first) ?? []), { name, words }]);
    }
  }

  namesIn(text: string): ReadonlySet<string> {
    const found = new Set<string>();
    for (const { number } of placesOfNumbers(text, this.#numbers)) found.add(number);
    if (!this.#mayHave(text)) return found;
    const words = wordsOf(text).map(({ word }) => word);
    for (const [at, word] of words.entries()) {
      for (const each of this.#names.get(word) ?? []) {
        if (each.words.every((part, index) => words[at + index] === part)) found.add(each.name);
      }
    }
    return found;
  }

  /** Most texts have no name at all. A search for a few words is quicker than reading the text. */
  #mayHave(text: string): boolean {
    if (this.#names.size > SOUGHT_MAX) return true;
    return [...this.#names.keys()].some((first) => text.includes(first));
  }
}
