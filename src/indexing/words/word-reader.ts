import { sizeIn } from "../../text/character-kinds.ts";
import { newVocabulary, stemIn } from "./english.ts";
import { FoldedParts, LEFT_OUT } from "./fold-text.ts";
import { hashOf, hashWith, MEANING, ROW, STAMP, type Vocabulary } from "./vocabulary.ts";
import {
  APOSTROPHE,
  BETWEEN_PIECES,
  CAPITAL,
  compoundEnd,
  FOREIGN,
  GAP,
  GLYPHS,
  goesOn,
  isPlain,
  JOINED,
  joinsPlainly,
  KIND,
  OTHER,
  PICTURE,
  QUOTE,
  SCRIPTS,
  SIGNS,
  SMALL,
  SPACED,
  UNCASED,
  UNSEEN,
} from "./word-breaks.ts";

/** English endings after an apostrophe, as in it's, I'm, we'll. */
const CLITICS: ReadonlySet<string> = new Set(["s", "t", "d", "m", "ll", "re", "ve"]);

/** A vocabulary with more words is replaced by a new one. */
const VOCABULARY_MAX = 1 << 16;
/** Longer parts are not kept, since few of them come again. */
const KEPT_UNITS = 24;
const FIRST_LISTS = 256;
/** Larger arrays, which a long text has filled, do not stay in memory. */
const KEPT_WORDS = 1 << 16;

/** Reads the words of texts as numbers of a vocabulary. It is given the UTF-16 units of a text (`unitsOf`). */
class WordReader {
  #vocabulary = newVocabulary();
  /**
   * For parts with several words: how many, and then the number of each, and whether a question leaves it out. One
   * array for all of them: many small ones are much work for the garbage collector.
   */
  #lists = new Int32Array(FIRST_LISTS);
  #listsEnd = 1;
  /** The words that were read since `begin`, in their order. */
  found = new Int32Array(256);
  count = 0;
  #asks = false;
  #folded = new FoldedParts(this.#vocabulary);

  /**
   * Returns the vocabulary whose numbers are read from now on. A question leaves out the last character of
   * a run without spaces.
   */
  begin({ asks = false } = {}): Vocabulary {
    this.#asks = asks;
    this.clear();
    if (this.found.length > KEPT_WORDS) this.found = new Int32Array(256);
    if (this.#vocabulary.size > VOCABULARY_MAX) {
      this.#vocabulary = newVocabulary();
      this.#folded = new FoldedParts(this.#vocabulary);
      this.#lists = new Int32Array(FIRST_LISTS);
      this.#listsEnd = 1;
    }
    return this.#vocabulary;
  }

  clear(): void {
    this.count = 0;
  }

  /** Reads the words between two places. None of them goes on behind these. */
  read(units: Uint16Array, start: number, end: number): void {
    for (let at = start; at < end; ) {
      const unit = units[at] as number;
      const first = KIND[unit] as number;
      if (first === OTHER) {
        at += 1;
        continue;
      }
      let to = at;
      let rest = FOREIGN;
      let hash = 0;
      if (first === FOREIGN) {
        const glyph = GLYPHS.in(units, at);
        if (glyph < UNCASED) {
          const next = at + sizeIn(units, at);
          if (glyph === PICTURE) this.#readPart(units, at, next, hashOf(units, at, next), true);
          at = next;
          continue;
        }
      } else {
        rest = OTHER;
        hash = hashWith(0, unit);
        for (to += 1; to < end; to += 1) {
          const next = units[to] as number;
          const kind = KIND[next] as number;
          if (kind === FOREIGN) {
            if (GLYPHS.in(units, to) >= UNSEEN) rest |= FOREIGN;
            break;
          }
          if (kind !== OTHER) rest |= kind;
          else if (joinsPlainly(units, to, end)) rest |= JOINED;
          else break;
          hash = hashWith(hash, next);
        }
        if (isPlain(first, rest) && !goesOn(units, to, end)) {
          this.#readPart(units, at, to, hash, false);
          at = to;
          continue;
        }
      }
      const compound = compoundEnd(units, to, end);
      this.#readCompound(units, at, compound, to, hash);
      at = compound;
    }
  }

  /** Puts the stem of each word into its place. */
  stem(): void {
    const vocabulary = this.#vocabulary;
    for (let at = 0; at < this.count; at += 1) {
      this.found[at] = stemIn(vocabulary, this.found[at] as number);
    }
  }

  /** Keeps the first of each word. */
  dropRepeats(): void {
    const { rows } = this.#vocabulary;
    const stamp = this.#vocabulary.newStamp();
    let kept = 0;
    for (let at = 0; at < this.count; at += 1) {
      const word = this.found[at] as number;
      if (rows[ROW * word + STAMP] === stamp) continue;
      rows[ROW * word + STAMP] = stamp;
      this.found[kept] = word;
      kept += 1;
    }
    this.count = kept;
  }

  #push(word: number): void {
    if (this.count === this.found.length) {
      const found = new Int32Array(2 * this.count);
      found.set(this.found);
      this.found = found;
    }
    this.found[this.count] = word;
    this.count += 1;
  }

  #readPart(
    units: Uint16Array,
    start: number,
    end: number,
    hash: number,
    isForeign: boolean,
  ): void {
    if (end - start > KEPT_UNITS) {
      this.#pushAll(this.#folded.wordsOf(units, start, end, isForeign));
      return;
    }
    const part = this.#vocabulary.numberAt(units, start, end, hash);
    const known = this.#meaningOf(part);
    this.#pushKnown(
      known === 0 ? this.#learn(part, this.#folded.wordsOf(units, start, end, isForeign)) : known,
    );
  }

  /** `hash` is the hash of the units up to `hashed`. */
  #readCompound(
    units: Uint16Array,
    start: number,
    end: number,
    hashed: number,
    hash: number,
  ): void {
    if (end - start > KEPT_UNITS) {
      this.#pushAll(this.#compound(units, start, end));
      return;
    }
    const whole = hashOf(units, hashed, end, hash);
    const chunk = this.#vocabulary.numberAt(units, start, end, whole);
    const known = this.#meaningOf(chunk);
    this.#pushKnown(known === 0 ? this.#learn(chunk, this.#compound(units, start, end)) : known);
  }

  /**
   * The known words of a part or a compound: the number of its only word plus one, or minus the place of its list.
   * A part and a compound with the same number have the same words.
   */
  #meaningOf(number: number): number {
    return this.#vocabulary.rows[ROW * number + MEANING] as number;
  }

  #learn(number: number, list: readonly number[]): number {
    const [only = 0] = list;
    const isOne = list.length === 1 && (only & LEFT_OUT) === 0;
    const meaning = isOne ? 1 + (only >> 1) : -this.#keep(list);
    this.#vocabulary.rows[ROW * number + MEANING] = meaning;
    return meaning;
  }

  /** Returns where the list is kept. */
  #keep(list: readonly number[]): number {
    const start = this.#listsEnd;
    const end = start + 1 + list.length;
    if (end > this.#lists.length) {
      const lists = new Int32Array(2 * end);
      lists.set(this.#lists);
      this.#lists = lists;
    }
    this.#lists[start] = list.length;
    for (let at = 0; at < list.length; at += 1) this.#lists[start + 1 + at] = list[at] as number;
    this.#listsEnd = end;
    return start;
  }

  #pushKnown(meaning: number): void {
    if (meaning > 0) {
      this.#push(meaning - 1);
      return;
    }
    const end = 1 - meaning + (this.#lists[-meaning] as number);
    for (let at = 1 - meaning; at < end; at += 1)
      this.#pushUnlessLeftOut(this.#lists[at] as number);
  }

  #pushAll(list: readonly number[]): void {
    for (const one of list) this.#pushUnlessLeftOut(one);
  }

  #pushUnlessLeftOut(one: number): void {
    if (!this.#asks || (one & LEFT_OUT) === 0) this.#push(one >> 1);
  }

  /** The whole of a compound, unless it is a single part or has an apostrophe, and its parts. */
  #compound(units: Uint16Array, start: number, end: number): number[] {
    // The whole goes first, if it is a word.
    const list = [0];
    let parts = 0;
    let hasQuote = false;
    for (let from = start; from < end; ) {
      const first = KIND[units[from] as number] as number;
      let rest = OTHER;
      let hash = 0;
      let to = from;
      for (; to < end; to += 1) {
        const unit = units[to] as number;
        const kind = KIND[unit] as number;
        if (kind === OTHER || kind === FOREIGN) break;
        if (to > from) rest |= kind;
        hash = hashWith(hash, unit);
      }
      const isWhole = to === end || SIGNS[units[to] as number] === BETWEEN_PIECES;
      if (isWhole && isPlain(first, rest)) {
        parts += this.#addPart(units, from, to, hash, false, list);
      } else {
        let quote = -1;
        for (; to < end; to += 1) {
          const sign = SIGNS[units[to] as number] as number;
          if (sign === BETWEEN_PIECES) break;
          if (sign === QUOTE) quote = to;
        }
        parts += this.#addPiece(units, from, to, quote, list);
        if (quote >= 0) hasQuote = true;
      }
      from = to + 1;
    }
    if (parts < 2 || hasQuote) list.shift();
    else list[0] = 2 * this.#folded.whole(units, start, end);
    return list;
  }

  /**
   * Adds the parts between two separators, whose last apostrophe is at `quote`. Returns how
   * many there are. "Caroline's" is "Caroline", and "we'll" is "we". "don't" becomes the stop word "dont".
   */
  #addPiece(units: Uint16Array, start: number, end: number, quote: number, list: number[]): number {
    if (quote < 0 || end - quote > 3) return this.#addParts(units, start, end, list);
    const clitic = String.fromCharCode(units[quote + 1] as number, units[quote + 2] as number)
      .slice(0, end - quote - 1)
      .toLowerCase();
    if (!CLITICS.has(clitic)) return this.#addParts(units, start, end, list);
    if (clitic !== "t") return this.#addParts(units, start, quote, list);
    const joined = units.slice(start, quote + 2);
    joined[quote - start] = T;
    joined[quote - start + 1] = 0;
    return this.#addParts(joined, 0, quote - start + 1, list);
  }

  /** Adds the parts of an identifier, getUser|Name and HTTP|Server, and those between apostrophes and gaps. */
  #addParts(units: Uint16Array, start: number, end: number, list: number[]): number {
    let parts = 0;
    let from = start;
    let hash = 0;
    let before = UNCASED;
    let isForeign = false;
    for (let at = start; at < end; ) {
      const unit = units[at] as number;
      const kind = GLYPHS.in(units, at);
      const next = unit < 0xd800 ? at + 1 : at + sizeIn(units, at);
      const isHump =
        kind === CAPITAL &&
        before >= CAPITAL &&
        (before !== CAPITAL || seenKind(units, next, end) === SMALL);
      // A script without spaces has none here either.
      const isGap = kind === GAP && next < end && SCRIPTS.in(units, next) === SPACED;
      if (isHump || isGap || kind === APOSTROPHE) {
        parts += this.#addPart(units, from, at, hash, isForeign, list);
        from = isHump ? at : next;
        hash = 0;
        isForeign = false;
      }
      if (from <= at) {
        hash = hashOf(units, at, next, hash);
        if (unit >= 128) isForeign = true;
      }
      if (kind !== UNSEEN) before = kind;
      at = next;
    }
    return parts + this.#addPart(units, from, end, hash, isForeign, list);
  }

  /** Adds the words of a part of a compound: one, or several in a script without spaces. Returns 0 where it has none. */
  #addPart(
    units: Uint16Array,
    start: number,
    end: number,
    hash: number,
    isForeign: boolean,
    list: number[],
  ): 0 | 1 {
    const before = list.length;
    if (end - start > KEPT_UNITS) {
      for (const word of this.#folded.wordsOf(units, start, end, isForeign)) list.push(word);
      return list.length > before ? 1 : 0;
    }
    const part = this.#vocabulary.numberAt(units, start, end, hash);
    const known = this.#meaningOf(part);
    const meaning =
      known === 0 ? this.#learn(part, this.#folded.wordsOf(units, start, end, isForeign)) : known;
    if (meaning > 0) list.push(2 * (meaning - 1));
    else {
      const last = this.#lists[-meaning] as number;
      for (let at = 1; at <= last; at += 1) list.push(this.#lists[at - meaning] as number);
    }
    return list.length > before ? 1 : 0;
  }
}

/** The kind of the next character that is seen. */
function seenKind(units: Uint16Array, start: number, end: number): number {
  let at = start;
  while (at < end && GLYPHS.in(units, at) === UNSEEN) at += sizeIn(units, at);
  return at < end ? GLYPHS.in(units, at) : UNSEEN;
}

/** All readers of a process share the vocabulary. Ask it for the words of one text at a time. */
export const wordReader = new WordReader();

const T = "t".charCodeAt(0);
