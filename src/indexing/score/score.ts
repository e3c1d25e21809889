import type { PassageIndex } from "../passages/passage-index.ts";
import type { Question } from "./question.ts";
import type { QuestionEvidence } from "./question-evidence.ts";

/**
 * The least match of a result, unless the query sets another floor. A large store has some words of any
 * question, and one of many sessions has many of them in one session, so their floor is higher.
 * `docs/decisions/0004-ranking.md` has the measurements.
 *
 *     passages   10     30     100    250 and more
 *     floor      0.08   0.16   0.24   0.30
 *
 *     sessions   30     50     75 and more
 *     floor      0.30   0.32   0.34
 */
export function floorOf({
  passages,
  sessions,
}: Pick<PassageIndex, "passages" | "sessions">): number {
  const byPassages = Math.min(USUAL_FLOOR, LEAST_FLOOR + 0.16 * tenfold(passages, 10));
  return Math.min(MOST_FLOOR, byPassages + 0.1 * tenfold(sessions, 30));
}

const LEAST_FLOOR = 0.08;
const USUAL_FLOOR = 0.3;
const MOST_FLOOR = 0.34;

/** How many times `count` is ten times as much as `start`. */
function tenfold(count: number, start: number): number {
  return Math.log10(Math.max(1, count / start));
}

/** The steepness of the match. A passage with all words of the question, and nothing else for it, has 0.8. */
const STEEPNESS = 1.6;
/** The power of a long question, and the addition for a short one. */
const LONG = 0.75;
const SHORT = 1.5;
/** A question that names a speaker of this store is likely about this store. */
const SPEAKER_KNOWN = 1.5;

/**
 * A match from 0 to 1 that grows with the relevance. Matches of different questions are comparable.
 *
 *     match = 1 - e^(-1.6 · relevance^(0.75 + 1.5 / words))
 *
 * The relevance is about the share of the question's words that a passage has. One word of two is
 * there by chance more often than four of eight, so the same share of a shorter question is less of a match.
 */
export function matchOf(relevance: number, question: Question): number {
  return 1 - Math.exp(-STEEPNESS * relevance ** power(question));
}

/** The least match of an entry that has all words of the question: more than any floor. */
const COMPLETE_MATCH = 0.5;

/** The relevance of which `matchOf` makes `COMPLETE_MATCH`. */
export function completeRelevance(question: Question): number {
  return relevanceOf(COMPLETE_MATCH, question);
}

/** The relevance of which `matchOf` makes this match; infinite for 1. */
export function relevanceOf(match: number, question: Question): number {
  return (-Math.log(1 - match) / STEEPNESS) ** (1 / power(question));
}

function power(question: Question): number {
  return LONG + SHORT / Math.max(1, question.words.length);
}

/**
 * The likelihood that the question is about anything in this store: 1 when one session has all
 * of its words, more when it names a speaker. It is the same for all entries, so it decides
 * whether there are results, and not their order.
 */
export function confidenceOf(
  evidence: Pick<QuestionEvidence, "bestCovered" | "namesSpeaker">,
): number {
  return Math.sqrt(evidence.bestCovered) * (evidence.namesSpeaker ? SPEAKER_KNOWN : 1);
}

/** Matches up to this are reported as they are. Above it, they are pressed together below 1. */
const REPORTED_AS_IS = 0.8;
/** The most of any text except the question's own, as a match and as a score. */
const NOT_THE_SAME_MAX = 0.95;

/** The match that a store reports for a text that is not the question's own, which has 1. Order is kept. */
export function reportedMatch(match: number): number {
  if (match <= REPORTED_AS_IS) return match;
  const part = (Math.min(match, 1) - REPORTED_AS_IS) / (1 - REPORTED_AS_IS);
  return REPORTED_AS_IS + part * (NOT_THE_SAME_MAX - REPORTED_AS_IS);
}

/** The least match that is reported as `reported` or more; above 1 where only the same text is. */
export function unreportedMatch(reported: number): number {
  if (reported <= REPORTED_AS_IS) return reported;
  const part = (reported - REPORTED_AS_IS) / (NOT_THE_SAME_MAX - REPORTED_AS_IS);
  return REPORTED_AS_IS + part * (1 - REPORTED_AS_IS);
}

/** The parts of a question that decide, beside the matches of its results, how sure the answers are. */
export interface Asked {
  readonly words: number;
  /** Whether the question names a speaker. Then all that this speaker said has a part of it. */
  readonly namesSpeaker?: boolean;
  /** The passages that were searched. */
  readonly passages: number;
  /** The least match of a result. The best one leads by no more than it leads this. */
  readonly floor: number;
}

/** The parts of the logarithm of the odds that a result is right. */
interface Odds {
  readonly always: number;
  /** With its match. */
  readonly match: number;
  /** With how far it is behind the best one. */
  readonly behind: number;
  /** The best one has `best` more, and `lead` with how far it leads. */
  readonly best: number;
  readonly lead: number;
  readonly words: number;
  /** With ten times as many passages, up to the most that were measured. */
  readonly passages: number;
  readonly passagesMax: number;
  readonly namesSpeaker: number;
}

/**
 * By how matches were computed. Fitted by logistic regression to which results are right
 * (`node bench/studies/score-certainty.ts`, `docs/decisions/0004-ranking.md`).
 */
export const ODDS = {
  words: {
    ...{ always: -2.6, match: 1.05, behind: 2.2, best: 0.65, lead: 2.5 },
    ...{ words: 1.1, passages: -0.3, passagesMax: 10_000, namesSpeaker: -1.35 },
  },
  /** The share of the words, without their rarity. */
  share: {
    ...{ always: -1.3, match: 0.8, behind: 0.5, best: 0.85, lead: 0.9 },
    ...{ words: 0.45, passages: -0.8, passagesMax: 1000, namesSpeaker: 0 },
  },
  cosine: {
    ...{ always: -0.3, match: 1.15, behind: 0.2, best: 0.85, lead: 1 },
    ...{ words: 0.65, passages: -1, passagesMax: 1000, namesSpeaker: 0 },
  },
} as const satisfies Record<string, Odds>;

/** The largest lead that counts: four and a half times the next one. */
const LEAD_MAX = 1.5;
/** Seven of ten results with .7 are right, half of those with .62, and one of ten with .41. */
const SCORE = { times: 0.4, plus: 0.51 } as const;

/**
 * The scores of the results of one question, from their matches, the best first. A match says how much of the question an
 * entry has; its score, how sure it is that it is the answer:
 *
 *     match    .93   .91   .88         alike, so none of them is sure
 *     score    .58   .42   .41
 *     match    .93   .35               one of them leads
 *     score    .83   .19
 */
export function scoresOf(matches: readonly number[], asked: Asked, odds: Odds = ODDS.words) {
  const amounts = matches.map(amountOf);
  const [best = 0, next = 0] = amounts;
  const lead = Math.log(best / Math.max(next, amountOf(asked.floor)));
  const same =
    odds.always +
    odds.words * Math.log(asked.words + 1) +
    odds.passages * Math.log10(Math.min(odds.passagesMax, Math.max(1, asked.passages))) +
    (asked.namesSpeaker ? odds.namesSpeaker : 0);
  return amounts.map((amount, at) => {
    const place =
      at === 0
        ? odds.best + odds.lead * Math.min(LEAD_MAX, Math.max(0, lead))
        : odds.behind * Math.log(amount / best);
    const sure = same + odds.match * Math.log(amount + 0.01) + place;
    const score = 1 / (1 + Math.exp(-SCORE.times * sure - SCORE.plus));
    // A result that has little of the question is not sure, whatever it leads.
    return Math.min(score, matches[at] ?? 0, NOT_THE_SAME_MAX);
  });
}

/** Grows like the relevance, also where matches are nearly 1. */
function amountOf(match: number): number {
  return Math.min(AMOUNT_MAX, -Math.log1p(-match));
}

const AMOUNT_MAX = 40;

interface RankedEntry {
  readonly entry: number;
  /** Its best passage. */
  readonly slot: number;
  readonly value: number;
}

/** Values that differ less are equal: sums of the same numbers differ a little when added in another order. */
const SAME = 1e-6;

/** Keeps the best of the entries that it is offered. Each is kept once, with the value of its best passage. */
export class BestEntries {
  readonly #index: PassageIndex;
  readonly #entryOf: Uint32Array;
  readonly #limit: number;
  // The kept entries, best first.
  readonly #entries: Uint32Array;
  readonly #slots: Uint32Array;
  readonly #values: Float64Array;
  #count = 0;
  /** Entries with a lower value are not kept. */
  least = 0;

  /** The value of the best; 0 when none is kept. */
  get most(): number {
    return this.#values[0] ?? 0;
  }

  constructor(index: PassageIndex, limit: number) {
    this.#index = index;
    this.#entryOf = index.columns.entry;
    this.#limit = Math.min(limit, index.passages);
    this.#entries = new Uint32Array(this.#limit);
    this.#slots = new Uint32Array(this.#limit);
    this.#values = new Float64Array(this.#limit);
  }

  offer(entry: number, slot: number, exact: number): void {
    const value = Math.round(exact / SAME) * SAME;
    if (value < this.least) return;
    const before = this.#placeOfKept(entry, slot);
    if (before >= 0 && (this.#values[before] as number) >= value) return;
    const last = before >= 0 ? before : Math.min(this.#count, this.#limit - 1);
    const place = this.#placeOf(entry, value);
    if (place > last) return;
    this.#entries.copyWithin(place + 1, place, last);
    this.#slots.copyWithin(place + 1, place, last);
    this.#values.copyWithin(place + 1, place, last);
    this.#entries[place] = entry;
    this.#slots[place] = slot;
    this.#values[place] = value;
    if (before < 0) this.#count = Math.min(this.#count + 1, this.#limit);
    if (this.#count === this.#limit) this.least = (this.#values[this.#count - 1] as number) - SAME;
  }

  *[Symbol.iterator](): Iterator<RankedEntry> {
    for (let at = 0; at < this.#count; at += 1) {
      yield {
        entry: this.#entries[at] as number,
        slot: this.#slots[at] as number,
        value: this.#values[at] as number,
      };
    }
  }

  /** The place of an entry that is kept already, or -1. */
  #placeOfKept(entry: number, slot: number): number {
    // Most entries have one passage, and it is offered once.
    if (slot === entry && this.#entryOf[slot + 1] !== entry) return -1;
    return this.#entries.subarray(0, this.#count).indexOf(entry);
  }

  /** The place where an entry with this value belongs. */
  #placeOf(entry: number, value: number): number {
    let [from, until] = [0, this.#count];
    while (from < until) {
      const middle = (from + until) >> 1;
      if (this.#comesBefore(middle, entry, value)) from = middle + 1;
      else until = middle;
    }
    return from;
  }

  /** Best first; of equal ones, the older first, and one without a time last. */
  #comesBefore(place: number, entry: number, value: number): boolean {
    const kept = this.#values[place] as number;
    if (kept !== value) return kept > value;
    const other = this.#entries[place] as number;
    const [its, others] = [this.#timeOf(other), this.#timeOf(entry)];
    return its === others ? other < entry : its < others;
  }

  #timeOf(entry: number): number {
    const time = this.#index.details(entry).time[entry] ?? Number.NaN;
    return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time;
  }
}
