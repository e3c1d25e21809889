import type { SimilarSlot, SlotBitmap, VectorQuestion } from "./code-table.ts";

export interface SlotRow {
  readonly slot: number;
  readonly row: Uint8Array;
}

/**
 * The slots whose vectors are likely to be most like the question's, the likeliest first; of those in
 * `wanted`, when it is given.
 *
 *     all codes ─► 300 with the fewest bits that differ ─► 128 that are likest
 *                  judged by their codes ─► compared by their rows
 */
export function nearestVectors(
  question: VectorQuestion,
  options: { readonly wanted?: SlotBitmap | undefined; readonly among: number },
): readonly number[] {
  const amounts = options.among <= MANY ? USUAL : OF_MANY;
  return question.nearest({ ...amounts, wanted: options.wanted }).map(({ slot }) => slot);
}

/** The cosines of rows, most alike first. */
export function compareRows(
  question: VectorQuestion,
  rows: readonly SlotRow[],
): readonly SimilarSlot[] {
  const similarities = question.compare(rows.map(({ row }) => row));
  return rows
    .map(({ slot }, index) => ({ slot, similarity: similarities[index] ?? 0 }))
    .sort((one, other) => other.similarity - one.similarity || one.slot - other.slot);
}

/** The more there are, the more of them have nearly as many bits in common as the nearest. */
const MANY = 200_000;
const USUAL = { scanned: 300, best: 128 };
const OF_MANY = { scanned: 1000, best: 200 };
