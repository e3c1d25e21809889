import { AUTHORS } from "../../core/event.ts";
import type { MemoryEntry } from "../../core/memory-store.ts";
import { CharacterKinds } from "../../text/character-kinds.ts";
import { dateWords, saysWhen } from "../words/named-time.ts";
import { NOTE, newRoom, ROW, STAMP, unitsOf, type Vocabulary } from "../words/vocabulary.ts";
import { wordReader as reader } from "../words/word-reader.ts";
import { stem, words } from "../words/words.ts";
import { BY_SPEAKER, ENTRY_SAYS_WHEN, ON_DATE, PASSAGE_ASKS, SAID_MASK } from "./passage-index.ts";
import { eachPassage, passages } from "./passages.ts";

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
const LETTER = 3;
const ENDS = new CharacterKinds((character) => {
  if (/[?？؟]/.test(character)) return QUESTION;
  return /\p{L}/u.test(character) ? LETTER : OTHER;
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
