import { FORGOTTEN } from "../core/message.ts";
import { asciiSet, CharacterKinds, sizeAt } from "../text/character-kinds.ts";
import {
  isNumber,
  isSame,
  NumberRuns,
  placesOfNumbers,
  WordNumbers,
} from "../text/word-numbers.ts";
import { encodedParts, unescaped } from "./encoded-copies.ts";

/** This many words in a row count as a copy of a part, for example in a summary. */
const PART_WORDS = 8;

/** Encodings within each other, such as Base64 of Base64. */
const ENCODINGS_MAX = 2;

/**
 * Finds and removes forgotten texts in other texts. Line breaks, punctuation, capitals and JSON escapes make
 * no difference. A copy in Base64, as numbers of bytes, or with the escapes of addresses, JSON or HTML is a copy.
 *
 * A text that many people say ("yes", "go on") counts only where it stands alone.
 */
export class ForgottenPhrases {
  /** Words of the forgotten texts. Words of other texts have no number. */
  readonly #numbers = new WordNumbers();
  /** Each text as the numbers of its words. */
  readonly #texts = new Set<string>();
  /** How many words they have. */
  readonly #sizes = new Set<number>();
  /** The numbers of the texts that also count within others, with a 0 behind each. */
  readonly #words: number[] = [];
  /** How many words they have, by where they begin in `#words`. */
  readonly #wordsFrom = new Map<number, number>();
  /** Their first words, up to eight, and which texts have them. */
  readonly #beginnings: readonly Beginnings[];
  readonly #parts: NumberRuns;
  /** The names that are numbers. They may be written in groups. */
  readonly #grouped: ReadonlySet<string>;
  /** The numbers that a text begins with, and those that a part begins with. Other words are skipped. */
  readonly #first: { readonly whole: Set<number>; readonly part: Set<number> };

  /** `names` count wherever they stand, however short they are. */
  constructor(texts: readonly string[], names: readonly string[] = []) {
    for (const text of texts) {
      this.#add(text, isDistinctive);
      const small = text.toLowerCase();
      if (small !== text && wordsOf(text).length >= 3) this.#add(small, isDistinctive);
    }
    for (const name of names) this.#add(name, () => true);
    this.#grouped = new Set(names.filter(isNumber));
    const starts = [...this.#wordsFrom.keys()];
    const byLength = Map.groupBy(starts, (start) =>
      Math.min(this.#wordsFrom.get(start) ?? 0, PART_WORDS),
    );
    this.#beginnings = [...byLength].map(([length, some]) => {
      const runs = new NumberRuns(this.#words, length, some);
      return { runs, texts: Map.groupBy(some, (start) => runs.placeOf(this.#words, start)) };
    });
    this.#parts = new NumberRuns(this.#words, PART_WORDS);
    const parts = this.#words.filter((_, at) => this.#parts.placeOf(this.#words, at) >= 0);
    this.#first = {
      whole: new Set(starts.map((start) => this.#words[start] ?? 0)),
      part: new Set(parts),
    };
  }

  #add(text: string, counts: (words: readonly string[]) => boolean): void {
    const words = wordsOf(text).map(({ word }) => word);
    const numbers = words.map((word) => this.#numbers.numberOf(word, 0, word.length));
    const key = numbers.join(" ");
    if (key === "" || (this.#texts.has(key) && isDistinctive(words))) return;
    this.#texts.add(key);
    this.#sizes.add(words.length);
    if (!counts(words)) return;
    this.#wordsFrom.set(this.#words.length, words.length);
    for (const number of numbers) this.#words.push(number);
    this.#words.push(0);
  }

  /** Whether `text` has one of them as a whole. */
  isIn(text: string): boolean {
    return this.#ranges(text, "whole").length > 0;
  }

  /** `text` with the marker in their place. `"part"` also removes any eight words in a row of one. */
  removeFrom(text: string, of: "whole" | "part"): string {
    const ranges = this.#ranges(text, of);
    let rest = "";
    let end = 0;
    for (const range of ranges) {
      rest += text.slice(end, range.start) + FORGOTTEN;
      end = range.end;
    }
    return rest + text.slice(end);
  }

  /** Their ranges, in order, also where they are written as Base64, hexadecimal digits, or with escapes. */
  #ranges(text: string, of: "whole" | "part", levels = ENCODINGS_MAX): readonly Range[] {
    const ranges = [...this.#plainRanges(text, of)];
    for (const { start, end } of placesOfNumbers(text, this.#grouped)) ranges.push({ start, end });
    const small = text.toLowerCase();
    // A few letters have more characters when they are small.
    if (small !== text && small.length === text.length)
      ranges.push(...this.#plainRanges(small, of));
    const plain = unescaped(text);
    const inside = plain && levels > 0 ? this.#ranges(plain.text, of, levels - 1) : [];
    for (const { start, end } of inside) {
      ranges.push({ start: plain?.place(start, "start") ?? 0, end: plain?.place(end, "end") ?? 0 });
    }
    if (levels > 0) {
      for (const { start, end, text: said } of encodedParts(text)) {
        if (this.#ranges(said, of, levels - 1).length > 0) ranges.push({ start, end });
      }
    }
    return merged(ranges);
  }

  /** Their ranges as words, in order. Ranges that touch are merged. */
  #plainRanges(text: string, of: "whole" | "part"): readonly Range[] {
    const places: number[] = [];
    const words: number[] = [];
    eachWord(text, (start, end) => {
      words.push(this.#numbers.find(text, start, end));
      places.push(start, end);
    });
    if (this.#sizes.has(words.length) && this.#texts.has(words.join(" ")))
      return [{ start: 0, end: text.length }];
    const ranges: Range[] = [];
    for (let at = 0; at < words.length; at += 1) {
      if (words[at] === 0) continue;
      const length = Math.max(
        this.#wholeAt(words, at),
        of === "part" && this.#isPartAt(words, at) ? PART_WORDS : 0,
      );
      if (length === 0) continue;
      const start = places[2 * at] as number;
      const end = places[2 * (at + length) - 1] as number;
      const before = ranges.at(-1);
      if (before && start <= before.end) before.end = Math.max(before.end, end);
      else ranges.push({ start, end });
    }
    return ranges;
  }

  /** Number of words of the longest text that begins here; 0 when none does. */
  #wholeAt(words: readonly number[], at: number): number {
    if (!this.#first.whole.has(words[at] ?? 0)) return 0;
    let longest = 0;
    for (const { runs, texts } of this.#beginnings) {
      for (const start of texts.get(runs.placeOf(words, at)) ?? []) {
        const size = this.#wordsFrom.get(start) ?? 0;
        if (size > longest && isSame(words, at, this.#words, start, size)) longest = size;
      }
    }
    return longest;
  }

  #isPartAt(words: readonly number[], at: number): boolean {
    return this.#first.part.has(words[at] ?? 0) && this.#parts.placeOf(words, at) >= 0;
  }
}

/** First words of texts: one run for all texts that begin so. */
interface Beginnings {
  readonly runs: NumberRuns;
  /** The beginnings of the texts, by the place of their run. */
  readonly texts: ReadonlyMap<number, readonly number[]>;
}

interface Range {
  readonly start: number;
  end: number;
}

/** Ranges in order, and those that touch as one. */
function merged(ranges: Range[]): readonly Range[] {
  const all: Range[] = [];
  for (const { start, end } of ranges.sort((one, other) => one.start - other.start)) {
    const before = all.at(-1);
    if (before && start <= before.end) before.end = Math.max(before.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** Whether few people would say the same: three words or more, or a digit as in a password. */
function isDistinctive(words: readonly string[]): boolean {
  const text = words.join("");
  if (words.length < 3) return /\p{N}/u.test(text) && text.length >= 4;
  return text.length >= 8;
}

interface Word extends Range {
  readonly word: string;
}

/** The words of a text and their places. In a script without spaces each character is a word. JSON escapes are skipped. */
export function wordsOf(text: string): readonly Word[] {
  const found: Word[] = [];
  eachWord(text, (start, end) => found.push({ word: text.slice(start, end), start, end }));
  return found;
}

function eachWord(text: string, see: (start: number, end: number) => void): void {
  for (let at = 0; at < text.length; ) {
    const start = at;
    const kind = KINDS.at(text, at);
    at = kind === LONE ? at + sizeAt(text, at) : KINDS.endOf(kind, text, at);
    if (kind === BACKSLASH && IS_ESCAPE[text.charCodeAt(at)] === 1) at += 1;
    if (kind === LETTER || kind === LONE) see(start, at);
  }
}

/** The characters that follow a backslash in JSON. */
const IS_ESCAPE = asciiSet(/[bfnrt]/);
const OTHER = 1;
const BACKSLASH = 2;
const LETTER = 3;
/** A character of a script without spaces. */
const LONE = 4;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const KINDS = new CharacterKinds((character) => {
  if (character === "\\") return BACKSLASH;
  if (UNSPACED.test(character)) return LONE;
  return /[\p{L}\p{M}\p{N}]/u.test(character) ? LETTER : OTHER;
});
