import { type EntryQuery, type FoundEntry, findEntries } from "../../search/find-entries.ts";
import { fuseLikeness } from "../../search/fuse-likeness.ts";
import { wantedSlots } from "../../search/slot-filter.ts";
import { likeness } from "../../vectors/calibration.ts";
import type { SimilarSlot } from "../../vectors/code-table.ts";
import { compareRows, nearestVectors, type SlotRow } from "../../vectors/nearest-vectors.ts";
import type { OpenIndex } from "../open-index.ts";
import { calibrationOf } from "./store-vectors.ts";

/** The vectors of questions in their order, or why there are none. Only vectors of the same embedder are compared. */
export type EmbeddedSearch = { readonly embedder: string } & (
  | { readonly vectors: readonly Float32Array[] }
  | { readonly problem: string }
);

/** Entries that were found, as soon as the rows of some vectors are known. */
export interface Finding {
  /** Slots whose rows `finish` needs. */
  readonly near: readonly number[];
  /** Slots that results may have. */
  readonly likely: readonly number[];
  finish(rows: readonly SlotRow[]): readonly FoundEntry[];
}

/** Finds entries by words, and by meaning where there are vectors of the embedder. */
export function findByMeaning(
  index: OpenIndex,
  query: EntryQuery,
  embedded: EmbeddedSearch | undefined,
): Finding {
  if (!embedded || "problem" in embedded) {
    const found = findEntries(index, query);
    const isExplained = embedded && query.explain;
    const all = isExplained ? found.map((entry) => withoutVectors(entry, embedded.problem)) : found;
    return { near: [], likely: slotsOf(all), finish: () => all };
  }
  const wanted = wantedSlots(index, query);
  const findings = query.texts.map((text, at): Finding => {
    const vector = embedded.vectors[at];
    const asked = vector && likenessesTo(index, vector, wanted);
    if (!asked) {
      const found = findEntries(index, { ...query, texts: [text] });
      return { near: [], likely: slotsOf(found), finish: () => found };
    }
    const { texts: _, ...rest } = query;
    const fusion = fuseLikeness(index, { ...rest, text }, asked.likenesses);
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
    finish: (rows) => bestOf(findings.flatMap(({ finish }) => finish(rows))).slice(0, query.limit),
  };
}

function slotsOf(found: readonly FoundEntry[]): number[] {
  return found.map(({ slot }) => slot);
}

/** Each entry with its best score, best first. */
function bestOf(found: readonly FoundEntry[]): FoundEntry[] {
  const best = new Map<number, FoundEntry>();
  for (const entry of found) {
    if (entry.score > (best.get(entry.slot)?.score ?? -1)) best.set(entry.slot, entry);
  }
  return [...best.values()].sort((one, other) => other.score - one.score || one.slot - other.slot);
}

function withoutVectors(entry: FoundEntry, problem: string): FoundEntry {
  const parts = [...(entry.explanation?.parts ?? []), { name: "vector", of: problem, adds: 0 }];
  return { ...entry, explanation: { parts } };
}

/** `undefined` when the embedder has embedded nothing yet. `wanted` leaves out all other slots. */
function likenessesTo(index: OpenIndex, vector: Float32Array, wanted: Uint32Array | undefined) {
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
