import { randomFrom } from "../data/random.ts";

/** How sure a mean difference is: 95 of 100 resamples have it between `low` and `high`. */
export interface Difference {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 2000;

/** Of differences of pairs, one for each question. */
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
