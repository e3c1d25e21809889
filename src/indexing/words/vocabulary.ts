import { textOf } from "../../text/character-kinds.ts";

/**
 * A number for each word. Texts repeat their words, so each is folded and stemmed once:
 *
 *     Painted ──► painted ──► paint
 *      part        word       stem
 *
 * A part is written as in a text. An index keeps words and stems. Most parts are words, and many
 * words are stems, so all of them are numbered together.
 */
export class Vocabulary {
  #size = 0;
  /** Each number plus one, at the place of its hash or behind it. 0 for an empty place. */
  #table = new Int32Array(2 * FIRST_SIZE);
  /** The UTF-16 units of all numbers. */
  #units = new Uint16Array(8 * FIRST_SIZE);
  /** The texts that were asked for. */
  readonly #texts: (string | undefined)[] = [];
  /**
   * The attributes of each number, side by side: `HASH`, `START` and `LENGTH` of its units, `KEY`, and columns of
   * other files. Separate arrays would be as many accesses to slow memory.
   */
  rows = new Int32Array(ROW * FIRST_SIZE);
  #stamp = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of the units between two places, of which `hash` is the hash. */
  numberAt(units: Uint16Array, start: number, end: number, hash: number): number {
    const mask = this.#table.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = (this.#table[place] as number) - 1;
      if (number < 0) return this.#add(units, start, end, hash, place);
      const isIt = this.rows[ROW * number + HASH] === hash && this.#isAt(number, units, start, end);
      if (isIt) return number;
    }
  }

  numberOf(text: string): number {
    const units = unitsOf(text, ROOM);
    return this.numberAt(units, 0, text.length, hashOf(units, 0, text.length));
  }

  textOf(number: number): string {
    const known = this.#texts[number];
    if (known !== undefined) return known;
    const units = this.unitsOf(number);
    const text = textOf(units, units.length);
    this.#texts[number] = text;
    return text;
  }

  unitsOf(number: number): Uint16Array {
    const start = this.rows[ROW * number + START] as number;
    return this.#units.subarray(start, start + (this.rows[ROW * number + LENGTH] as number));
  }

  /** Sorts words by this first. Words with the same one have the same beginning, or characters beyond ASCII. */
  orderOf(number: number): number {
    let at = this.rows[ROW * number + START] as number;
    const end = at + (this.rows[ROW * number + LENGTH] as number);
    let order = 0;
    for (let count = 0; count < ORDER_UNITS; count += 1) {
      const unit = at < end ? (this.#units[at] as number) : 0;
      order = 128 * order + Math.min(unit, 127);
      at = unit < 127 ? at + 1 : end;
    }
    return order;
  }

  /** The hash of the word, as `hashOfKey` makes it. */
  keyOf(number: number): number {
    const known = this.rows[ROW * number + KEY] as number;
    if (known !== 0) return known >>> 0;
    const key = hashOfKey(this.textOf(number));
    this.rows[ROW * number + KEY] = key;
    return key;
  }

  /** Begins work on words: none of them has this `STAMP`. */
  newStamp(): number {
    this.#stamp += 1;
    return this.#stamp;
  }

  #isAt(number: number, units: Uint16Array, start: number, end: number): boolean {
    const from = this.rows[ROW * number + START] as number;
    if (this.rows[ROW * number + LENGTH] !== end - start) return false;
    for (let at = start; at < end; at += 1) {
      if (this.#units[from + at - start] !== units[at]) return false;
    }
    return true;
  }

  #add(units: Uint16Array, start: number, end: number, hash: number, place: number): number {
    const number = this.#size;
    const last = ROW * (number - 1);
    const from =
      number === 0 ? 0 : (this.rows[last + START] as number) + (this.rows[last + LENGTH] as number);
    const to = from + end - start;
    if (to > this.#units.length)
      this.#units = grown(this.#units, Math.max(to, Math.ceil(1.5 * from)));
    for (let at = start; at < end; at += 1) this.#units[from + at - start] = units[at] as number;
    this.#size += 1;
    this.rows[ROW * number + HASH] = hash;
    this.rows[ROW * number + START] = from;
    this.rows[ROW * number + LENGTH] = end - start;
    this.#table[place] = number + 1;
    // A text that is set far behind the end would make the array slow.
    this.#texts.push(undefined);
    if (ROW * this.#size === this.rows.length) this.rows = grown(this.rows, 2 * ROW * this.#size);
    if (2 * this.#size === this.#table.length) this.#growTable();
    return number;
  }

  #growTable(): void {
    this.#table = new Int32Array(2 * this.#table.length);
    const mask = this.#table.length - 1;
    for (let number = 0; number < this.#size; number += 1) {
      let place = (this.rows[ROW * number + HASH] as number) & mask;
      while (this.#table[place] !== 0) place = (place + 1) & mask;
      this.#table[place] = number + 1;
    }
  }
}

const FIRST_SIZE = 512;
const ROOM = newRoom();

/** The columns of a row. */
export const ROW = 8;
const HASH = 0;
const START = 1;
const LENGTH = 2;
const KEY = 3;
/** The words of a part, as `WordReader` notes them. 0 for unknown. */
export const MEANING = 4;
/** The stem of a word, plus one. 0 for unknown. */
export const STEM = 5;
/** The stamp of the last work on many words that met this one. */
export const STAMP = 6;
/** The note of that work about the word. */
export const NOTE = 7;

/** A number has room for this many units of seven bits, and the place of a word behind them. */
const ORDER_UNITS = 4;

type Numbers = Int32Array | Uint16Array;

function grown<From extends Numbers>(from: From, size: number): From {
  const to = new (from.constructor as new (size: number) => From)(size);
  to.set(from as never);
  return to;
}

/**
 * The UTF-16 units of a text, with a 0 behind them. They are valid until the next call with the same `room`:
 * one that is made for each text would cost more than reading it.
 */
export function unitsOf(text: string, room: Room): Uint16Array {
  const { length } = text;
  if (length >= KEPT_UNITS) return filled(new Uint16Array(length + 1), text);
  if (length >= room.units.length)
    room.units = new Uint16Array(Math.min(KEPT_UNITS, 2 * length + 2));
  return filled(room.units, text);
}

/** Where units are kept. */
export interface Room {
  units: Uint16Array;
}

/** Longer texts get units of their own, which do not stay in memory. */
const KEPT_UNITS = 1 << 16;
export function newRoom(): Room {
  return { units: new Uint16Array(256) };
}

function filled(units: Uint16Array, text: string): Uint16Array {
  const { length } = text;
  for (let at = 0; at < length; at += 1) units[at] = text.charCodeAt(at);
  units[length] = 0;
  return units;
}

/** The hash of the units between two places, behind others whose hash is `before`. */
export function hashOf(units: Uint16Array, start: number, end: number, before = 0): number {
  let hash = before;
  for (let at = start; at < end; at += 1) hash = hashWith(hash, units[at] as number);
  return hash;
}

/**
 * The hash of units and one more. Each process has a hash of its own, so that a text cannot be made of words that
 * share one.
 */
export function hashWith(hash: number, unit: number): number {
  const mixed = Math.imul(hash ^ unit, FACTOR);
  return mixed ^ (mixed >>> 15);
}

const FACTOR = (Math.floor(Math.random() * 0x7fffffff) << 1) | 1;

/** A number to look a key up by. Two keys may share one. */
export function hashOfKey(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}
