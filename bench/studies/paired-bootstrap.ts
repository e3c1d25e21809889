import { randomFrom } from "../data/random.ts";

/** A mean difference and its 95 % confidence interval. */
export interface Difference {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 2000;

/** Resamples the differences of pairs, one per question. */
export function pairedBootstrap(differences: readonly number[]): Difference {
  const random = randomFrom(1);
  const count = differences.length;
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let drawn = 0; drawn < count; drawn += 1) {
      sum += differences[Math.floor(random() * count)] ?? 0;
    }
    return sum / count;
  }).sort((one, other) => one - other);
  return {
    mean: differences.reduce((sum, value) => sum + value, 0) / count,
    low: means[Math.floor(0.025 * RESAMPLES)] ?? 0,
    high: means[Math.floor(0.975 * RESAMPLES)] ?? 0,
  };
}
