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
  /** How many words they have. */
  readonly #sizes = new Set<number>();
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
    this.#sizes.add(words.length);
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
    if (this.#sizes.has(words.length) && this.#texts.has(words.join(" ")))
      return [{ start: 0, end: text.length }];
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
  const found: Word[] = [];
  for (let at = 0; at < text.length; ) {
    const start = at;
    const kind = kindAt(text, at);
    at += sizeAt(text, at);
    if (kind === BACKSLASH) {
      while (text[at] === "\\") at += 1;
      if (at < text.length && "bfnrt".includes(text.charAt(at))) at += 1;
    }
    if (kind === LETTER) {
      while (at < text.length && kindAt(text, at) === LETTER) at += sizeAt(text, at);
    }
    if (kind >= LETTER) found.push({ word: text.slice(start, at), start, end: at });
  }
  return found;
}

const OTHER = 1;
const BACKSLASH = 2;
const LETTER = 3;
/** A character of a script without spaces. */
const LONE = 4;

/** The kinds of the UTF-16 units that texts had so far; 0 for the others. */
const KINDS = new Uint8Array(0x10000);

function kindAt(text: string, at: number): number {
  if (sizeAt(text, at) > 1) return kindOf(text.slice(at, at + 2));
  const code = text.charCodeAt(at);
  if (KINDS[code] === 0) KINDS[code] = kindOf(text.charAt(at));
  return KINDS[code] as number;
}

/** 2 for a character of two UTF-16 units. */
function sizeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code < 0xdc00 && (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function kindOf(character: string): number {
  if (character === "\\") return BACKSLASH;
  if (UNSPACED.test(character)) return LONE;
  return /[\p{L}\p{M}\p{N}]/u.test(character) ? LETTER : OTHER;
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
