import { FORGOTTEN } from "../core/message.ts";

/** This many words in a row count as a copy of a part, for example in a summary. */
const PART_WORDS = 8;

/**
 * Finds and removes forgotten texts in other texts. Line breaks, punctuation and JSON escapes make
 * no difference.
 *
 * A text that many people say ("yes", "go on") counts only where it stands alone.
 */
export class ForgottenPhrases {
  readonly #texts = new Set<string>();
  /** The numbers of first words that texts are found by: eight, or all of a shorter text. */
  readonly #lengths = new Set<number>();
  /** By their first words. */
  readonly #whole = new Map<string, (readonly string[])[]>();
  readonly #parts = new Set<string>();
  /** First words of the texts and parts. A position with another word is skipped. */
  readonly #first = { whole: new Set<string>(), part: new Set<string>() };

  /** `names` count wherever they stand, however short they are. */
  constructor(texts: readonly string[], names: readonly string[] = []) {
    for (const text of texts) this.#add(text, isDistinctive);
    for (const name of names) this.#add(name, () => true);
  }

  #add(text: string, counts: (words: readonly string[]) => boolean): void {
    const words = wordsOf(text).map(({ word }) => word);
    const key = words.join(" ");
    if (key === "" || (this.#texts.has(key) && isDistinctive(words))) return;
    this.#texts.add(key);
    if (!counts(words)) return;
    const start = partAt(words, 0);
    this.#whole.set(start, [...(this.#whole.get(start) ?? []), words]);
    this.#first.whole.add(words[0] ?? "");
    this.#lengths.add(Math.min(words.length, PART_WORDS));
    for (let at = 0; at + PART_WORDS <= words.length; at += 1) {
      this.#parts.add(partAt(words, at));
      this.#first.part.add(words[at] ?? "");
    }
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

  /** Where they are, in order. Ranges that touch are merged. */
  #ranges(text: string, of: "whole" | "part"): readonly Range[] {
    const found = wordsOf(text);
    const words = found.map(({ word }) => word);
    if (this.#texts.has(words.join(" "))) return [{ start: 0, end: text.length }];
    const ranges: Range[] = [];
    for (let at = 0; at < words.length; at += 1) {
      const length = Math.max(
        this.#wholeAt(words, at),
        of === "part" && this.#isPartAt(words, at) ? PART_WORDS : 0,
      );
      const [first, last] = [found[at], found[at + length - 1]];
      if (length === 0 || !first || !last) continue;
      const before = ranges.at(-1);
      if (before && first.start <= before.end) before.end = Math.max(before.end, last.end);
      else ranges.push({ start: first.start, end: last.end });
    }
    return ranges;
  }

  /** Number of words of the longest text that begins here; 0 when none does. */
  #wholeAt(words: readonly string[], at: number): number {
    if (!this.#first.whole.has(words[at] ?? "")) return 0;
    let longest = 0;
    for (const length of this.#lengths) {
      for (const text of this.#whole.get(words.slice(at, at + length).join(" ")) ?? []) {
        if (text.length <= longest || at + text.length > words.length) continue;
        if (text.every((word, index) => words[at + index] === word)) longest = text.length;
      }
    }
    return longest;
  }

  #isPartAt(words: readonly string[], at: number): boolean {
    return this.#first.part.has(words[at] ?? "") && this.#parts.has(partAt(words, at));
  }
}

interface Range {
  readonly start: number;
  end: number;
}

/** Whether few people would say the same: three words or more, or a digit as in a password. */
function isDistinctive(words: readonly string[]): boolean {
  const text = words.join("");
  if (words.length < 3) return /\p{N}/u.test(text) && text.length >= 4;
  return text.length >= 8;
}

function partAt(words: readonly string[], at: number): string {
  return words.slice(at, at + PART_WORDS).join(" ");
}

interface Word extends Range {
  readonly word: string;
}

/** The words of a text and their places. In a script without spaces each character is a word. JSON escapes are skipped. */
export function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    word,
    start: index,
    end: index + word.length,
  })).filter(({ word }) => !word.startsWith("\\"));
}

const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
const WORD = new RegExp(
  `(?<!\\\\)\\\\+[bfnrt]|[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`,
  "gv",
);
