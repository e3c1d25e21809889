import type { Scratch } from "./scratch.ts";

/**
 * The words of all passages of a namespace, as ranking sees them. It has no texts.
 *
 * Each passage has a slot. Passages of a session that follow each other have consecutive slots, a
 * run. Four empty slots, the pads, separate two runs. Where a session goes on in another run,
 * its pads are linked to the slots that they stand for:
 *
 *     slots   0 1 │ 2 3 4 5 │ 6 7 8 9 │ 10 11 12 │ 13 …
 *             pads  a a a a    pads      a a a      pads
 *     links   6 → 10, 7 → 11, 8 → 4, 9 → 5
 *
 * An entry has consecutive slots, one for each of its passages.
 */
export interface PassageIndex {
  /** The number of slots. The first is 0. */
  readonly slots: number;
  /** The number of passages. */
  readonly passages: number;
  /**
   * The postings of a word; empty when no passage has it. `東*` is all words that begin so: a slot that
   * has several of them has the largest hits.
   */
  postings(word: string): Postings;
  /** A new object after every change. */
  readonly columns: PassageColumns;
  /** More columns. They are valid for this slot, or for all slots from it to `end`, and for no others. */
  details(slot: number, end?: number): DetailColumns;
  /** The number of sessions that have passages. */
  readonly sessions: number;
  /** The largest number that stands for a session. */
  readonly lastSession: number;
  readonly links: LinkChanges;
  /** The number that stands for a session; `undefined` when no entry has it. */
  sessionNumber(id: string): number | undefined;
  /** The same for a role or a speaker. */
  labelNumber(text: string): number | undefined;
  label(number: number): string | undefined;
  readonly scratch: Scratch;
}

/** Changes of the links of empty slots, which `columns.entry` has. */
export interface LinkChanges {
  /** Grows with every change of a link. */
  readonly version: number;
  /** The empty slots whose links have changed since a version; `undefined` when that is not known. */
  changedSince(version: number): readonly number[] | undefined;
}

/** The slots that have a word. A new object after every change. */
export interface Postings {
  /** Ascending. */
  readonly slots: Uint32Array;
  /**
   * For each slot: how often the text says the word, up to 15, in the low four bits; `BY_SPEAKER`
   * if the speaker's name has it; `ON_DATE` if the date of the entry has it.
   */
  readonly hits: Uint8Array;
}

export const SAID_MASK = 0b1111;
export const BY_SPEAKER = 1 << 4;
export const ON_DATE = 1 << 5;

/** Columns that every search reads in many slots. Each has an element per slot. */
export interface PassageColumns {
  /** The first slot of the passage's entry. For an empty slot, the slot that it stands for; 0 for none. */
  readonly entry: Uint32Array;
  /** The number of words, at most 255; 0 for an empty slot. */
  readonly length: Uint8Array;
  /** The number that stands for the session; 0 for an empty slot. */
  readonly session: Uint32Array;
  /** `PASSAGE_ASKS`, `ENTRY_SAYS_WHEN` … */
  readonly flags: Uint8Array;
}

/** Columns that filters and results need, in few slots. */
export interface DetailColumns {
  /** 0 for none. */
  readonly role: Uint32Array;
  readonly speaker: Uint32Array;
  /** The place in `MEMORY_KINDS`. */
  readonly kind: Uint8Array;
  /** Unix time in milliseconds; NaN if the entry has no time. */
  readonly time: Float64Array;
}

/** The passage ends with a question. */
export const PASSAGE_ASKS = 1;
/** The entry's text names a time. */
export const ENTRY_SAYS_WHEN = 2;
