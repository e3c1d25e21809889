import { placeFrom } from "../../search/binary-search.ts";
import type { Postings } from "../../search/passage-index.ts";

export const NOWHERE: Postings = { slots: new Uint32Array(), hits: new Uint8Array() };

/** The union of the lists, ascending. A slot in several of them gets the largest hits. */
export function unitePostings(lists: readonly Postings[]): Postings {
  let left = lists.filter(({ slots }) => slots.length > 0);
  if (left.length === 0) return NOWHERE;
  // Small ones first, so that a long list is copied once.
  left.sort((one, other) => one.slots.length - other.slots.length);
  while (left.length > 1) {
    const pairs: Postings[] = [];
    for (let index = 0; index < left.length; index += 2) {
      const [one, other] = [left[index] ?? NOWHERE, left[index + 1]];
      pairs.push(other ? uniteTwo(one, other) : one);
    }
    left = pairs;
  }
  return left[0] ?? NOWHERE;
}

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
  return length === size
    ? { slots, hits }
    : { slots: slots.slice(0, length), hits: hits.slice(0, length) };
}

/** The postings whose slots `known` lacks. */
export function postingsBesides({ slots: known }: Postings, { slots, hits }: Postings): Postings {
  const fresh: number[] = [];
  let at = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] as number;
    at = placeFrom(known, slot, at);
    if (known[at] !== slot) fresh.push(index);
  }
  if (fresh.length === slots.length) return { slots, hits };
  return {
    slots: Uint32Array.from(fresh, (index) => slots[index] as number),
    hits: Uint8Array.from(fresh, (index) => hits[index] as number),
  };
}

/** `known` and `added` together. Copies what lies between added slots as a whole. */
export function withPostings(known: Postings, added: Postings): Postings {
  const size = known.slots.length + added.slots.length;
  const all = { slots: new Uint32Array(size), hits: new Uint8Array(size) };
  let from = 0;
  const takeUpTo = (until: number, at: number) => {
    if (until === from) return;
    all.slots.set(known.slots.subarray(from, until), at);
    all.hits.set(known.hits.subarray(from, until), at);
    from = until;
  };
  for (let index = 0; index < added.slots.length; index += 1) {
    const slot = added.slots[index] as number;
    takeUpTo(placeFrom(known.slots, slot, from), from + index);
    all.slots[from + index] = slot;
    all.hits[from + index] = added.hits[index] as number;
  }
  takeUpTo(known.slots.length, from + added.slots.length);
  return all;
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
