import type { PassageIndex } from "./passage-index.ts";
import type { AskedWord } from "./question-evidence.ts";
import type { RankingWeights } from "./ranking-weights.ts";
import { STRETCH } from "./stretches.ts";
import { halvesAt, placeOf, WordEvidence } from "./word-evidence.ts";

/** Finds what share of a question is in each slot of a stretch and around it. */
export class StretchShares {
  readonly #words: readonly AskedWord[];
  readonly #weights: RankingWeights;
  readonly #lengths: Uint8Array;
  readonly #evidence: WordEvidence;
  readonly #shares = new Float32Array(STRETCH);

  constructor(index: PassageIndex, words: readonly AskedWord[], weights: RankingWeights) {
    this.#words = words;
    this.#weights = weights;
    this.#lengths = index.columns.length;
    this.#evidence = new WordEvidence(index, weights);
  }

  /** By slot of the stretch, until the next is read. */
  read(stretch: number): Float32Array {
    const { amounts } = this.#evidence;
    const shares = this.#shares.fill(0);
    const halves = halvesAt(this.#weights);
    const start = stretch * STRETCH;
    this.#evidence.moveTo(stretch);
    for (const { postings, summary, share } of this.#words) {
      if (placeOf(summary.stretches, stretch) < 0) continue;
      this.#evidence.read(postings);
      const most = share * (1 + this.#weights.saturation);
      for (let at = 0; at < STRETCH; at += 1) {
        const amount = amounts[at] as number;
        if (amount === 0) continue;
        const half = halves[this.#lengths[start + at] as number] as number;
        (shares[at] as number) += (most * amount) / (amount + half);
      }
    }
    return shares;
  }
}
