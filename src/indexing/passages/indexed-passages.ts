import { AUTHORS } from "../../core/event.ts";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { CharacterKinds, sizeIn } from "../../text/character-kinds.ts";
import { dateWords, saysWhen } from "../words/named-time.ts";
import { NOTE, newRoom, ROW, STAMP, unitsOf, type Vocabulary } from "../words/vocabulary.ts";
import { wordReader as reader } from "../words/word-reader.ts";
import { stem, words } from "../words/words.ts";
import { BY_SPEAKER, ENTRY_SAYS_WHEN, ON_DATE, PASSAGE_ASKS, SAID_MASK } from "./passage-index.ts";

/** The words and attributes of one passage in the index. */
export interface IndexedPassage {
  /**
   * Its words, with those of its entry's speaker and date, as numbers of `vocabulary`. Each is there once, times
   * `HITS`, plus its hits as in `Postings`.
   */
  readonly words: Int32Array;
  readonly vocabulary: Vocabulary;
  /** Number of words, at most 255. */
  readonly length: number;
  readonly flags: number;
}

/** Hits are smaller than this. */
export const HITS = 64;

const LENGTH_MAX = 255;

/** The passages of an entry. There is always at least one, even if it has no words. */
export function indexedPassages(
  entry: Pick<MemoryEntry, "content" | "speaker" | "time">,
): IndexedPassage[] {
  const { content } = entry;
  const speaker = isPerson(entry.speaker) ? words(entry.speaker).map(stem) : [];
  const date = dateWords(entry.time).map(stem);
  const entryFlags = saysWhen(content) ? ENTRY_SAYS_WHEN : 0;
  const vocabulary = reader.begin();
  const named = speaker.map((word) => vocabulary.numberOf(word));
  const dated = date.map((word) => vocabulary.numberOf(word));
  const units = unitsOf(content, ROOM);
  counted.begin();
  const found: (Omit<IndexedPassage, "words"> & { readonly end: number })[] = [];
  const add = (bounds: readonly number[], count: number) => {
    readWords(units, bounds, count);
    counted.add(vocabulary, named, dated);
    const asks = endsWithQuestion(units, bounds[0] ?? 0, bounds[2 * count - 1] ?? 0);
    found.push({
      vocabulary,
      length: Math.min(reader.count, LENGTH_MAX),
      flags: entryFlags | (asks ? PASSAGE_ASKS : 0),
      end: counted.length,
    });
  };
  eachPassage(units, content.length, add);
  if (found.length === 0) add([], 0);
  const all = counted.words.slice(0, counted.length);
  return found.map(({ end, ...passage }, at) => ({
    ...passage,
    words: all.subarray(found[at - 1]?.end ?? 0, end),
  }));
}

const ROOM = newRoom();

/** Reads the words of a passage. Long words were cut, and no word goes on behind a cut. */
function readWords(units: Uint16Array, bounds: readonly number[], count: number): void {
  reader.clear();
  let start = 0;
  for (let word = 1; word <= count; word += 1) {
    if (word < count && bounds[2 * word] !== bounds[2 * word - 1]) continue;
    reader.read(units, bounds[2 * start] as number, bounds[2 * word - 1] as number);
    start = word;
  }
  reader.stem();
}

/** Counts how often each passage of an entry says its words. */
class WordCounts {
  /** The words of all passages, as in `IndexedPassage`. */
  words = new Int32Array(256);
  length = 0;
  #start = 0;

  begin(): void {
    if (this.words.length > KEPT_WORDS) this.words = new Int32Array(256);
    this.length = 0;
  }

  /** Adds the passage that `reader` has read. */
  add(vocabulary: Vocabulary, named: readonly number[], dated: readonly number[]): void {
    const { found, count } = reader;
    this.#start = this.length;
    const most = this.length + count + named.length + dated.length;
    if (most > this.words.length) {
      const words = new Int32Array(2 * most);
      words.set(this.words);
      this.words = words;
    }
    const { rows } = vocabulary;
    const { words } = this;
    const stamp = vocabulary.newStamp();
    let length = this.#start;
    for (let index = 0; index < count; index += 1) {
      const word = found[index] as number;
      const row = ROW * word;
      if (rows[row + STAMP] !== stamp) {
        rows[row + STAMP] = stamp;
        rows[row + NOTE] = length;
        words[length] = word * HITS + 1;
        length += 1;
        continue;
      }
      const at = rows[row + NOTE] as number;
      if (((words[at] as number) & SAID_MASK) < SAID_MASK) (words[at] as number) += 1;
    }
    this.length = length;
    for (const word of named) this.#mark(vocabulary, word, stamp, BY_SPEAKER);
    for (const word of dated) this.#mark(vocabulary, word, stamp, ON_DATE);
  }

  #mark({ rows }: Vocabulary, word: number, stamp: number, hit: number): void {
    const row = ROW * word;
    if (rows[row + STAMP] !== stamp) {
      rows[row + STAMP] = stamp;
      rows[row + NOTE] = this.length;
      this.words[this.length] = word * HITS;
      this.length += 1;
    }
    (this.words[rows[row + NOTE] as number] as number) |= hit;
  }
}

/** Larger arrays, which a long text has filled, do not stay in memory. */
const KEPT_WORDS = 1 << 16;
const counted = new WordCounts();

/** Whether a question mark is at the end. Quotes or a smiley may follow it, and no letter. */
function endsWithQuestion(units: Uint16Array, start: number, end: number): boolean {
  for (let at = end - 1; at >= start; at -= 1) {
    const isLow = ((units[at] as number) & 0xfc00) === 0xdc00;
    const isWhole = isLow && at > start && ((units[at - 1] as number) & 0xfc00) === 0xd800;
    if (isWhole) at -= 1;
    const kind = ENDS.in(units, at);
    if (kind !== OTHER) return kind === QUESTION;
  }
  return false;
}

const OTHER = 1;
const QUESTION = 2;
const END_LETTER = 3;
const ENDS = new CharacterKinds((character) => {
  if (/[?？؟]/.test(character)) return QUESTION;
  return /\p{L}/u.test(character) ? END_LETTER : OTHER;
});

/** Whether a speaker is a name, and not a role in the conversation or the author of a prompt. */
export function isPerson(speaker: string | undefined): speaker is string {
  return speaker !== undefined && !NO_NAMES.has(speaker);
}

const NO_NAMES: ReadonlySet<string> = new Set(["assistant", ...AUTHORS]);

/** Text beyond about four million words of one entry is kept and not found. */
const PASSAGES_MAX = 65_536;

/** The texts of the passages that the index has of an entry. */
export function textsOf(content: string): readonly string[] {
  return passages(content).slice(0, PASSAGES_MAX);
}

type Said = Pick<MemoryEntry, "content" | "speaker" | "time">;

/** The passages that the index has of an entry. */
export function passagesOf(entry: Said): readonly IndexedPassage[] {
  const all = indexedPassages(entry);
  return all.length > PASSAGES_MAX ? all.slice(0, PASSAGES_MAX) : all;
}

/** The passages of an entry that was stored with `count` of them: it keeps its slots, however a later rkat cuts it. */
export function fittedPassages(entry: Said, count: number): readonly IndexedPassage[] {
  const all = passagesOf(entry);
  if (all.length === count) return all;
  const none = { ...(all[0] as IndexedPassage), words: new Int32Array(), length: 0, flags: 0 };
  const kept = all.slice(0, count - 1);
  const rest = all.slice(count - 1);
  const missing = Array.from({ length: Math.max(0, count - 1 - kept.length) }, () => none);
  return [...kept, ...missing, rest.length > 0 ? rest.reduce(joinPassages) : none];
}

function joinPassages(one: IndexedPassage, other: IndexedPassage): IndexedPassage {
  const words = new Map<number, number>();
  for (const packed of [...one.words, ...other.words]) {
    const word = Math.floor(packed / HITS);
    words.set(word, Math.max(packed % HITS, words.get(word) ?? 0));
  }
  return {
    vocabulary: one.vocabulary,
    words: Int32Array.from(words, ([word, hits]) => word * HITS + hits),
    length: Math.min(255, one.length + other.length),
    flags: one.flags | other.flags,
  };
}

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

/** Called with a passage: where each of its words begins and ends, and how many words it has. */
type OnPassage = (bounds: readonly number[], words: number) => void;

/** Cuts the UTF-16 units of a text into passages. */
function eachPassage(units: Uint16Array, length: number, onPassage: OnPassage): void {
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
  "\t\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000";
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
