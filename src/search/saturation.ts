import type { RankingWeights } from "./ranking-weights.ts";

/** A passage of this many words scores the same whatever `RankingWeights.length` is. */
const USUAL_LENGTH = 30;

/**
 * How much a word adds, given its amount in a passage: 1 for a word that a passage of usual
 * length says once. More of it adds less and less, up to `1 + saturation`.
 */
export function saturated(amount: number, length: number, weights: RankingWeights): number {
  return (amount * (1 + weights.saturation)) / (amount + halfAt(length, weights));
}

/** For each length of a passage, the amount of a word that adds half of the maximum. */
export function halvesAt(weights: RankingWeights): Float32Array {
  const known = HALVES.get(weights);
  if (known) return known;
  const halves = Float32Array.from({ length: LENGTHS }, (_, length) => halfAt(length, weights));
  HALVES.set(weights, halves);
  return halves;
}

const HALVES = new WeakMap<RankingWeights, Float32Array>();
const LENGTHS = 256;

function halfAt(length: number, weights: RankingWeights): number {
  return weights.saturation * (1 + weights.length * (length / USUAL_LENGTH - 1));
}
