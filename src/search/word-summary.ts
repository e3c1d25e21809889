import {
  BY_SPEAKER,
  ON_DATE,
  PASSAGE_ASKS,
  type PassageIndex,
  type Postings,
  SAID_MASK,
} from "./passage-index.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { stretchOf } from "./stretches.ts";
import { halvesAt, REACH } from "./word-evidence.ts";

/** What a word gives each stretch of slots at most, and how often each session says it: small, since many are kept. */
export interface WordSummary {
  /** Stretches that the word reaches, ascending. */
  readonly stretches: Uint32Array;
  /** For each, the most that the word gives one of its slots, `ALL` being the most that there is. */
  readonly most: Uint8Array;
  /** Those of them where a speaker's name has it. */
  readonly named: Uint32Array;
  /** Sessions that have the word. */
  readonly sessions: Uint32Array;
  /** How often each says it: not at all where only a speaker's name or a date has it. */
  readonly said: Uint16Array;
}

export const ALL = 255;

/** Reads all postings of a word. */
export function newSummary(
  index: PassageIndex,
  postings: Postings,
  weights: RankingWeights,
): WordSummary {
  return { ...ofStretches(index, postings, weights), ...ofSessions(index, postings) };
}

function ofStretches(index: PassageIndex, postings: Postings, weights: RankingWeights) {
  const { length } = index.columns;
  const { amounts, touched, most: mostIn, reached } = zerosFor(index.slots);
  const halves = halvesAt(weights);
  const touchedCount = spread(index, postings, weights, amounts, touched);
  let count = 0;
  for (let at = 0; at < touchedCount; at += 1) {
    const slot = touched[at] as number;
    const amount = amounts[slot] as number;
    const stretch = stretchOf(slot);
    // Of an empty slot the length is 0: whatever comes there is longer, and has less.
    const share = amount / (amount + (halves[length[slot] as number] as number));
    if (mostIn[stretch] === 0) reached[count++] = stretch;
    if (share > (mostIn[stretch] as number)) mostIn[stretch] = share;
    amounts[slot] = 0;
  }
  const stretches = reached.slice(0, count).sort();
  const most = new Uint8Array(count);
  for (let at = 0; at < count; at += 1) {
    const stretch = stretches[at] as number;
    most[at] = Math.ceil((mostIn[stretch] as number) * ALL);
    mostIn[stretch] = 0;
  }
  return { stretches, most, named: stretchesNamed(postings) };
}

/** Adds up how much of a word comes to which slots, and gives how many those are: the first of `touched`. */
function spread(
  { columns, links }: PassageIndex,
  { slots, hits }: Postings,
  { speaker, date, neighbour, answer }: RankingWeights,
  amounts: Float32Array,
  touched: Uint32Array,
): number {
  const { session, flags } = columns;
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] as number;
    const hit = hits[index] as number;
    const said = hit & SAID_MASK;
    const own =
      said + ((hit & BY_SPEAKER) !== 0 ? speaker : 0) + ((hit & ON_DATE) !== 0 ? date : 0);
    if (amounts[slot] === 0 && own > 0) touched[count++] = slot;
    (amounts[slot] as number) += own;
    if (said === 0) continue;
    const answers = ((flags[slot] as number) & PASSAGE_ASKS) !== 0 ? said * answer : 0;
    for (let away = -REACH; away <= REACH; away += 1) {
      const amount = said * neighbour + (away === 1 ? answers : 0);
      if (away === 0 || amount === 0) continue;
      const near = slot + away;
      const to = session[near] === 0 ? (links.get(near) ?? near) : near;
      if (amounts[to] === 0) touched[count++] = to;
      (amounts[to] as number) += amount;
    }
  }
  return count;
}

export function stretchesNamed({ slots, hits }: Postings): Uint32Array {
  const named: number[] = [];
  for (let index = 0; index < slots.length; index += 1) {
    if (((hits[index] as number) & BY_SPEAKER) === 0) continue;
    const stretch = stretchOf(slots[index] as number);
    if (stretch !== named.at(-1)) named.push(stretch);
  }
  return Uint32Array.from(named);
}

function ofSessions({ columns, lastSession }: PassageIndex, { slots, hits }: Postings) {
  const { times, having } = zerosFor(lastSession + 1);
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const number = columns.session[slots[index] as number] as number;
    if (times[number] === 0) having[count++] = number;
    // Counts begin at 1, so that it is known who was met.
    (times[number] as number) +=
      (times[number] === 0 ? 1 : 0) + ((hits[index] as number) & SAID_MASK);
  }
  const sessions = having.slice(0, count);
  const said = new Uint16Array(count);
  for (let at = 0; at < count; at += 1) {
    const number = sessions[at] as number;
    said[at] = Math.min((times[number] as number) - 1, SAID_MAX);
    times[number] = 0;
  }
  return { sessions, said };
}

/** What sessions say, with what is new. */
export function sessionsWith(
  { columns, lastSession }: PassageIndex,
  { sessions, said }: WordSummary,
  { slots, hits }: Postings,
): Pick<WordSummary, "sessions" | "said"> {
  // Places begin at 1, so that it is known who has none.
  const { times: places } = zerosFor(lastSession + 1);
  for (let at = 0; at < sessions.length; at += 1) places[sessions[at] as number] = at + 1;
  const fresh: number[] = [];
  for (let index = 0; index < slots.length; index += 1) {
    const number = columns.session[slots[index] as number] as number;
    if (places[number] === 0) places[number] = sessions.length + fresh.push(number);
  }
  const allSessions = new Uint32Array(sessions.length + fresh.length);
  const allSaid = new Uint16Array(allSessions.length);
  allSessions.set(sessions);
  allSessions.set(fresh, sessions.length);
  allSaid.set(said);
  for (let index = 0; index < slots.length; index += 1) {
    const place = (places[columns.session[slots[index] as number] as number] as number) - 1;
    const times = (allSaid[place] as number) + ((hits[index] as number) & SAID_MASK);
    allSaid[place] = Math.min(times, SAID_MAX);
  }
  for (let at = 0; at < allSessions.length; at += 1) places[allSessions[at] as number] = 0;
  return { sessions: allSessions, said: allSaid };
}

/** More of a word makes no difference to what a session has of it. */
const SAID_MAX = 65_535;

/** Arrays that words use one after the other; each leaves zeros. */
let zeros = newZeros(0);

/** Long enough for so many slots, or sessions. */
function zerosFor(many: number): typeof zeros {
  if (zeros.touched.length < many) zeros = newZeros(Math.ceil(many * 1.25));
  return zeros;
}

function newZeros(many: number) {
  const amounts = new Float32Array(many);
  const touched = new Uint32Array(many);
  const stretches = stretchOf(many) + 1;
  return {
    /** By slot, how much there is of a word, … */
    amounts,
    /** … and the slots that have any of it. */
    touched,
    /** By stretch, the most that it gives a slot, … */
    most: new Float32Array(stretches),
    /** … and the stretches that it gives any. */
    reached: new Uint32Array(stretches),
    /** By session, how often it says the word, … */
    times: new Uint32Array(many),
    /** … and sessions that have it. */
    having: touched,
  };
}
