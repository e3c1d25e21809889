import { type PassageIndex, placeOf } from "../passages/passage-index.ts";
import type { AskedWord } from "./question-evidence.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { BLOCK, halvesAt, WordAmounts } from "./word-amounts.ts";

/** How much of a question each slot of a block has, its neighbours included. */
export class BlockShares {
  readonly #words: readonly AskedWord[];
  readonly #weights: RankingWeights;
  readonly #lengths: Uint8Array;
  readonly #wordAmounts: WordAmounts;
  readonly #shares = new Float32Array(BLOCK);

  constructor(index: PassageIndex, words: readonly AskedWord[], weights: RankingWeights) {
    this.#words = words;
    this.#weights = weights;
    this.#lengths = index.columns.length;
    this.#wordAmounts = new WordAmounts(index, weights);
  }

  /** By slot of the block. The next call overwrites it. */
  read(block: number): Float32Array {
    const { amounts } = this.#wordAmounts;
    const shares = this.#shares.fill(0);
    const halves = halvesAt(this.#weights);
    const start = block * BLOCK;
    this.#wordAmounts.moveTo(block);
    for (const { postings, summary, share } of this.#words) {
      if (placeOf(summary.blocks, block) < 0) continue;
      this.#wordAmounts.read(postings);
      const most = share * (1 + this.#weights.saturation);
      const { from, until } = this.#wordAmounts;
      for (let at = from; at < until; at += 1) {
        const amount = amounts[at] as number;
        if (amount === 0) continue;
        const half = halves[this.#lengths[start + at] as number] as number;
        (shares[at] as number) += (most * amount) / (amount + half);
      }
    }
    return shares;
  }
}
