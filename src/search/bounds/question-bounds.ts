import { BLOCK, blockOf } from "../block.ts";
import { mostLikely } from "../likelihood.ts";
import type { PassageIndex } from "../passage-index.ts";
import type { Question } from "../question.ts";
import type { QuestionEvidence } from "../question-evidence.ts";
import type { RankingWeights } from "../ranking-weights.ts";
import { BOUND_MAX } from "./word-bounds.ts";

/** Blocks whose upper bounds are about the same. */
interface BlockGroup {
  /** No block in this group, or a later one, has a larger upper bound. */
  readonly upperBound: number;
  readonly blocks: number[];
}

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
  /** The blocks that have any word of the question, best bounds first. */
  readonly groups: readonly BlockGroup[];
  readonly #sessions: Uint32Array;
  readonly #evidence: QuestionEvidence;
  readonly #session: number;
  /** By block, the sum of what words add at most. */
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
  ) {
    this.#sessions = index.columns.session;
    this.#evidence = evidence;
    this.#session = weights.session;
    this.#likely = mostLikely(question, false, weights);
    this.#likelyNamed = mostLikely(question, true, weights);
    const blocks = blockOf(index.slots) + 1;
    this.#words = new Float32Array(blocks);
    this.#named = new Uint8Array(blocks);
    const reached: number[] = [];
    for (const { summary, share } of evidence.words) {
      const unit = (share * (1 + weights.saturation)) / BOUND_MAX;
      for (let at = 0; at < summary.blocks.length; at += 1) {
        const block = summary.blocks[at] as number;
        // A speaker's name does not reach beside its passage, so its bound there is 0.
        if (summary.upperBounds[at] === 0) continue;
        if (this.#words[block] === 0) reached.push(block);
        (this.#words[block] as number) += unit * (summary.upperBounds[at] as number);
        (this.#named[block] as number) |= summary.named[at] as number;
      }
    }
    this.groups = this.#grouped(reached);
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

  /** Sorting all blocks would take longer than it saves. */
  #grouped(blocks: readonly number[]): BlockGroup[] {
    let best = 0;
    for (const block of blocks) best = Math.max(best, this.#boundInAnySession(block));
    const width = best / GROUPS;
    const groups = Array.from({ length: GROUPS + 1 }, (_, group) => ({
      upperBound: best - group * width,
      blocks: [] as number[],
    }));
    for (const block of blocks) {
      const group = Math.floor((best - this.#boundInAnySession(block)) / width);
      groups[group]?.blocks.push(block);
    }
    return groups;
  }
}
