import { summaryOf } from "./index-summary.ts";
import {
  BY_SPEAKER,
  ON_DATE,
  type PassageIndex,
  type Postings,
  SAID_MASK,
} from "./passage-index.ts";
import type { Question } from "./question.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { stem } from "./stem.ts";
import { addShares, followLinks, halvesAt, REACH, spreadWord } from "./word-evidence.ts";
import { isBeginning } from "./words.ts";

/** A word of the question, where it is, and the share of the question that it is. */
export interface AskedWord {
  readonly word: string;
  readonly postings: Postings;
  readonly share: number;
}

/** How much of a word in a session is half of the most that it can give. */
const SESSION_SATURATION = 1.2;

/**
 * How much of a question is where. It is in arrays that the next question uses again, so one
 * is read to its end before the next is asked for.
 */
export interface QuestionEvidence {
  readonly words: readonly AskedWord[];
  /** The slots that have any of the question, each once: the first `count` of these. */
  readonly slots: Uint32Array;
  readonly count: number;
  /** By slot, the share of the question in it and around it. Whoever has read one sets it to 0. */
  readonly shares: Float32Array;
  /** By number of a session, its share of the question. */
  readonly sessionShares: Float32Array;
  /** The share of the question's words that one session has, its speakers' names and its date included. */
  readonly bestSession: number;
  /** Somebody who has spoken has a name that the question says. */
  readonly namesSpeaker: boolean;
}

export function questionEvidence(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights,
): QuestionEvidence {
  const asked = askedWords(index, question, weights);
  const { amounts, shares, touched, slots } = slotArrays(index.slots + REACH);
  const { flags, length, session } = index.columns;
  const halves = halvesAt(weights);
  let count = 0;
  for (const { postings, share } of asked.words) {
    const spread = spreadWord(postings, flags, weights, amounts, touched);
    const all = followLinks(index, amounts, touched, spread);
    const most = share * (1 + weights.saturation);
    const word = { share: most, amounts, touched, count: all };
    count = addShares(word, length, halves, { shares, slots, count });
  }
  return { words: asked.words, slots, count, shares, ...sessionShares(index, asked, session) };
}

function askedWords(index: PassageIndex, question: Question, weights: RankingWeights): AskedWords {
  const wordOfForm = new Map(
    question.words.map((word) => [isBeginning(word) ? word : stem(word), word]),
  );
  const found = [...wordOfForm].map(([form, word]) => {
    const postings = isBeginning(word) ? index.postingsOfBeginning(form) : index.postings(form);
    const times = question.names.has(word) ? weights.name : 1;
    return { word, postings, rarity: times * rarity(postings.slots.length, index.passages) };
  });
  const rarities = found.reduce((sum, { rarity }) => sum + rarity, 0);
  const words = found.map(({ word, postings, rarity }) => ({
    word,
    postings,
    share: rarity / rarities,
  }));
  return { words, rarities };
}

interface AskedWords {
  readonly words: readonly AskedWord[];
  /** The sum of how much each of them tells. */
  readonly rarities: number;
}

/** How much a word tells: the less, the more passages have it. Never 0, so that a store of one entry works. */
function rarity(having: number, passages: number): number {
  return Math.log(1 + (Math.max(passages, having) - having + 0.5) / (having + 0.5));
}

/** What each session has of the question; there, a word counts by how few sessions have it. */
function sessionShares(
  index: PassageIndex,
  { words, rarities }: AskedWords,
  session: Uint32Array,
): Pick<QuestionEvidence, "sessionShares" | "bestSession" | "namesSpeaker"> {
  const { sessions, lastSession } = summaryOf(index);
  const { counts, having, shares, covered } = sessionArrays(lastSession + 1);
  shares.fill(0);
  covered.fill(0);
  let allHits = 0;
  let bestSession = 0;
  for (const { postings, share } of words) {
    const { slots, hits } = postings;
    let count = 0;
    for (let at = 0; at < slots.length; at += 1) {
      const hit = hits[at] as number;
      const number = session[slots[at] as number] as number;
      allHits |= hit;
      if ((hit & IN_SESSION) === 0) continue;
      if (counts[number] === 0) having[count++] = number;
      (counts[number] as number) += ONCE * (hit & SAID_MASK);
      (counts[number] as number) |= 1;
    }
    const most = ((1 + SESSION_SATURATION) * rarity(count, sessions)) / rarities;
    for (let at = 0; at < count; at += 1) {
      const number = having[at] as number;
      const times = (counts[number] as number) >>> 1;
      counts[number] = 0;
      (shares[number] as number) += (most * times) / (times + SESSION_SATURATION);
      (covered[number] as number) += share;
      bestSession = Math.max(bestSession, covered[number] as number);
    }
  }
  return { sessionShares: shares, bestSession, namesSpeaker: (allHits & BY_SPEAKER) !== 0 };
}

const IN_SESSION = SAID_MASK | BY_SPEAKER | ON_DATE;
/** Counts leave the lowest bit to say that a session has the word, be it in a name or a date alone. */
const ONCE = 2;

/** Arrays by slot that searches use one after the other. `amounts` and `shares` are zeros in between. */
let bySlot = newSlotArrays(0);

function slotArrays(slots: number): typeof bySlot {
  if (bySlot.amounts.length < slots) bySlot = newSlotArrays(Math.ceil(slots * 1.25));
  return bySlot;
}

function newSlotArrays(slots: number) {
  return {
    /** Of one word. */
    amounts: new Float32Array(slots),
    /** Of the question. */
    shares: new Float32Array(slots),
    /** Slots with any of one word, … */
    touched: new Uint32Array(slots),
    /** … and with any of the question. */
    slots: new Uint32Array(slots),
  };
}

/** The same by session; `counts` is zeros in between. */
let bySession = newSessionArrays(0);

function sessionArrays(sessions: number): typeof bySession {
  if (bySession.counts.length < sessions) bySession = newSessionArrays(Math.ceil(sessions * 1.25));
  return bySession;
}

function newSessionArrays(sessions: number) {
  return {
    /** How often it says one word. */
    counts: new Uint32Array(sessions),
    /** Sessions that have that word. */
    having: new Uint32Array(sessions),
    /** Of the question. */
    shares: new Float32Array(sessions),
    covered: new Float32Array(sessions),
  };
}
