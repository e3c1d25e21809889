import { hashWith } from "../../indexing/words/vocabulary.ts";
import { asciiTable, CharacterKinds, isAscii } from "../../text/character-kinds.ts";

/**
 * The words of a text whose letters and digits are ASCII, in one pass over its characters; nothing for other texts.
 * With `once` each word comes once.
 *
 *     userName = userName    userName user Name userName user Name
 *                            userName user Name                      once
 */
export function plainWords(text: string, once: boolean): string | undefined {
  // Bytes are several times as fast as pieces of strings.
  const bytes = bytesFor(GROWTH_MAX * text.length + 1);
  const known = once ? new WordSet(bytes) : undefined;
  let length = 0;
  let start = 0;
  let hash = 0;
  let humps = 0;
  let before = SIGN;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : SPACE;
    const kind = code < 128 ? (ASCII_KINDS[code] as number) : KINDS.at(text, at);
    if (kind === FOREIGN) return undefined;
    if (kind !== SIGN) {
      if (kind === CAPITAL && before === SMALL) humps += 1;
      bytes[length++] = code;
      hash = hashWith(hash, code);
    } else if (length > start) {
      const end = length;
      if (known?.has(start, end, hash)) length = start;
      else {
        bytes[length++] = SPACE;
        if (humps > 0 && end - start <= NAME_LENGTH_MAX) {
          length = addParts(bytes, start, end, known);
        }
      }
      start = length;
      hash = 0;
      humps = 0;
    }
    before = kind;
  }
  return bytes.toString("latin1", 0, Math.max(0, length - 1));
}

/** Adds the parts of a name behind it, and returns where they end. */
function addParts(bytes: Buffer, name: number, end: number, known: WordSet | undefined): number {
  let start = end + 1;
  let length = start;
  let hash = 0;
  let before = SIGN;
  for (let at = name; at <= end; at += 1) {
    const letter = bytes[at] as number;
    const kind = ASCII_KINDS[letter] as number;
    if (at === end || (kind === CAPITAL && before === SMALL)) {
      if (known?.has(start, length, hash)) length = start;
      else bytes[length++] = SPACE;
      start = length;
      hash = 0;
    }
    if (at < end) {
      bytes[length++] = letter;
      hash = hashWith(hash, letter);
    }
    before = kind;
  }
  return length;
}

/** Longer words are data, not names. */
export const NAME_LENGTH_MAX = 100;

/** A word like "aB" grows most: to "aB a B ". */
const GROWTH_MAX = 3;

const SPACE = 32;

const SIGN = 1;
const DIGIT = 2;
const CAPITAL = 3;
const SMALL = 4;
/** A letter, mark or digit that is not ASCII, what becomes one, or half of a character. */
const FOREIGN = 5;

function kindOf(character: string): number {
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/[0-9]/.test(character)) return DIGIT;
  return isAscii(character) || /^[\p{P}\p{S}\p{Z}]+$/u.test(character.normalize("NFKC"))
    ? SIGN
    : FOREIGN;
}

const ASCII_KINDS = asciiTable(kindOf);
const KINDS = new CharacterKinds(kindOf);

let shared = Buffer.alloc(0);
/** Memory for a longer text is given back. */
const SHARED_MAX = 1_000_000;

/** Bytes for one text at a time. New ones for each text would cost more than the work. */
function bytesFor(size: number): Buffer {
  if (size > SHARED_MAX) return Buffer.allocUnsafeSlow(size);
  if (size > shared.length) shared = Buffer.allocUnsafeSlow(Math.max(size, 2 * shared.length));
  return shared;
}

/** The same as UTF-16 units. */
export function unitsFor(size: number): Uint16Array {
  return new Uint16Array(bytesFor(2 * size).buffer, 0, size);
}

/** The words that were seen, by their places in the bytes or units of a text. */
export class WordSet {
  readonly #bytes: Uint8Array | Uint16Array;
  /** Three numbers a word: its hash, its start, its end. An end of 0 is a free place. */
  #words = new Int32Array(3 * 512);
  /** The number of places: a power of two. */
  #places = 512;
  #size = 0;

  constructor(bytes: Uint8Array | Uint16Array) {
    this.#bytes = bytes;
  }

  /** Whether the word was seen before. Now it is. */
  has(start: number, end: number, hash: number): boolean {
    const bytes = this.#bytes;
    const words = this.#words;
    const last = this.#places - 1;
    for (let place = hash & last; ; place = (place + 1) & last) {
      const other = words[3 * place + 1] as number;
      const otherEnd = words[3 * place + 2] as number;
      if (otherEnd === 0) {
        words[3 * place] = hash;
        words[3 * place + 1] = start;
        words[3 * place + 2] = end;
        this.#size += 1;
        if (2 * this.#size > this.#places) this.#grow();
        return false;
      }
      if (words[3 * place] !== hash || otherEnd - other !== end - start) continue;
      let at = start;
      while (at < end && bytes[other + at - start] === bytes[at]) at += 1;
      if (at === end) return true;
    }
  }

  #grow(): void {
    const before = this.#words;
    this.#places *= 4;
    this.#words = new Int32Array(3 * this.#places);
    const words = this.#words;
    const last = this.#places - 1;
    for (let from = 0; from < before.length; from += 3) {
      if (before[from + 2] === 0) continue;
      let place = (before[from] as number) & last;
      while (words[3 * place + 2] !== 0) place = (place + 1) & last;
      words[3 * place] = before[from] as number;
      words[3 * place + 1] = before[from + 1] as number;
      words[3 * place + 2] = before[from + 2] as number;
    }
  }
}
