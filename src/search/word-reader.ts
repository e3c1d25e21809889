import { stem as stemEnglish } from "porter2";
import { textOf } from "../core/character-codes.ts";
import { sizeIn } from "../core/character-kinds.ts";
import { foldUnit } from "./fold-text.ts";
import { foldedBeginning, lettersOf, WORD_LENGTH_MAX, withoutCommas } from "./folded-letters.ts";
import { BASE_FORMS } from "./irregular-forms.ts";
import { hashOf, hashWith, newRoom, unitsOf } from "./text-units.ts";
import {
  APOSTROPHE,
  BETWEEN_PIECES,
  CAPITAL,
  COMMA_UNIT,
  FOREIGN,
  GLYPHS,
  JOINED,
  KIND,
  LOWER,
  OTHER,
  PICTURE,
  QUOTE,
  SCRIPTS,
  SIGNS,
  SMALL,
  SPACED,
  UNCASED,
  UNSPACED,
} from "./unit-kinds.ts";
import { MEANING, ROW, STAMP, STEM, Vocabulary } from "./vocabulary.ts";
import { compoundEnd, goesOn, isPlain, joinsPlainly, scriptEnd } from "./word-bounds.ts";

/** English endings after an apostrophe, as in it's, I'm, we'll. */
const CLITICS: ReadonlySet<string> = new Set(["s", "t", "d", "m", "ll", "re", "ve"]);

/** A vocabulary of more words is left, and another one begun. */
const VOCABULARY_MAX = 1 << 16;
/** Longer parts are not kept, since few of them come again. */
const KEPT_UNITS = 24;
const FIRST_LISTS = 256;
/** What a long text has filled does not stay in memory. */
const KEPT_WORDS = 1 << 16;
/** Behind so many letters of a word, folded one by one, nothing changes those that are kept. */
const BEGINNING_UNITS = WORD_LENGTH_MAX + 1;

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
  /** The folded units of a part. */
  #folded = new Uint16Array(256);
  readonly #foldedRoom = newRoom();

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
            if (GLYPHS.in(units, to) >= UNCASED) rest |= FOREIGN;
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
  leaveRepeats(): void {
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
      this.#pushAll(this.#wordsOf(units, start, end, isForeign));
      return;
    }
    const part = this.#vocabulary.numberAt(units, start, end, hash);
    const known = this.#meaningOf(part);
    this.#pushKnown(
      known === 0 ? this.#learn(part, this.#wordsOf(units, start, end, isForeign)) : known,
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
   * What is known of a part or a compound: its only word and one more, or minus where its list is. Where both are the
   * same, they have the same words.
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
        this.#addPart(units, from, to, hash, false, list);
        parts += 1;
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
    else list[0] = 2 * this.#foldWhole(units, start, end);
    return list;
  }

  #foldWhole(units: Uint16Array, start: number, end: number): number {
    const length = this.#fold(units, start, end, BEGINNING_UNITS);
    if (length >= 0) return this.#numberAt(this.#folded, 0, Math.min(length, WORD_LENGTH_MAX));
    return this.#vocabulary.numberOf(
      foldedBeginning(textOf(units.subarray(start, end), end - start)),
    );
  }

  /**
   * Adds the parts of what stands between two separators, whose last apostrophe is at `quote`. Returns how
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

  /** Adds the parts of an identifier, getUser|Name and HTTP|Server, and those between apostrophes. */
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
        (before !== CAPITAL || (next < end && GLYPHS.in(units, next) === SMALL));
      if (isHump || kind === APOSTROPHE) {
        this.#addPart(units, from, at, hash, isForeign, list);
        parts += 1;
        from = isHump ? at : next;
        hash = 0;
        isForeign = false;
      }
      if (kind !== APOSTROPHE) {
        hash = hashOf(units, at, next, hash);
        if (unit >= 128) isForeign = true;
      }
      before = kind;
      at = next;
    }
    this.#addPart(units, from, end, hash, isForeign, list);
    return parts + 1;
  }

  /** Adds the words of a part of a compound: one, or several in a script without spaces. */
  #addPart(
    units: Uint16Array,
    start: number,
    end: number,
    hash: number,
    isForeign: boolean,
    list: number[],
  ): void {
    if (end - start > KEPT_UNITS) {
      for (const word of this.#wordsOf(units, start, end, isForeign)) list.push(word);
      return;
    }
    const part = this.#vocabulary.numberAt(units, start, end, hash);
    const known = this.#meaningOf(part);
    const meaning =
      known === 0 ? this.#learn(part, this.#wordsOf(units, start, end, isForeign)) : known;
    if (meaning > 0) list.push(2 * (meaning - 1));
    else {
      const last = this.#lists[-meaning] as number;
      for (let at = 1; at <= last; at += 1) list.push(this.#lists[at - meaning] as number);
    }
  }

  /** The words of a part: the pairs of characters of scripts without spaces, and then the others. */
  #wordsOf(units: Uint16Array, start: number, end: number, isForeign: boolean): number[] {
    const most = isForeign ? Number.POSITIVE_INFINITY : BEGINNING_UNITS;
    const simple = this.#fold(units, start, end, most);
    if (simple > 0 && !isForeign) return [this.#spacedWord(this.#folded, 0, simple)];
    if (simple >= 0) return this.#split(this.#folded, simple);
    const text = withoutCommas(textOf(units.subarray(start, end), end - start));
    const letters = lettersOf(text, " ");
    return this.#split(unitsOf(letters, this.#foldedRoom), letters.length);
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

  /** The first characters of a word, as many as the index keeps. */
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
      const own = SIGNS[unit] === BETWEEN_PIECES ? unit : foldUnit(unit);
      if (own === 0) return -1;
      folded[length] = own;
      length += 1;
    }
    folded[length] = 0;
    return length;
  }
}

/** All readers of a process share the vocabulary. Ask it for the words of one text at a time. */
export const wordReader = new WordReader();

/** Added to a number that a question leaves out. */
const LEFT_OUT = 1;
const T = "t".charCodeAt(0);

function newVocabulary(): Vocabulary {
  const vocabulary = new Vocabulary();
  for (const form of BASE_FORMS.keys()) vocabulary.numberOf(form);
  return vocabulary;
}

/** The base form of a word. Irregular forms have the first numbers. */
function baseIn(vocabulary: Vocabulary, word: number): number {
  if (word >= BASE_FORMS.size) return word;
  return vocabulary.numberOf(BASE_FORMS.get(vocabulary.textOf(word)) as string);
}

/** The stem of a word: an English one without its ending, so that "painted" finds "painting". Others are their own. */
export function stemIn(vocabulary: Vocabulary, word: number): number {
  const known = vocabulary.rows[ROW * word + STEM] as number;
  if (known !== 0) return known - 1;
  const units = vocabulary.unitsOf(word);
  // Most words are asked for by their stems only, so this text is not kept.
  const stem = isEnglish(units)
    ? vocabulary.numberOf(stemEnglish(textOf(units, units.length)))
    : word;
  vocabulary.rows[ROW * word + STEM] = 1 + stem;
  return stem;
}

function isEnglish(units: Uint16Array): boolean {
  if (units.length === 0 || ENDINGS[units[units.length - 1] as number] === 0) return false;
  for (let at = 0; at < units.length; at += 1)
    if (KIND[units[at] as number] !== LOWER) return false;
  return true;
}

/** The last letters of English endings. The stemmer returns words with other ones as they are. */
const ENDINGS = new Uint8Array(0x10000);
for (const letter of "cdegilmnrsty") ENDINGS[letter.charCodeAt(0)] = 1;
