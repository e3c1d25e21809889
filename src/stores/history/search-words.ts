import { STOP_WORDS } from "../../indexing/words/english.ts";
import { hashWith } from "../../indexing/words/vocabulary.ts";
import {
  CharacterKinds,
  isAscii,
  NOTHING,
  normalForm,
  sizeAt,
  textOf,
  unicodePattern,
} from "../../text/character-kinds.ts";
import { NAME_LENGTH_MAX, plainWords, unitsFor, WordSet } from "./plain-words.ts";

/** A word to search for. With `whole: false` it is the beginning of a word. */
export interface SearchWord {
  readonly word: string;
  readonly whole: boolean;
}

/** More words make a search slower, but not better. */
const WORDS_MAX = 64;

/** The words to search for; empty when the query has none. */
export function searchWords(query: string): SearchWord[] {
  const normal = normalForm(query, "NFKC");
  const spaced = lettersIn(normal.replace(UNSPACED(normal), " ").toLowerCase(), false);
  const unspaced = (normal.match(UNSPACED(normal)) ?? []).flatMap((run) =>
    [...run].length === 1 ? [{ word: run, whole: false }] : pairs(run).slice(0, -1).map(wholeWord),
  );
  const meaningful = spaced.filter((word) => !STOP_WORDS.has(word));
  const useful = meaningful.length + unspaced.length > 0 ? meaningful : spaced;
  const byWord = [...useful.map(wholeWord), ...unspaced].map((item) => [item.word, item] as const);
  return [...new Map(byWord).values()].slice(0, WORDS_MAX);
}

/** All words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  const plain = plainWords(text, false);
  if (plain !== undefined) return plain === "" ? [] : plain.toLowerCase().split(" ");
  const normal = normalized(text);
  if (!normal.includes("Σ")) return lettersIn(normal.toLowerCase(), true);
  // The lower case of this letter depends on what is beside it, so the pairs are made first.
  return lettersIn(joinedWords(normal, { of: "everything", pairs: true }).toLowerCase(), false);
}

/**
 * The text in a form for an index that splits at everything except letters, marks and digits.
 *
 *     userName    userName user Name
 *     東京都に      東京 京都 都に に
 *
 * In a script without spaces each pair of characters is a word, and the last character is one too. So
 * a search finds a single character as the beginning of a word.
 *
 * Stores index these words. After a change here they must index the log again.
 */
export function spacedText(text: string): string {
  return plainWords(text, false) ?? joinedWords(normalized(text), { of: "signs", pairs: true });
}

/** Long tool output repeats its words, and an index takes as long for each. */
const LONG_TEXT = 4000;

/** The text that stores index: `spacedText`, and in a long one each word once. */
export function indexedText(text: string): string {
  if (text.length <= LONG_TEXT) return spacedText(text);
  const plain = plainWords(text, true);
  return plain ?? joinedWords(normalized(text), { of: "signs", pairs: true, once: true });
}

function normalized(text: string): string {
  return normalForm(withNameParts(text), "NFKC");
}

function pairs(run: string): string[] {
  const characters = [...run];
  return characters.map((character, index) => character + (characters[index + 1] ?? ""));
}

function wholeWord(word: string): SearchWord {
  return { word, whole: true };
}

interface JoinedWords {
  /** The characters of words. One space takes the place of everything else. */
  readonly of: keyof typeof LEAST;
  /** Makes words of the pairs of characters in scripts without spaces: "東京都" becomes "東京 京都 都". */
  readonly pairs: boolean;
  /** Keeps only the first of equal words. */
  readonly once?: boolean;
}

/** The words of a text in any script, with one space between them. */
function joinedWords(text: string, { of, pairs, once = false }: JoinedWords): string {
  const words = unitsFor(GROWTH_MAX * text.length + 1);
  const known = once ? new WordSet(words) : undefined;
  let length = 0;
  eachWord(text, LEAST[of], pairs, (from, to) => {
    const start = length;
    let hash = 0;
    for (let at = from; at < to; at += 1) {
      const unit = text.charCodeAt(at);
      words[length++] = unit;
      hash = hashWith(hash, unit);
    }
    if (known?.has(start, length, hash)) length = start;
    else words[length++] = SPACE_UNIT;
  });
  return textOf(words, Math.max(0, length - 1));
}

/** The letters, marks and digits of a text, by words. With `pairs`, those of characters in scripts without spaces. */
function lettersIn(text: string, pairs: boolean): string[] {
  const words: string[] = [];
  eachWord(text, LETTER, pairs, (from, to) => words.push(text.slice(from, to)));
  return words;
}

/** Calls `see` for each word of characters that have at least a kind. Pairs overlap. */
function eachWord(
  text: string,
  least: number,
  pairs: boolean,
  see: (from: number, to: number) => void,
): void {
  const kinds = KINDS.of(text);
  for (let at = 0; at < kinds.length; ) {
    const start = at;
    let kind = kinds[at] as number;
    if (kind < least) at += 1;
    else if (pairs && kind === UNSPACED_KIND) {
      at += sizeAt(text, at);
      const hasSecond = at < kinds.length && kinds[at] === UNSPACED_KIND;
      see(start, hasSecond ? at + sizeAt(text, at) : at);
    } else {
      while (kind >= least && !(pairs && kind === UNSPACED_KIND)) {
        at += 1;
        kind = at < kinds.length ? (kinds[at] as number) : END;
      }
      see(start, at);
    }
  }
}

/** The text with the parts of each name behind it: "userName" becomes "userName user Name". */
function withNameParts(text: string): string {
  const kinds = KINDS.of(text);
  let hump = nextHump(kinds, 1);
  if (hump === kinds.length) return text;
  const units = unitsFor(GROWTH_MAX * text.length + 1);
  let length = 0;
  let from = 0;
  const copyUntil = (end: number) => {
    for (; from < end; from += 1) units[length++] = text.charCodeAt(from);
  };
  while (hump < kinds.length) {
    let start = hump;
    while (start > 0 && (kinds[start - 1] as number) >= LETTER) start -= 1;
    let end = hump;
    while (end < kinds.length && (kinds[end] as number) >= LETTER) end += 1;
    copyUntil(end);
    for (from = end - start <= NAME_LENGTH_MAX ? start : end; from < end; ) {
      units[length++] = SPACE_UNIT;
      copyUntil(Math.min(end, nextHump(kinds, from + 1)));
    }
    hump = nextHump(kinds, end);
  }
  copyUntil(kinds.length);
  return textOf(units, length);
}

/** The start of the next part of a name, as at the N of "userName"; the end when there is none. */
function nextHump(kinds: Uint8Array, from: number): number {
  let at = from;
  while (at < kinds.length && (kinds[at] !== CAPITAL || kinds[at - 1] !== SMALL)) at += 1;
  return at;
}

/** "aB" grows to "aB a B", and "東京" to "東京 京 ". */
const GROWTH_MAX = 3;

const SPACE_UNIT = 32;

/** Letters, marks and digits of scripts without spaces. */
const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]&&[\p{L}\p{M}\p{N}]]+`,
  flags: "gv",
});

/** The kind of a character. The numbers are in order: from `LETTER` on it is a letter, a mark or a digit. */
const END = 0;
const SPACE = 1;
const SIGN = 2;
const LETTER = 3;
const SMALL = 4;
const CAPITAL = 5;
const UNSPACED_KIND = 6;
const KINDS = new CharacterKinds((character) => {
  if (/\s/.test(character)) return SPACE;
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/[0-9]/.test(character)) return LETTER;
  if (isAscii(character) || !/[\p{L}\p{M}\p{N}\p{Co}]/u.test(character)) return SIGN;
  if (character.search(UNSPACED(character)) === 0) return UNSPACED_KIND;
  if (/\p{Ll}/u.test(character)) return SMALL;
  return /\p{Lu}/u.test(character) ? CAPITAL : LETTER;
});

/** The least kind of a character that is part of a word. */
const LEAST = { everything: SPACE, signs: SIGN } as const;
