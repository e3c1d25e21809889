/** What a soak measured of one thing, over its whole time. */
export interface Series {
  readonly name: string;
  readonly unit: "MB" | "ms" | "files" | "pieces of work";
  /** One number for each moment, all moments equally far apart. */
  readonly values: readonly number[];
  /** How much of its median it may change and be flat. */
  readonly most: number;
}

export interface Trend {
  /** The median of the last two thirds. */
  readonly median: number;
  /** How much it rose or fell over the last two thirds, as a share of the median. */
  readonly change: number;
  readonly isFlat: boolean;
}

/**
 * The trend of the last two thirds. The first third is for caches that fill. The slope is the median of those of all
 * pairs of moments (Theil and Sen), so a few moments on a busy machine do not count.
 */
export function trendOf({ values, most }: Series): Trend {
  const last = values.slice(Math.floor(values.length / 3));
  const slopes = last.flatMap((value, at) =>
    last.slice(at + 1).map((later, after) => (later - value) / (after + 1)),
  );
  const median = medianOf(last);
  const rise = medianOf(slopes) * Math.max(0, last.length - 1);
  const change = median === 0 ? rise : rise / median;
  return { median, change, isFlat: change <= most };
}

function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
