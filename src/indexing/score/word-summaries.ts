import {
  BY_SPEAKER,
  NOWHERE,
  type PassageIndex,
  type Postings,
  placeOf,
  SAID_MASK,
  unitePostings,
} from "../passages/passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { BLOCK, blockOf, halvesAt, REACH, WordAmounts } from "./word-amounts.ts";

/** The bounds and counts of a word, which a search reads before it looks at passages. */
export interface WordSummary extends WordBounds, SessionCounts {}

/** A part of a word's summary, and the postings that it lacks. */
interface Known<Part> {
  readonly part: Part;
  readonly added: Postings;
}

interface KnownBounds extends Known<WordBounds> {
  readonly weights: RankingWeights;
  /** The version of the index's links that they are true for. */
  readonly linksVersion: number;
}

/**
 * The summary of a word. It is made at the first search for the word and kept as long as its
 * postings are. When postings were added or links changed, only the blocks that this reaches are
 * made again. A search in some blocks alone (`within`) needs no bounds of others: for it, bounds that are not known
 * are made for those blocks only, and are not kept.
 */
export function wordSummary(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  within?: Uint32Array,
): WordSummary {
  return { ...boundsOf(index, postings, weights, within), ...countsOf(index, postings) };
}

/** Passes the summary of a word on to its new postings, which are `from` and `added`. */
export function passOnSummary(from: Postings, to: Postings, added: Postings): void {
  const passOn = <Part extends Known<unknown>>(known: WeakMap<Postings, Part>) => {
    const part = known.get(from);
    if (part) known.set(to, { ...part, added: unitePostings([part.added, added]) });
  };
  passOn(BOUNDS);
  passOn(COUNTS);
}

function boundsOf(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  within?: Uint32Array,
): WordBounds {
  const known = BOUNDS.get(postings);
  const pads =
    known?.weights === weights ? index.links.changedSince(known.linksVersion) : undefined;
  if (known && pads?.length === 0 && known.added.slots.length === 0) return known.part;
  if (within) return mergeBounds(NO_BOUNDS, boundsIn(index, postings, weights, within));
  const isGrown = known && pads && FEW * known.added.slots.length < postings.slots.length;
  const changed = isGrown ? known.added : postings;
  const blocks = blocksReached(index, changed, blocksLinked(index, postings, pads ?? []));
  const older = isGrown ? known.part : NO_BOUNDS;
  const part = mergeBounds(older, boundsIn(index, postings, weights, blocks));
  BOUNDS.set(postings, { part, weights, linksVersion: index.links.version, added: NOWHERE });
  return part;
}

const BOUNDS = new WeakMap<Postings, KnownBounds>();
const COUNTS = new WeakMap<Postings, Known<SessionCounts>>();
/** When more than a fourth of the postings is new, all bounds are made again. */
const FEW = 4;
const NO_BOUNDS: WordBounds = {
  blocks: new Uint32Array(),
  upperBounds: new Uint8Array(),
  named: new Uint8Array(),
};
const NO_COUNTS: SessionCounts = {
  sessions: new Uint32Array(),
  said: new Uint16Array(),
  isName: false,
};

/** An upper bound per block of a word's share in one of its slots. */
export interface WordBounds {
  /** The blocks that the word reaches, ascending. */
  readonly blocks: Uint32Array;
  /** For each of them the upper bound, above 0. `BOUND_MAX` stands for all that a word can add. */
  readonly upperBounds: Uint8Array;
  /** For each of them 1 where a speaker's name has the word, else 0. */
  readonly named: Uint8Array;
}

export const BOUND_MAX = 255;

/** The bounds in some blocks. */
function boundsIn(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
  blocks: Uint32Array,
): WordBounds {
  const { length } = index.columns;
  const halves = halvesAt(weights);
  const word = new WordAmounts(index, weights);
  const { amounts } = word;
  const upperBounds = new Uint8Array(blocks.length);
  const named = new Uint8Array(blocks.length);
  for (let place = 0; place < blocks.length; place += 1) {
    const block = blocks[place] as number;
    const start = block * BLOCK;
    word.moveTo(block);
    word.read(postings);
    let best = 0;
    for (let at = word.from; at < word.until; at += 1) {
      const amount = amounts[at] as number;
      // An empty slot has length 0. A passage that comes there is longer, so the word adds less to it.
      const share = amount / (amount + (halves[length[start + at] ?? 0] as number));
      if (share > best) best = share;
    }
    upperBounds[place] = Math.ceil(best * BOUND_MAX);
    named[place] = word.isNamed ? 1 : 0;
  }
  return { blocks, upperBounds, named };
}

/** The blocks that postings reach, ascending, and those of `more`. */
function blocksReached(
  { columns: { session, entry }, slots: end }: PassageIndex,
  { slots }: Postings,
  more: readonly number[] = [],
): Uint32Array {
  const isReached = new Uint8Array(blockOf(end + REACH) + 1);
  for (const block of more) isReached[block] = 1;
  for (let at = 0; at < slots.length; at += 1) {
    const slot = slots[at] as number;
    isReached[blockOf(slot - REACH)] = 1;
    isReached[blockOf(slot + REACH)] = 1;
    for (let near = slot - REACH; near <= slot + REACH; near += 1) {
      const to = session[near] === 0 ? (entry[near] as number) : 0;
      if (to !== 0) isReached[blockOf(to)] = 1;
    }
  }
  let count = 0;
  for (let block = 0; block < isReached.length; block += 1) count += isReached[block] as number;
  const blocks = new Uint32Array(count);
  for (let block = 0, at = 0; at < count; block += 1) {
    if (isReached[block] === 1) blocks[at++] = block;
  }
  return blocks;
}

/** The blocks around empty slots that stand for a slot with the word. */
function blocksLinked(
  { columns: { session, entry } }: PassageIndex,
  { slots }: Postings,
  pads: readonly number[],
): number[] {
  return pads.flatMap((pad) => {
    const to = session[pad] === 0 ? (entry[pad] as number) : 0;
    if (to === 0 || placeOf(slots, to) < 0) return [];
    return [blockOf(pad - REACH), blockOf(pad + REACH)];
  });
}

/** Puts bounds of the same word together. Where both have a block, `newer` counts. Bounds of 0 go. */
function mergeBounds(older: WordBounds, newer: WordBounds): WordBounds {
  if (older.blocks.length === 0 && !newer.upperBounds.includes(0)) return newer;
  const size = older.blocks.length + newer.blocks.length;
  const blocks = new Uint32Array(size);
  const upperBounds = new Uint8Array(size);
  const named = new Uint8Array(size);
  const blockAt = (from: WordBounds, place: number) =>
    from.blocks[place] ?? Number.POSITIVE_INFINITY;
  let count = 0;
  for (let [old, fresh] = [0, 0]; old < older.blocks.length || fresh < newer.blocks.length; ) {
    const isNewer = blockAt(newer, fresh) <= blockAt(older, old);
    if (blockAt(newer, fresh) === blockAt(older, old)) old += 1;
    const from = isNewer ? newer : older;
    const place = isNewer ? fresh++ : old++;
    // A speaker's name does not reach the passages around its own.
    if (from.upperBounds[place] === 0) continue;
    blocks[count] = from.blocks[place] as number;
    upperBounds[count] = from.upperBounds[place] as number;
    named[count] = from.named[place] as number;
    count += 1;
  }
  return {
    blocks: blocks.slice(0, count),
    upperBounds: upperBounds.slice(0, count),
    named: named.slice(0, count),
  };
}

/** The number of times that each session says a word. */
export interface SessionCounts {
  /** Numbers of the sessions that have the word. */
  readonly sessions: Uint32Array;
  /** For each of them, how often it says it: 0 where only a speaker's name or a date has it. */
  readonly said: Uint16Array;
  /** Whether a speaker's name has the word anywhere. */
  readonly isName: boolean;
}

/** Larger counts make no difference to a score. */
const SAID_MAX = 65_535;

/** The counts of all postings. They are kept: the next prompt in a session often has the same words. */
function countsOf(index: PassageIndex, postings: Postings): SessionCounts {
  const known = COUNTS.get(postings);
  if (known?.added.slots.length === 0) return known.part;
  const part = known
    ? withCounts(index, known.part, known.added)
    : withCounts(index, NO_COUNTS, postings);
  COUNTS.set(postings, { part, added: NOWHERE });
  return part;
}

/** Arrays for counting one word. `places` has zeros between two words. */
const COUNTING = {
  /** By session, its place plus 1; 0 where it has none yet. */
  places: new Uint32Array(),
  sessions: new Uint32Array(),
  said: new Uint16Array(),
};

function makeRoom(sessions: number): void {
  if (COUNTING.places.length >= sessions) return;
  const room = Math.ceil(1.25 * sessions);
  COUNTING.places = new Uint32Array(room);
  COUNTING.sessions = new Uint32Array(room);
  COUNTING.said = new Uint16Array(room);
}

/** The counts with those of more postings added. */
function withCounts(
  { columns: { session }, lastSession }: PassageIndex,
  known: SessionCounts,
  { slots, hits }: Postings,
): SessionCounts {
  makeRoom(lastSession + 1);
  const { places, sessions, said } = COUNTING;
  let count = known.sessions.length;
  sessions.set(known.sessions);
  said.set(known.said);
  for (let at = 0; at < count; at += 1) places[sessions[at] as number] = at + 1;
  let allHits = known.isName ? BY_SPEAKER : 0;
  for (let at = 0; at < slots.length; at += 1) {
    const number = session[slots[at] as number] as number;
    const hit = hits[at] as number;
    let place = places[number] as number;
    if (place === 0) {
      sessions[count] = number;
      said[count] = 0;
      place = count += 1;
      places[number] = place;
    }
    allHits |= hit;
    const times = (said[place - 1] as number) + (hit & SAID_MASK);
    said[place - 1] = times < SAID_MAX ? times : SAID_MAX;
  }
  for (let at = 0; at < count; at += 1) places[sessions[at] as number] = 0;
  return {
    sessions: sessions.slice(0, count),
    said: said.slice(0, count),
    isName: (allHits & BY_SPEAKER) !== 0,
  };
}
