import { type EntryQuery, type FoundEntry, findEntries } from "../../../search/find-entries.ts";
import { fuseLikeness, type Likenesses } from "../../../search/fuse-likeness.ts";
import type { PassageIndex } from "../../../search/passage-index.ts";
import { wantedSlots } from "../../../search/wanted-slots.ts";
import { likeness } from "../../../vectors/calibration.ts";
import type { SimilarSlot, SlotBitmap } from "../../../vectors/code-table.ts";
import { nearestVectors } from "../../../vectors/nearest-vectors.ts";
import type { Connection } from "../connection.ts";
import type { EmbeddedQueries } from "./embed-query.ts";
import { loadedVectors } from "./memory-vector-codes.ts";
import { readVectorRows } from "./memory-vector-rows.ts";
import { calibrationOf, findSpace } from "./memory-vector-space.ts";

/** The questions of a search as an embedder sees them, in their order. */
export type EmbeddedSearch = EmbeddedQueries & {
  /** Only vectors of this embedder are compared with theirs. */
  readonly embedder: string;
};

/**
 * Entries by words, and by what they mean where there are vectors of the same embedder. Part of
 * the transaction that reads the texts.
 */
export function findByMeaning(
  db: Connection,
  namespace: number,
  index: PassageIndex,
  query: EntryQuery,
  embedded: EmbeddedSearch | undefined,
  cacheBytes?: number,
): readonly FoundEntry[] {
  if (!embedded) return findEntries(index, query);
  if ("problem" in embedded) {
    const found = findEntries(index, query);
    return query.explain ? found.map((entry) => withoutVectors(entry, embedded.problem)) : found;
  }
  const wanted = wantedSlots(index, query);
  const { texts, ...rest } = query;
  const best = new Map<number, FoundEntry>();
  for (const [which, text] of texts.entries()) {
    const vector = embedded.vectors[which];
    const likenesses =
      vector && likenessesTo(db, namespace, embedded.embedder, vector, wanted, cacheBytes);
    const found = likenesses
      ? fuseLikeness(index, { ...rest, text }, likenesses)
      : findEntries(index, { ...query, texts: [text] });
    for (const entry of found) {
      if (entry.score > (best.get(entry.slot)?.score ?? -1)) best.set(entry.slot, entry);
    }
  }
  return [...best.values()]
    .sort((one, other) => other.score - one.score || one.slot - other.slot)
    .slice(0, query.limit);
}

function withoutVectors(entry: FoundEntry, problem: string): FoundEntry {
  const parts = [...(entry.explanation?.parts ?? []), { name: "vector", of: problem, adds: 0 }];
  return { ...entry, explanation: { parts } };
}

/** `undefined` when the embedder has embedded nothing yet. `wanted` leaves out all other slots. */
function likenessesTo(
  db: Connection,
  namespace: number,
  embedder: string,
  vector: Float32Array,
  wanted: SlotBitmap | undefined,
  cacheBytes: number | undefined,
): Likenesses | undefined {
  const space = findSpace(db, namespace, embedder);
  const calibration = space && calibrationOf(space);
  if (!space || !calibration || space.dimensions !== vector.length) return undefined;
  const { table, rows } = loadedVectors(db, space, cacheBytes);
  const question = table.ask(vector);
  const readRows = (slots: readonly number[]) => readVectorRows(db, space.number, slots, rows);
  const nearest = nearestVectors(question, readRows, { wanted, among: table.count });
  const calibrated = ({ slot, similarity }: SimilarSlot) => ({
    slot,
    likeness: likeness(similarity, calibration),
  });
  return {
    nearest: nearest.slots,
    most: likeness(question.most, calibration),
    ofNearest: (slots) => nearest.compare(slots).map(calibrated),
    of: (slots) => question.judge(slots).map(calibrated),
  };
}
