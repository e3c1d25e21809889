import type { PassageIndex } from "../passages/passage-index.ts";
import { maxLikelihood } from "./likelihood.ts";
import type { Question } from "./question.ts";
import type { QuestionEvidence } from "./question-evidence.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import type { ScratchArrays } from "./scratch-arrays.ts";
import { BLOCK } from "./word-amounts.ts";
import { BOUND_MAX } from "./word-summaries.ts";

/** Sums of the same numbers differ a little when they are added in another order. */
const ROUNDING = 1e-5;
const GROUPS = 64;

/**
 * Upper bounds of a question: no passage in a block has a larger relevance.
 *
 *     bound = (Σ share · bound of the word + 0.45 · share of the best session) · likelihood
 *
 * A search that has enough results with a larger relevance skips the block, and loses nothing.
 */
export class QuestionBounds {
  /** The blocks that have any word of the question, best bounds first, but for differences below `#groupWidth`. */
  readonly order: Uint32Array;
  #groupWidth = 0;
  readonly #sessions: Uint32Array;
  readonly #evidence: QuestionEvidence;
  readonly #session: number;
  /** By block, the sum of the words' upper bounds. */
  readonly #words: Float32Array;
  /** By block, 1 where the question names a speaker. */
  readonly #named: Uint8Array;
  readonly #likely: number;
  /** `#likely` in a block where the question names a speaker. */
  readonly #likelyNamed: number;

  constructor(
    index: PassageIndex,
    question: Question,
    evidence: QuestionEvidence,
    weights: RankingWeights,
    { bounds: words, named, reached }: ScratchArrays,
  ) {
    this.#sessions = index.columns.session;
    this.#evidence = evidence;
    this.#session = weights.session;
    this.#likely = maxLikelihood(question, false, weights);
    this.#likelyNamed = maxLikelihood(question, true, weights);
    let count = 0;
    for (const { summary, share } of evidence.words) {
      const unit = (share * (1 + weights.saturation)) / BOUND_MAX;
      for (let at = 0; at < summary.blocks.length; at += 1) {
        const block = summary.blocks[at] as number;
        if (words[block] === 0) reached[count++] = block;
        (words[block] as number) += unit * (summary.upperBounds[at] as number);
        if (summary.named[at] === 1) named[block] = 1;
      }
    }
    this.#words = words;
    this.#named = named;
    this.order = this.#ordered(reached.subarray(0, count));
  }

  /** Whether a passage in the block, or in a later one of `order`, can have this relevance. */
  anyCanReach(block: number, relevance: number): boolean {
    return this.#boundInAnySession(block) + this.#groupWidth >= relevance;
  }

  /** Whether a passage in the block can have this relevance. */
  canReach(block: number, relevance: number): boolean {
    if (this.#boundInAnySession(block) < relevance) return false;
    const { sessionShares } = this.#evidence;
    const sessions = this.#sessions;
    let before = 0;
    for (let slot = block * BLOCK; slot < (block + 1) * BLOCK; slot += 1) {
      const session = sessions[slot] ?? 0;
      if (session === before || session === 0) continue;
      if (this.#bound(block, sessionShares[session] as number) >= relevance) return true;
      before = session;
    }
    return false;
  }

  /** The largest likelihood of a passage in the block. */
  likelihood(block: number): number {
    return this.#named[block] === 1 ? this.#likelyNamed : this.#likely;
  }

  #boundInAnySession(block: number): number {
    return this.#bound(block, this.#evidence.bestSessionShare);
  }

  #bound(block: number, sessionShare: number): number {
    const relevance = (this.#words[block] as number) + this.#session * sessionShare;
    return ROUNDING + relevance * this.likelihood(block);
  }

  /** Puts blocks into groups by counting: sorting by the bounds themselves takes longer than it saves. */
  #ordered(blocks: Uint32Array): Uint32Array {
    let best = 0;
    for (let at = 0; at < blocks.length; at += 1) {
      best = Math.max(best, this.#boundInAnySession(blocks[at] as number));
    }
    this.#groupWidth = best / (GROUPS - 1);
    const groupOf = new Uint8Array(blocks.length);
    const places = new Uint32Array(GROUPS + 1);
    for (let at = 0; at < blocks.length; at += 1) {
      const group = Math.floor(
        (best - this.#boundInAnySession(blocks[at] as number)) / this.#groupWidth,
      );
      groupOf[at] = group;
      (places[group + 1] as number) += 1;
    }
    for (let group = 1; group < GROUPS; group += 1) {
      (places[group] as number) += places[group - 1] as number;
    }
    const order = new Uint32Array(blocks.length);
    for (let at = 0; at < blocks.length; at += 1) {
      const group = groupOf[at] as number;
      order[places[group] as number] = blocks[at] as number;
      (places[group] as number) += 1;
    }
    return order;
  }
}
