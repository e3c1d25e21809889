import type { SimilarSlot, SlotBitmap, VectorQuestion } from "./code-table.ts";

export interface SlotRow {
  readonly slot: number;
  readonly row: Uint8Array;
}

/**
 * The slots whose vectors are most like the question's, with their cosines, most alike first; of
 * those in `wanted`, when it is given. `readRows` gives the rows of slots, in any order.
 *
 *     all codes ─► 300 with the fewest bits that differ ─► 96 that are likest
 *                  judged by their codes ─► compared by their rows
 */
export function nearestVectors(
  question: VectorQuestion,
  readRows: (slots: readonly number[]) => readonly SlotRow[],
  options: { readonly wanted?: SlotBitmap | undefined; readonly among: number },
): readonly SimilarSlot[] {
  const amounts = options.among <= MANY ? USUAL : OF_MANY;
  const likely = question.nearest({ ...amounts, wanted: options.wanted });
  const rows = readRows(likely.map(({ slot }) => slot));
  const similarities = question.compare(rows.map(({ row }) => row));
  return rows
    .map(({ slot }, index) => ({ slot, similarity: similarities[index] ?? 0 }))
    .sort((one, other) => other.similarity - one.similarity || one.slot - other.slot);
}

/** The more there are, the more of them have nearly as many bits in common as the nearest. */
const MANY = 200_000;
const USUAL = { scanned: 300, best: 128 };
const OF_MANY = { scanned: 1000, best: 200 };
