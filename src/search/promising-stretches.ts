import { mostLikely } from "./likelihood.ts";
import type { PassageIndex } from "./passage-index.ts";
import type { Question } from "./question.ts";
import type { QuestionEvidence } from "./question-evidence.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH, stretchOf } from "./stretches.ts";
import { ALL } from "./word-summary.ts";

/** Sums come out a little different in another order. */
const ROUNDING = 1e-5;

/**
 * The stretches that have any of a question, and what passages in them can be worth at most, which
 * is known without a look at those:
 *
 *     most = (Σ share · most of the word + 0.45 · share of its best session) · likelihood
 *
 * Whoever has enough results that are better than that leaves a stretch out, and has lost nothing.
 */
export class PromisingStretches {
  /** The most promising ones first, roughly. */
  readonly order: Uint32Array;
  /** By slot. */
  readonly #sessions: Uint32Array;
  readonly #evidence: QuestionEvidence;
  readonly #session: number;
  /** By stretch, what the words give at most. The array is that of the next question, too. */
  readonly #words: Float32Array;
  /** By stretch, 1 where somebody is whom the question names. */
  readonly #named: Uint8Array;
  /** What a passage is times at most, … */
  readonly #likely: number;
  /** … and where somebody is whom the question names. */
  readonly #likelier: number;
  /** What is worth that much more is in an earlier group. */
  #groupWidth = 0;

  constructor(
    index: PassageIndex,
    question: Question,
    evidence: QuestionEvidence,
    weights: RankingWeights,
  ) {
    const { words, named, reached, groups, order } = zerosFor(stretchOf(index.slots) + 1);
    this.#sessions = index.columns.session;
    this.#evidence = evidence;
    this.#session = weights.session;
    this.#words = words;
    this.#named = named;
    this.#likely = mostLikely(question, false, weights);
    this.#likelier = mostLikely(question, true, weights);
    let count = 0;
    for (const { summary, share } of evidence.words) {
      const unit = (share * (1 + weights.saturation)) / ALL;
      for (let at = 0; at < summary.stretches.length; at += 1) {
        const stretch = summary.stretches[at] as number;
        if (words[stretch] === 0) reached[count++] = stretch;
        (words[stretch] as number) += unit * (summary.most[at] as number);
      }
      for (const stretch of summary.named) named[stretch] = 1;
    }
    this.order = this.#roughlySorted(reached.subarray(0, count), groups, order);
  }

  /** Whether a passage there, or in one that comes later, can be worth so much. */
  anyCanHave(stretch: number, value: number): boolean {
    return this.#anywhere(stretch) + this.#groupWidth >= value;
  }

  /** Whether a passage there can be worth so much. */
  canHave(stretch: number, value: number): boolean {
    if (this.#anywhere(stretch) < value) return false;
    const { sessionShares } = this.#evidence;
    const sessions = this.#sessions;
    let before = 0;
    for (let slot = stretch * STRETCH; slot < (stretch + 1) * STRETCH; slot += 1) {
      const session = sessions[slot] ?? 0;
      if (session === before || session === 0) continue;
      if (this.#most(stretch, sessionShares[session] as number) >= value) return true;
      before = session;
    }
    return false;
  }

  /** What a passage there is times at most. */
  likeliest(stretch: number): number {
    return this.#named[stretch] === 1 ? this.#likelier : this.#likely;
  }

  /** What a passage there can be worth, were it of the best session. */
  #anywhere(stretch: number): number {
    return this.#most(stretch, this.#evidence.bestSessionShare);
  }

  #most(stretch: number, sessionShare: number): number {
    const relevance = (this.#words[stretch] as number) + this.#session * sessionShare;
    return ROUNDING + relevance * this.likeliest(stretch);
  }

  /** Those that can have more come into earlier ones of 64 groups. */
  #roughlySorted(stretches: Uint32Array, groups: Uint8Array, order: Uint32Array): Uint32Array {
    let best = 0;
    for (let at = 0; at < stretches.length; at += 1) {
      best = Math.max(best, this.#anywhere(stretches[at] as number));
    }
    this.#groupWidth = best / (GROUPS - 1);
    const starts = new Uint32Array(GROUPS + 1);
    for (let at = 0; at < stretches.length; at += 1) {
      groups[at] = (best - this.#anywhere(stretches[at] as number)) / this.#groupWidth;
      (starts[(groups[at] as number) + 1] as number) += 1;
    }
    for (let group = 1; group < GROUPS; group += 1) {
      (starts[group] as number) += starts[group - 1] as number;
    }
    for (let at = 0; at < stretches.length; at += 1) {
      const group = groups[at] as number;
      order[starts[group] as number] = stretches[at] as number;
      (starts[group] as number) += 1;
    }
    return order.subarray(0, stretches.length);
  }
}

const GROUPS = 64;

/** Arrays that searches use one after the other. */
let arrays = newArrays(0);

function zerosFor(stretches: number): typeof arrays {
  if (arrays.words.length < stretches) arrays = newArrays(Math.ceil(stretches * 1.25));
  arrays.words.fill(0, 0, stretches);
  arrays.named.fill(0, 0, stretches);
  return arrays;
}

function newArrays(stretches: number) {
  return {
    words: new Float32Array(stretches),
    named: new Uint8Array(stretches),
    reached: new Uint32Array(stretches),
    groups: new Uint8Array(stretches),
    order: new Uint32Array(stretches),
  };
}
