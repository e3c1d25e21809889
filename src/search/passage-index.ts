/**
 * The words of all passages of a namespace, as ranking sees them. Stores give it;
 * nothing in it is a text.
 *
 * Passages have slots. Slots next to each other are passages that follow each other
 * in one session. Between any two runs of such passages four slots are empty; where
 * a session goes on in another run, `links` leads there:
 *
 *     slots   0 1 │ 2 3 4 5 │ 6 7 8 9 │ 10 11 12 │ 13 …
 *             pads  a a a a    pads      a a a      pads
 *     links   6 → 10, 7 → 11, 8 → 4, 9 → 5
 *
 * An entry has consecutive slots, one for each of its passages.
 */
export interface PassageIndex {
  /** Slots are 0 to this, without it. */
  readonly slots: number;
  /** How many passages there are. */
  readonly passages: number;
  /** Where a word is; nowhere when it is unknown. */
  postings(word: string): Postings;
  /** Where any word is that begins so; of several in one slot, the largest hits. */
  postingsOfBeginning(beginning: string): Postings;
  /** Another object whenever anything in them has changed. */
  readonly columns: PassageColumns;
  /** Has what else is known of a slot, or of all from it up to another, and says nothing of others. */
  details(slot: number, end?: number): DetailColumns;
  /** How many sessions have passages, … */
  readonly sessions: number;
  /** … and the largest number of one. */
  readonly lastSession: number;
  /** An empty slot at the end of a run, and the slot of the same session that it stands for. */
  readonly links: PassageLinks;
  /** The number that stands for a session, a role or a speaker; `undefined` when no entry has it. */
  sessionNumber(id: string): number | undefined;
  labelNumber(text: string): number | undefined;
  label(number: number): string | undefined;
}

export interface PassageLinks {
  get(slot: number): number | undefined;
  /** Grows whenever one leads elsewhere. */
  readonly version: number;
  /** The empty slots that lead elsewhere since a version; `undefined` when they are not known. */
  changedSince(version: number): readonly number[] | undefined;
}

/** Where a word is, by slot. Another object whenever it is elsewhere. */
export interface Postings {
  /** Ascending. */
  readonly slots: Uint32Array;
  /**
   * For each slot: in the low four bits how often the text says it, up to 15; `BY_SPEAKER`
   * when the speaker's name has it, `ON_DATE` when the date of the entry has it.
   */
  readonly hits: Uint8Array;
}

export const SAID_MASK = 0b1111;
export const BY_SPEAKER = 1 << 4;
export const ON_DATE = 1 << 5;

/** What every search looks at, in many slots. Arrays are as long as there are slots. */
export interface PassageColumns {
  /** The first slot of the passage's entry. Of an empty slot it says nothing. */
  readonly entry: Uint32Array;
  /** Words of the passage, at most 255; 0 also for an empty slot. */
  readonly length: Uint8Array;
  /** 0 for an empty slot, and for no other. */
  readonly session: Uint32Array;
  /** `PASSAGE_ASKS`, `ENTRY_SAYS_WHEN` … */
  readonly flags: Uint8Array;
}

/** What is asked of the few slots that may be results, or by filters. Arrays are as long as those. */
export interface DetailColumns {
  /** 0 for none. */
  readonly role: Uint32Array;
  readonly speaker: Uint32Array;
  /** Position in `MEMORY_KINDS`. */
  readonly kind: Uint8Array;
  /** Unix time in milliseconds; NaN when the entry has none. */
  readonly time: Float64Array;
}

/** The passage ends with a question. */
export const PASSAGE_ASKS = 1;
/** The entry's text names a time. */
export const ENTRY_SAYS_WHEN = 2;
