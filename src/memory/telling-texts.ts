import { FORGOTTEN } from "../core/forgotten.ts";

/** Words in a row that make a copy of a part, such as the beginning of a text in a summary. */
const PART_WORDS = 8;

/**
 * Texts that shall be forgotten, and what of them stands in other texts: as they
 * were said, or as JSON, or laid out in other lines.
 *
 * Texts that many have said ("yes", "go on") are copies only where they stand alone.
 */
export class TellingTexts {
  readonly #texts = new Set<string>();
  /** By their first words. */
  readonly #whole = new Map<string, (readonly string[])[]>();
  readonly #parts = new Set<string>();
  /** Words that a text or a part begins with: no other has to be looked at. */
  readonly #first = { whole: new Set<string>(), part: new Set<string>() };

  constructor(texts: readonly string[]) {
    for (const text of texts) this.#add(text);
  }

  #add(text: string): void {
    const words = wordsOf(text).map(({ word }) => word);
    const key = words.join(" ");
    if (key === "" || this.#texts.has(key)) return;
    this.#texts.add(key);
    if (!isTelling(words)) return;
    const start = partAt(words, 0);
    this.#whole.set(start, [...(this.#whole.get(start) ?? []), words]);
    this.#first.whole.add(words[0] ?? "");
    for (let at = 0; at + PART_WORDS <= words.length; at += 1) {
      this.#parts.add(partAt(words, at));
      this.#first.part.add(words[at] ?? "");
    }
  }

  /** Whether one of them stands in a text, whole. */
  isIn(text: string): boolean {
    return this.#ranges(text, "whole").length > 0;
  }

  /** The text without them. `"part"` also takes out what repeats eight words of one, or more. */
  outOf(text: string, of: "whole" | "part"): string {
    const ranges = this.#ranges(text, of);
    let rest = "";
    let end = 0;
    for (const range of ranges) {
      rest += text.slice(end, range.start) + FORGOTTEN;
      end = range.end;
    }
    return rest + text.slice(end);
  }

  /** Where they are, in order; what touches is one range. */
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

  /** How many words the longest text has that begins here; 0 when none does. */
  #wholeAt(words: readonly string[], at: number): number {
    if (!this.#first.whole.has(words[at] ?? "")) return 0;
    let longest = 0;
    for (let length = 1; length <= PART_WORDS; length += 1) {
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

/** A text of a few words says something of its own; a shorter one when it has a number, as passwords do. */
function isTelling(words: readonly string[]): boolean {
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

/** The words of a text and where they are; JSON's escapes are none, and a character of a script without spaces is one. */
function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    word,
    start: index,
    end: index + word.length,
  })).filter(({ word }) => !word.startsWith("\\"));
}

const UNSPACED = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
const WORD = new RegExp(`\\\\+[bfnrt]|[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`, "gv");
