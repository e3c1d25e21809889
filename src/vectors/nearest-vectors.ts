import type { SimilarSlot, SlotBitmap, VectorQuestion } from "./code-table.ts";

export interface SlotRow {
  readonly slot: number;
  readonly row: Uint8Array;
}

export interface NearestVectors {
  /** The slots whose vectors are likely to be most like the question's, the likeliest first. */
  readonly slots: readonly number[];
  /** The cosines of those of them that are given, most alike first. */
  compare(slots: readonly number[]): readonly SimilarSlot[];
}

/**
 * The vectors that are most like the question's; of those in `wanted`, when it is given.
 * `readRows` gives the rows of slots, in any order.
 *
 *     all codes ─► 300 with the fewest bits that differ ─► 128 that are likest
 *                  judged by their codes ─► compared by their rows
 */
export function nearestVectors(
  question: VectorQuestion,
  readRows: (slots: readonly number[]) => readonly SlotRow[],
  options: { readonly wanted?: SlotBitmap | undefined; readonly among: number },
): NearestVectors {
  const amounts = options.among <= MANY ? USUAL : OF_MANY;
  const likely = question.nearest({ ...amounts, wanted: options.wanted });
  return {
    slots: likely.map(({ slot }) => slot),
    compare(slots) {
      const rows = readRows(slots);
      const similarities = question.compare(rows.map(({ row }) => row));
      return rows
        .map(({ slot }, index) => ({ slot, similarity: similarities[index] ?? 0 }))
        .sort((one, other) => other.similarity - one.similarity || one.slot - other.slot);
    },
  };
}

/** The more there are, the more of them have nearly as many bits in common as the nearest. */
const MANY = 200_000;
const USUAL = { scanned: 300, best: 128 };
const OF_MANY = { scanned: 1000, best: 200 };
