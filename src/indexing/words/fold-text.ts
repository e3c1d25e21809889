import {
  CharacterKinds,
  isAscii,
  normalForm,
  sizeAt,
  sizeIn,
  textOf,
  unicodePattern,
} from "../../text/character-kinds.ts";
import { baseIn } from "./english.ts";
import { withoutUnseen } from "./unseen.ts";
import { hashOf, newRoom, unitsOf, type Vocabulary } from "./vocabulary.ts";
import {
  BETWEEN_PIECES,
  COMMA_UNIT,
  SCRIPTS,
  SIGNS,
  SPACED,
  scriptEnd,
  UNSPACED,
} from "./word-breaks.ts";

/**
 * The form in which texts are compared: in lower case, with plain characters in place of
 * compatibility characters, and without marks that people leave out when they type or do not see (accents,
 * Arabic and Hebrew vowels, soft hyphens).
 */
export function foldText(text: string): string {
  const lower = text.toLowerCase();
  if (isAscii(text)) return lower;
  let folded = "";
  let start = 0;
  for (let at = 0; at < lower.length; at += 1) {
    const code = lower.charCodeAt(at);
    if (code < 128 || staysFolded(code)) continue;
    if (!isFoldedAlone(code)) return foldTogether(text);
    FOLDED[code] ??= foldTogether(lower.charAt(at));
    if (start < at) folded += lower.slice(start, at);
    folded += FOLDED[code];
    start = at + 1;
  }
  return folded + lower.slice(start);
}

/** The folded forms of single characters, by their codes. */
const FOLDED: string[] = new Array(0x530);

/** Whether a letter becomes the same, whatever stands beside it: of the Latin and the Cyrillic ones. */
function isFoldedAlone(code: number): boolean {
  return code < 0x250 || (code >= 0x400 && code < 0x530 && !(code >= 0x483 && code <= 0x489));
}

/** Whether a character is its own folded form: an ideograph, a kana, or a syllable of Hangul. */
function staysFolded(code: number): boolean {
  if (code < 0x3041) return false;
  if (code < 0x4e00) return code <= 0x3096 || (code >= 0x30a1 && code <= 0x30fa);
  return code <= 0x9fff || (code >= 0xac00 && code <= 0xd7a3);
}

function foldTogether(text: string): string {
  // NFKD takes Hangul and kana apart. NFKC puts them together again.
  const apart = withoutUnseen(normalForm(text.toLowerCase(), "NFKD")).replaceAll("\u2010", "-");
  return normalForm(apart, "NFKC").toLowerCase();
}

/**
 * The folded form of a letter or digit that is one UTF-16 unit before and after, whatever stands beside it.
 * 0 for other units: fold them together with their neighbours.
 */
export function foldUnit(unit: number): number {
  const known = FOLDED_UNITS[unit] as number;
  if (known !== UNKNOWN) return known;
  const folded = foldedAlone(unit);
  FOLDED_UNITS[unit] = folded;
  return folded;
}

/** A lone half of a character, which nothing folds to. */
const UNKNOWN = 0xdc00;
const FOLDED_UNITS = new Uint16Array(0x10000).fill(UNKNOWN);

function foldedAlone(unit: number): number {
  const character = String.fromCharCode(unit);
  const folded = foldTogether(character);
  const isAlone =
    ONE_LETTER.test(character) && ONE_LETTER.test(folded) && !MEETS_OTHERS.test(character + folded);
  return isAlone && folded.length === 1 ? folded.charCodeAt(0) : 0;
}

const ONE_LETTER = /^[\p{L}\p{N}]$/u;
/** Jamo become syllables together. The last sigma of a word has another form. */
const MEETS_OTHERS = /[\u1100-\u11ffΣ]/;

/** Longer words are cut. They are checksums and the like, whose beginnings differ. */
const WORD_LENGTH_MAX = 100;

/** Letters that are folded one by one: further ones do not change those that are kept. */
const BEGINNING_UNITS = WORD_LENGTH_MAX + 1;

/** Added to twice a word's number when a question leaves the word out. */
export const LEFT_OUT = 1;

/** Folds parts of texts into words. It gives twice the number of each word, and `LEFT_OUT` where that applies. */
export class FoldedParts {
  /** The folded units of a part. */
  #folded = new Uint16Array(256);
  readonly #room = newRoom();
  readonly #vocabulary: Vocabulary;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /** The number of a whole compound, folded. */
  whole(units: Uint16Array, start: number, end: number): number {
    const length = this.#fold(units, start, end, BEGINNING_UNITS);
    if (length >= 0) return this.#numberAt(this.#folded, 0, Math.min(length, WORD_LENGTH_MAX));
    return this.#vocabulary.numberOf(
      foldedBeginning(textOf(units.subarray(start, end), end - start)),
    );
  }

  /** The words of a part: the pairs of characters of scripts without spaces, and then the others. */
  wordsOf(units: Uint16Array, start: number, end: number, isForeign: boolean): number[] {
    const most = isForeign ? Number.POSITIVE_INFINITY : BEGINNING_UNITS;
    const simple = this.#fold(units, start, end, most);
    if (simple > 0 && !isForeign) return [this.#spacedWord(this.#folded, 0, simple)];
    if (simple >= 0) return this.#split(this.#folded, simple);
    const text = withoutCommas(textOf(units.subarray(start, end), end - start));
    const letters = lettersOf(text, " ");
    return this.#split(unitsOf(letters, this.#room), letters.length);
  }

  #split(units: Uint16Array, length: number): number[] {
    const list: number[] = [];
    const spaced: number[] = [];
    for (let start = 0, end = 0; start < length; start = end) {
      const script = SCRIPTS.in(units, start);
      end = scriptEnd(units, start, length, script);
      if (script === UNSPACED) this.#addPairs(units, start, end, list);
      else if (script === SPACED) spaced.push(this.#spacedWord(units, start, end));
    }
    for (const word of spaced) list.push(word);
    return list;
  }

  #spacedWord(units: Uint16Array, start: number, end: number): number {
    return 2 * baseIn(this.#vocabulary, this.#cut(units, start, end));
  }

  #addPairs(units: Uint16Array, start: number, end: number, list: number[]): void {
    let before = start;
    for (let at = start + sizeIn(units, start); at < end; ) {
      const next = at + sizeIn(units, at);
      list.push(2 * this.#numberAt(units, before, next));
      before = at;
      at = next;
    }
    list.push(2 * this.#numberAt(units, before, end) + (before === start ? 0 : LEFT_OUT));
  }

  /** The first characters of a word, up to the maximum of the index. */
  #cut(units: Uint16Array, start: number, end: number): number {
    if (end - start <= WORD_LENGTH_MAX) return this.#numberAt(units, start, end);
    let to = start;
    for (let count = 0; count < WORD_LENGTH_MAX && to < end; count += 1) to += sizeIn(units, to);
    return this.#numberAt(units, start, to);
  }

  #numberAt(units: Uint16Array, start: number, end: number): number {
    return this.#vocabulary.numberAt(units, start, end, hashOf(units, start, end));
  }

  /**
   * Folds units one by one into `#folded`, without commas, up to `most` of them. Returns how many there are, or -1
   * if they can only be folded together.
   */
  #fold(units: Uint16Array, start: number, end: number, most: number): number {
    if (end - start >= this.#folded.length) this.#folded = new Uint16Array(2 * (end - start));
    const folded = this.#folded;
    let length = 0;
    for (let at = start; at < end && length < most; at += 1) {
      const unit = units[at] as number;
      if (unit === COMMA_UNIT) continue;
      const own = SIGNS[unit] !== BETWEEN_PIECES ? foldUnit(unit) : unit < 128 ? unit : HYPHEN;
      if (own === 0) return -1;
      folded[length] = own;
      length += 1;
    }
    folded[length] = 0;
    return length;
  }
}

const HYPHEN = "-".charCodeAt(0);

/** Characters that folding adds beside letters: ㈠ becomes (一), ½ becomes 1⁄2. */
const FOLDED_IN = unicodePattern(/[^A-Za-z0-9._-]/g, {
  source: String.raw`[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]`,
  flags: "gu",
});

function withoutCommas(text: string): string {
  return text.includes(",") ? text.replaceAll(",", "") : text;
}

/** Folds only the beginning of a long compound, because the rest is cut. */
function foldedBeginning(chunk: string): string {
  if (chunk.length > BEGINNING.length) {
    const beginning = lettersOf(chunk.slice(0, BEGINNING.length), "");
    const word = cut(beginning);
    if (beginning.length - word.length >= BEGINNING.rest) return word;
  }
  return cut(lettersOf(chunk, ""));
}

/** The folded beginning of a long compound. `rest` is room for marks that belong to the last letter of the word. */
const BEGINNING = { length: 160, rest: 30 } as const;

/** The folded text, with `between` in place of everything that is not a letter. */
function lettersOf(text: string, between: string): string {
  const folded = foldText(text);
  // `FOLDED_IN` reads a character in ten times as long as the table.
  return LETTERS.endOf(LETTER, folded, 0) === folded.length
    ? folded
    : folded.replace(FOLDED_IN(folded), between);
}

const LETTER = 1;
const LETTERS = new CharacterKinds((character) =>
  character.search(FOLDED_IN(character)) < 0 ? LETTER : LETTER + 1,
);

function cut(word: string): string {
  if (word.length <= WORD_LENGTH_MAX) return word;
  let end = 0;
  for (let count = 0; count < WORD_LENGTH_MAX; count += 1) end += sizeAt(word, end);
  return word.slice(0, end);
}
