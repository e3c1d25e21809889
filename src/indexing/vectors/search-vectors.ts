import type { PassageIndex } from "../passages/passage-index.ts";
import type { EntryQuery, FoundEntry } from "../score/entry-query.ts";
import { bestOf, findAnswers } from "../score/find-entries.ts";
import { fuseLikeness } from "../score/fuse-likeness.ts";
import { saysNothing } from "../score/question.ts";
import { wantedSlots } from "../score/slot-filter.ts";
import type { KnownVectors, SimilarSlot, SlotBitmap, VectorQuestion } from "./code-table.ts";
import { calibrationOf, likeness } from "./store-vectors.ts";

/** The vectors of questions in their order, none for one without known words, or why there are none. Only vectors of the same embedder are compared. */
export type EmbeddedSearch = {
  readonly embedder: string;
  /** The embedder counts words, and was not trained. */
  readonly counted?: boolean;
} & ({ readonly vectors: readonly (Float32Array | undefined)[] } | { readonly problem: string });

/** Entries that were found, as soon as the rows of some vectors are known. */
export interface Finding {
  /** Slots whose rows `finish` needs. */
  readonly near: readonly number[];
  /** Slots that results may have. */
  readonly likely: readonly number[];
  finish(rows: readonly SlotRow[]): readonly FoundEntry[];
}

/** The passages of a namespace and their vectors. */
interface VectorIndex extends PassageIndex {
  readonly vectors: Pick<KnownVectors, "space" | "table">;
}

/** Finds entries by words, and by meaning where the index has vectors of the embedder. */
export function findByMeaning(
  index: VectorIndex,
  query: EntryQuery,
  { vectors, counted = false }: Extract<EmbeddedSearch, { readonly vectors: unknown }>,
): Finding {
  const wanted = wantedSlots(index, query);
  const { texts, ...rest } = query;
  const findings = texts.map((text, at): Finding => {
    const vector = vectors[at];
    // Some entry is always the nearest.
    const asked = vector && !saysNothing(text, query.at) && likenessesTo(index, vector, wanted);
    if (!asked) {
      const { found } = findAnswers(index, text, rest);
      return { near: [], likely: slotsOf(found), finish: () => found };
    }
    const fusion = fuseLikeness(index, { ...rest, text }, { ...asked.likenesses, counted });
    const near = new Set(fusion.near);
    return {
      near: fusion.near,
      likely: fusion.candidates,
      finish: (rows) => fusion.finish(asked.compare(rows.filter(({ slot }) => near.has(slot)))),
    };
  });
  return {
    near: [...new Set(findings.flatMap(({ near }) => near))],
    likely: findings.flatMap(({ likely }) => likely),
    finish: (rows) =>
      bestOf(
        findings.map(({ finish }) => finish(rows)),
        query.limit,
      ),
  };
}

function slotsOf(found: readonly FoundEntry[]): number[] {
  return found.map(({ slot }) => slot);
}

/** `undefined` when the embedder has embedded nothing yet. `wanted` leaves out all other slots. */
function likenessesTo(index: VectorIndex, vector: Float32Array, wanted: Uint32Array | undefined) {
  const { space, table } = index.vectors;
  const calibration = space && calibrationOf(space);
  if (!table || !calibration || space.dimensions !== vector.length) return undefined;
  const question = table.ask(vector);
  const calibrated = ({ slot, similarity }: SimilarSlot) => ({
    slot,
    likeness: likeness(similarity, calibration),
  });
  return {
    likenesses: {
      nearest: nearestVectors(question, { wanted, among: table.count }),
      most: likeness(question.most, calibration),
      of: (slots: readonly number[]) => question.judge(slots).map(calibrated),
    },
    compare: (rows: readonly SlotRow[]) => compareRows(question, rows).map(calibrated),
  };
}

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

/** In a larger store, more codes have nearly as many bits in common with the query as the nearest has. */
const MANY = 200_000;
const USUAL = { scanned: 300, best: 128 };
const OF_MANY = { scanned: 1000, best: 200 };
