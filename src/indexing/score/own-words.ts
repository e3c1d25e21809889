import { type PassageIndex, placeFrom } from "../passages/passage-index.ts";
import { isCommonWord, isKana } from "../words/common-words.ts";
import type { AskedWord } from "./question-evidence.ts";
import { BLOCK } from "./word-amounts.ts";

/**
 * The words of a question that an entry itself has: in its text, in the name of its speaker, or in its
 * date. Words around it do not count. An entry is named by its first slot.
 */
export class OwnWords {
  readonly #index: PassageIndex;
  /** The rarest first. */
  readonly #words: readonly AskedWord[];
  #commonWords: ReadonlySet<AskedWord> | undefined;
  #rareWords: readonly AskedWord[] | undefined;

  constructor(index: PassageIndex, words: readonly AskedWord[]) {
    this.#index = index;
    this.#words = words.toSorted(
      (one, other) => one.postings.slots.length - other.postings.slots.length,
    );
  }

  hasAny(entry: number): boolean {
    return this.#words.some((word) => this.#has(entry, word));
  }

  /** A word that is only near one of the question is another word. */
  hasAll(entry: number): boolean {
    if (this.#words.some(({ standIn }) => standIn?.isNear)) return false;
    return this.#words.every((word) => this.#has(entry, word));
  }

  /** Whether any entry has a word of the question, or what stands for it. */
  isKnown(asked: string): boolean {
    return this.#words.some(({ word, postings }) => word === asked && postings.slots.length > 0);
  }

  /** Whether it has one of some words, or what stands for it. */
  hasOneOf(entry: number, some: readonly string[]): boolean {
    return this.#words.some((word) => some.includes(word.word) && this.#has(entry, word));
  }

  /** Whether the question has a name, or a number, that no entry has. */
  get lacksName(): boolean {
    return this.#words.some(
      ({ word, isName, standIn, postings }) =>
        isName && !standIn && postings.slots.length === 0 && SURE_NAME.test(word),
    );
  }

  /** Whether all words of the question that it has are of any text, and it lacks some. */
  hasOnlyCommon(entry: number): boolean {
    if (this.#common.size === 0) return false;
    const hasOther = this.#words.some((word) => !this.#common.has(word) && this.#has(entry, word));
    return !hasOther && !this.#words.every((word) => this.#has(entry, word));
  }

  /** How much of the question its words are that only a few passages of the store have. */
  rareShare(entry: number): number {
    const rare = this.#rare.reduce(
      (sum, word) =>
        this.#has(entry, word) ? sum + word.share * (word.isName ? NAME_COUNTS : 1) : sum,
      0,
    );
    return rare / this.#asked;
  }

  /** The entries that have such a word. */
  rareEntries(): Set<number> {
    const { entry } = this.#index.columns;
    const slots = this.#rare.flatMap(({ postings }) => [...postings.slots]);
    return new Set(slots.map((slot) => entry[slot] as number));
  }

  get #rare(): readonly AskedWord[] {
    const most = rareMax(this.#index.passages);
    this.#rareWords ??= this.#words.filter(
      (word) =>
        word.postings.slots.length <= most &&
        !(word.standIn?.isNear && !word.standIn.isSure) &&
        !this.#common.has(word),
    );
    return this.#rareWords;
  }

  /** The words that any text may have. Only entries with a low score need them. */
  get #common(): ReadonlySet<AskedWord> {
    this.#commonWords ??= new Set(this.#words.filter(({ word }) => isCommonWord(word)));
    return this.#commonWords;
  }

  /** The share of all words, where those that any text may have count little, and endings that no text has nothing. */
  get #asked(): number {
    const counts = (word: AskedWord) => (this.#common.has(word) ? COMMON_COUNTS : 1);
    return this.#words
      .filter(({ word, postings }) => postings.slots.length > 0 || !isKana(word))
      .reduce((sum, word) => sum + word.share * counts(word), 0);
  }

  /** The entries that have all words; with `within`, those in these blocks. */
  complete(within?: Uint32Array): Set<number> {
    const { entry, session } = this.#index.columns;
    const found = new Set<number>();
    const slots = this.#words[0]?.postings.slots ?? new Uint32Array();
    const look = (from: number, until: number) => {
      for (let at = from; at < until; at += 1) {
        const slot = slots[at] as number;
        const first = entry[slot] as number;
        if (session[slot] !== 0 && !found.has(first) && this.hasAll(first)) found.add(first);
      }
    };
    if (!within) look(0, slots.length);
    let end = 0;
    for (const block of within ?? []) {
      const start = placeFrom(slots, block * BLOCK, end);
      end = placeFrom(slots, (block + 1) * BLOCK, start);
      look(start, end);
    }
    return found;
  }

  #has(entry: number, { postings: { slots } }: AskedWord): boolean {
    const slot = slots[placeFrom(slots, entry)];
    return slot !== undefined && this.#index.columns.entry[slot] === entry;
  }
}

/** An entry that lacks "reason" or "happen" may still answer. */
const COMMON_COUNTS = 0.3;

/** A shorter name may be one with a typo, and a shorter number a part of a version. */
const SURE_NAME = /^(?:[a-z]{5,}|\d{3,})$/;

/** A name tells what a question is about better than other words do. */
const NAME_COUNTS = 1.4;

/**
 * The most passages that have a rare word.
 *
 *     passages   1   10   100   1 000   100 000
 *     have it    1    2     4       5         8
 */
function rareMax(passages: number): number {
  return Math.min(Math.ceil(passages / 5), 2 + Math.round(1.1 * Math.log10(passages)));
}
