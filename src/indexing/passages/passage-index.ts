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
  /** The blocks of slots (`BLOCK`) in which a session has passages, ascending. Others may be among them. */
  blocksOfSession(number: number): Uint32Array;
  /** The number that stands for a session; `undefined` when no entry has it. */
  sessionNumber(id: string): number | undefined;
  /** The same for a role or a speaker. */
  labelNumber(text: string): number | undefined;
  label(number: number): string | undefined;
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

/** The place of a number in an ascending list, or -1. */
export function placeOf(numbers: Uint32Array, number: number): number {
  const place = placeFrom(numbers, number);
  return numbers[place] === number ? place : -1;
}

/** The first place in an ascending list whose number is not below `least`. Looks from `from` to `until`. */
export function placeFrom(
  numbers: Uint32Array,
  least: number,
  from = 0,
  until = numbers.length,
): number {
  let [start, end] = [from, until];
  while (start < end) {
    const middle = (start + end) >> 1;
    if ((numbers[middle] as number) < least) start = middle + 1;
    else end = middle;
  }
  return start;
}

/** The same, for a place that is probably not far behind `from`. */
function placeNear(numbers: Uint32Array, least: number, from: number): number {
  let [start, step] = [from, 1];
  while (start + step < numbers.length && (numbers[start + step] as number) < least) {
    start += step;
    step *= 2;
  }
  return placeFrom(numbers, least, start, Math.min(numbers.length, start + step + 1));
}

export const NOWHERE: Postings = { slots: new Uint32Array(), hits: new Uint8Array() };

/** The union of the lists, ascending. A slot in several of them gets the largest hits. */
export function unitePostings(lists: readonly Postings[]): Postings {
  let left = lists.filter(({ slots }) => slots.length > 0);
  left.sort((one, other) => one.slots.length - other.slots.length);
  // The longest waits for all others, so that it is copied once.
  const longest = left.pop() ?? NOWHERE;
  while (left.length > 1) {
    const pairs: Postings[] = [];
    for (let index = 0; index < left.length; index += 2) {
      const [one, other] = [left[index] ?? NOWHERE, left[index + 1]];
      pairs.push(other ? uniteTwo(one, other) : one);
    }
    left = pairs;
  }
  const [others] = left;
  if (!others) return longest;
  if (MUCH_LONGER * others.slots.length > longest.slots.length) return uniteTwo(others, longest);
  return withPostings(longest, others);
}

/** A list that is so many times as long as another is copied in stretches, not slot by slot. */
const MUCH_LONGER = 16;

function uniteTwo(one: Postings, other: Postings): Postings {
  const size = one.slots.length + other.slots.length;
  const slots = new Uint32Array(size);
  const hits = new Uint8Array(size);
  const [a, aHits, b, bHits] = [one.slots, one.hits, other.slots, other.hits];
  let length = 0;
  let at = 0;
  for (let index = 0; index < a.length; index += 1) {
    const slot = a[index] as number;
    while (at < b.length && (b[at] as number) < slot) {
      slots[length] = b[at] as number;
      hits[length++] = bHits[at++] as number;
    }
    slots[length] = slot;
    hits[length] = aHits[index] as number;
    if (at < b.length && b[at] === slot) {
      hits[length] = Math.max(hits[length] as number, bHits[at++] as number);
    }
    length += 1;
  }
  while (at < b.length) {
    slots[length] = b[at] as number;
    hits[length++] = bHits[at++] as number;
  }
  return upTo(length, slots, hits);
}

function upTo(length: number, slots: Uint32Array, hits: Uint8Array): Postings {
  if (length === slots.length) return { slots, hits };
  return { slots: slots.slice(0, length), hits: hits.slice(0, length) };
}

/** The postings whose slots `known` lacks. */
export function postingsBesides({ slots: known }: Postings, { slots, hits }: Postings): Postings {
  const fresh: number[] = [];
  let at = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] as number;
    at = placeNear(known, slot, at);
    if (known[at] !== slot) fresh.push(index);
  }
  if (fresh.length === slots.length) return { slots, hits };
  return {
    slots: Uint32Array.from(fresh, (index) => slots[index] as number),
    hits: Uint8Array.from(fresh, (index) => hits[index] as number),
  };
}

/** `known` and `added` together. What is between two added slots is copied as a whole. */
export function withPostings(known: Postings, added: Postings): Postings {
  const size = known.slots.length + added.slots.length;
  const slots = new Uint32Array(size);
  const hits = new Uint8Array(size);
  let length = 0;
  let from = 0;
  const takeUpTo = (until: number) => {
    if (until === from) return;
    slots.set(known.slots.subarray(from, until), length);
    hits.set(known.hits.subarray(from, until), length);
    length += until - from;
    from = until;
  };
  for (let index = 0; index < added.slots.length; index += 1) {
    const slot = added.slots[index] as number;
    takeUpTo(placeNear(known.slots, slot, from));
    slots[length] = slot;
    hits[length] = added.hits[index] as number;
    if (known.slots[from] === slot) {
      hits[length] = Math.max(hits[length] as number, known.hits[from++] as number);
    }
    length += 1;
  }
  takeUpTo(known.slots.length);
  return upTo(length, slots, hits);
}

/** The list without some slots. */
export function withoutSlots({ slots, hits }: Postings, gone: ReadonlySet<number>): Postings {
  const kept: number[] = [];
  for (let index = 0; index < slots.length; index += 1) {
    if (!gone.has(slots[index] as number)) kept.push(index);
  }
  if (kept.length === slots.length) return { slots, hits };
  return {
    slots: Uint32Array.from(kept, (index) => slots[index] as number),
    hits: Uint8Array.from(kept, (index) => hits[index] as number),
  };
}
