import { sizeIn } from "../../text/character-kinds.ts";
import { newRoom, unitsOf } from "../words/vocabulary.ts";

/** The most words of a passage: about a paragraph. */
export const PASSAGE_WORDS_MAX = 60;

/**
 * Cuts a text into passages of at most 60 words, at the ends of sentences and lines where possible.
 * A long message is about many things, a passage about one. A message is as good a result as its
 * best passage.
 */
export function passages(text: string): string[] {
  const found: string[] = [];
  eachPassage(unitsOf(text, ROOM), text.length, (bounds, words) => {
    found.push(joined(text, bounds, words));
  });
  return found;
}

const ROOM = newRoom();

/** Called with a passage: where each of its words begins and ends, and how many words it has. */
export type OnPassage = (bounds: readonly number[], words: number) => void;

/** Cuts the UTF-16 units of a text into passages. */
export function eachPassage(units: Uint16Array, length: number, onPassage: OnPassage): void {
  const cutter = new Cutter(units, onPassage);
  let last = LETTER;
  for (let at = 0; at < length; ) {
    let kind = KIND[units[at] as number] as number;
    if (kind === SPACE || kind === LINE_END) {
      if (kind === LINE_END || last === STOP) cutter.endSentence();
      at += 1;
      continue;
    }
    const start = at;
    do {
      last = kind;
      at += 1;
      kind = at < length ? (KIND[units[at] as number] as number) : SPACE;
    } while (kind >= LETTER && last !== WIDE_STOP);
    cutter.addWord(start, at);
    if (last === WIDE_STOP) cutter.endSentence();
  }
  cutter.end();
}

const SPACE = 0;
const LINE_END = 1;
const LETTER = 2;
/** A sentence ends where a space follows. */
const STOP = 3;
/** A sentence ends, whatever follows. */
const WIDE_STOP = 4;

/** The kind of each UTF-16 unit. */
const KIND = new Uint8Array(0x10000).fill(LETTER);
const SPACES =
  "\t\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
for (const space of SPACES) KIND[space.charCodeAt(0)] = SPACE;
for (const stop of ".!?") KIND[stop.charCodeAt(0)] = STOP;
for (const stop of "。！？") KIND[stop.charCodeAt(0)] = WIDE_STOP;
KIND["\n".charCodeAt(0)] = LINE_END;

/** Longer words are cut. In scripts without spaces, a paragraph would be one word. */
const WORD_CHARACTERS = 200;

/** Puts the words of a text into passages, sentence by sentence. */
class Cutter {
  readonly #units: Uint16Array;
  readonly #onPassage: OnPassage;
  /** Where each word begins and ends: those of the passage, and then those of the sentence. */
  #bounds: number[] = [];
  #inPassage = 0;
  #inSentence = 0;

  constructor(units: Uint16Array, onPassage: OnPassage) {
    this.#units = units;
    this.#onPassage = onPassage;
  }

  addWord(start: number, end: number): void {
    let at = start;
    while (end - at > WORD_CHARACTERS) {
      const next = this.#afterCharacters(at, end);
      this.#add(at, next);
      at = next;
    }
    if (at < end) this.#add(at, end);
  }

  /** A sentence stays in one passage. One of more than 60 words is several. */
  endSentence(): void {
    if (this.#inSentence === 0) return;
    if (this.#inPassage > 0 && this.#inPassage + this.#inSentence > PASSAGE_WORDS_MAX) {
      this.#endPassage();
    }
    this.#inPassage += this.#inSentence;
    this.#inSentence = 0;
  }

  end(): void {
    this.endSentence();
    if (this.#inPassage > 0) this.#endPassage();
  }

  #add(start: number, end: number): void {
    this.#bounds.push(start, end);
    this.#inSentence += 1;
    if (this.#inSentence === PASSAGE_WORDS_MAX) this.endSentence();
  }

  /** The place behind 200 characters, none of them halved. */
  #afterCharacters(start: number, end: number): number {
    let at = start;
    for (let count = 0; count < WORD_CHARACTERS && at < end; count += 1) {
      at += sizeIn(this.#units, at);
    }
    return at;
  }

  #endPassage(): void {
    this.#onPassage(this.#bounds, this.#inPassage);
    this.#bounds = this.#bounds.slice(2 * this.#inPassage);
    this.#inPassage = 0;
  }
}

/** The words with one space between each two, as most texts have them already. */
function joined(text: string, bounds: readonly number[], count: number): string {
  let isJoined = true;
  for (let word = 1; word < count && isJoined; word += 1) {
    const before = bounds[2 * word - 1] as number;
    isJoined = bounds[2 * word] === before + 1 && text[before] === " ";
  }
  if (isJoined) return text.slice(bounds[0], bounds[2 * count - 1]);
  const words: string[] = [];
  for (let word = 0; word < count; word += 1) {
    words.push(text.slice(bounds[2 * word], bounds[2 * word + 1]));
  }
  return words.join(" ");
}
