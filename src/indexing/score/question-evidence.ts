import { type PassageIndex, type Postings, unitePostings } from "../passages/passage-index.ts";
import { isCommonWord } from "../words/common-words.ts";
import type { Question } from "./question.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import type { ScratchArrays } from "./scratch-arrays.ts";
import { sessionsBeside, timesBySession } from "./word-amounts.ts";
import { type WordSummary, wordSummary } from "./word-summaries.ts";

/** A word of the question, with its postings and summary in the index. */
export interface AskedWord {
  readonly word: string;
  readonly postings: Postings;
  readonly summary: WordSummary;
  /** How much of the question it is, by its rarity. The shares of all words add up to 1, unless others stand for some. */
  readonly share: number;
  /** Words of the index that stand for it, because no entry has it. */
  readonly standIn?: StandIn | undefined;
  /** It is written like a name, or has a digit. */
  readonly isName?: boolean;
}

/** Words of the index in place of one of a question that no entry has. */
export interface StandIn {
  /** The word of the question. */
  readonly word: string;
  readonly forms: readonly string[];
  /** Their weight, where the word itself would count 1. */
  readonly counts: number;
  /** These words are spelled almost like it, and may be others. */
  readonly isNear: boolean;
  /** A near word that is hardly another one. */
  readonly isSure?: boolean;
  /** Parts of the word, each with its own forms: an entry with both has more of the question than one with either. */
  readonly parts?: readonly { readonly part: string; readonly forms: readonly string[] }[];
}

/** By the form of the word that they stand for. */
export type StandIns = ReadonlyMap<string, StandIn>;

/** A session that says a word this often gets half of the most that the word can add. */
const SESSION_SATURATION = 1.2;

/** The question's words in the index, before a search looks at passages. */
export interface QuestionEvidence {
  readonly words: readonly AskedWord[];
  /** By number of a session, how much of the question it has. */
  readonly sessionShares: Float32Array;
  readonly bestSessionShare: number;
  /** The largest share of the question's words that one session has, names of speakers and dates included. */
  readonly bestCovered: number;
  /** Whether the question names a speaker. */
  readonly namesSpeaker: boolean;
}

/** Evidence for a question. With `within`, the blocks of one session, it lacks other blocks; with `sessionId`, the shares of other sessions. */
export function questionEvidence(
  index: PassageIndex,
  question: Question,
  weights: RankingWeights,
  arrays: ScratchArrays,
  {
    within,
    sessionId,
    standIns,
    sameText = [],
  }: {
    readonly within?: Uint32Array | undefined;
    readonly sessionId?: string;
    readonly standIns?: StandIns;
    readonly sameText?: readonly number[];
  },
): QuestionEvidence {
  const found = [...question.forms].flatMap(([form, word]) => {
    const standIn = standIns?.get(form);
    const forms = standIn?.forms ?? [form, ...(question.otherForms.get(word) ?? [])];
    const times = question.names.has(word) ? weights.name : 1;
    return (standIn?.parts ?? [{ part: word, forms }]).map(({ part, forms }) => {
      const postings = postingsOf(index, forms);
      const letters = standIn?.parts ? part.length / word.length : 1;
      return {
        word: part,
        postings,
        summary: wordSummary(index, postings, weights, within),
        standIn,
        isName: question.names.has(word) || /\d/.test(word),
        rarity: times * letters * rarity(part, postings.slots.length, index.passages),
      };
    });
  });
  const rarities = found.reduce((sum, { rarity }) => sum + rarity, 0);
  const words = found.map(({ rarity, ...rest }) => ({
    ...rest,
    share: ((rest.standIn?.counts ?? 1) * rarity) / rarities,
  }));
  const namesSpeaker = words.some(({ summary }) => summary.isName);
  const only = sessionId === undefined ? undefined : (index.sessionNumber(sessionId) ?? 0);
  const shares = sessionShares(index, { words, rarities, sameText, only }, arrays);
  return { words, namesSpeaker, ...shares };
}

/** The postings of a word in all of its forms. */
function postingsOf(index: PassageIndex, forms: readonly string[]): Postings {
  const [only] = forms;
  if (only !== undefined && forms.length === 1) return index.postings(only);
  return unitePostings(forms.map((form) => index.postings(form)));
}

/**
 * Smaller, the more passages have the word. Never 0, so that a store with one entry works. A small store cannot tell which
 * words are rare, so the fewer passages it has, the more those of usual texts count. It soon knows the words that it
 * has: those that all its texts have are no sign of one of them.
 *
 *     passages               1                25              100             250
 *     a word that it has     19 usual ones    none
 *     a word that it lacks   20 usual ones    18 usual ones   12 usual ones   none
 */
function rarity(word: string, having: number, passages: number): number {
  const until = having > 0 ? USUAL.untilKnown : USUAL.until;
  const usual = USUAL.passages * Math.max(0, 1 - passages / until);
  if (usual === 0) return rarityOf(having, Math.max(passages, having));
  const has = having + usual * (isCommonWord(word) ? USUAL.common : USUAL.other);
  return rarityOf(has, Math.max(passages, having) + usual);
}

/** Passages of usual texts, the passages of a store with which they count no more, and what part of them has a word. */
const USUAL = { passages: 20, until: 250, untilKnown: 25, common: 0.2, other: 0.005 } as const;

function rarityOf(having: number, all: number): number {
  return Math.log(1 + (Math.max(all, having) - having + 0.5) / (having + 0.5));
}

/** How much of the question each session has, or `only` one. Here a word counts by how few sessions have it. */
function sessionShares(
  index: PassageIndex,
  {
    words,
    rarities,
    sameText,
    only,
  }: {
    readonly words: readonly AskedWord[];
    readonly rarities: number;
    readonly sameText: readonly number[];
    readonly only: number | undefined;
  },
  { sessionShares: shares, covered }: ScratchArrays,
): Pick<QuestionEvidence, "sessionShares" | "bestSessionShare" | "bestCovered"> {
  for (const { postings, summary, share, standIn } of words) {
    const counts = standIn?.counts ?? 1;
    const rarity = rarityOf(summary.sessions.length, index.sessions);
    const most = (counts * (1 + SESSION_SATURATION) * rarity) / rarities;
    const asking = [...timesBySession(index, postings, sameText)];
    const before = asking.map(([session]) => [shares[session], covered[session]] as const);
    addToAll(covered, summary.sessions, share);
    if (only === undefined) addShares(shares, summary, most);
    else (shares[only] as number) += shareOf(timesIn(summary, only), most);
    if (asking.length === 0) continue;
    // A word in the asking texts tells nothing of their sessions.
    const beside = sessionsBeside(index, postings, sameText);
    for (const [nth, [session, byAsking]] of asking.entries()) {
      const [shareBefore = 0, coveredBefore = 0] = before[nth] ?? [];
      const times = Math.max(0, timesIn(summary, session) - byAsking);
      const isThere = times > 0 || beside[session] === 1;
      if (only === undefined || session === only)
        shares[session] = shareBefore + shareOf(times, most);
      covered[session] = coveredBefore + (isThere ? share : 0);
    }
  }
  const bestSessionShare =
    only === undefined ? largest(shares, index.lastSession) : (shares[only] as number);
  return {
    sessionShares: shares,
    bestSessionShare,
    bestCovered: largest(covered, index.lastSession),
  };
}

/** How often a session says a word; 0 where it does not have it. */
function timesIn({ sessions, said }: WordSummary, session: number): number {
  return said[sessions.indexOf(session)] ?? 0;
}

function shareOf(times: number, most: number): number {
  return (most * times) / (times + SESSION_SATURATION);
}

// Each loop is a function of its own. Where they were in one, V8 compiled it again and again.

function addToAll(covered: Float32Array, sessions: Uint32Array, share: number): void {
  for (let at = 0; at < sessions.length; at += 1)
    (covered[sessions[at] as number] as number) += share;
}

function addShares(shares: Float32Array, { sessions, said }: WordSummary, most: number): void {
  for (let at = 0; at < sessions.length; at += 1)
    (shares[sessions[at] as number] as number) += shareOf(said[at] as number, most);
}

/** The largest of the numbers up to the place `last`, or 0. */
function largest(numbers: Float32Array, last: number): number {
  let most = 0;
  for (let at = 0; at <= last; at += 1) {
    const number = numbers[at] as number;
    if (number > most) most = number;
  }
  return most;
}
