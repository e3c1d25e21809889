import type { Calibration } from "../../../vectors/calibration.ts";
import { codeOf, rowOf } from "../../../vectors/quantise.ts";
import type { Connection } from "../connection.ts";
import type { SlotRange } from "./memory-slots.ts";
import { changeCodes } from "./memory-vector-codes.ts";
import {
  changeSpace,
  slotOfKey,
  spaceNumbered,
  spacesOf,
  type VectorSpace,
  vectorKey,
} from "./memory-vector-space.ts";

/** The vector of a passage; `null` for one without words, which has none. */
export interface PassageVector {
  /** Key of the entry. */
  readonly entry: number;
  readonly slot: number;
  readonly vector: Float32Array | null;
}

/**
 * Stores vectors of passages that are still there and have none; says how many those were.
 * `undefined` when the space is gone: another embedder's vectors have taken its place.
 *
 * Unsynced: what a power failure undoes is pending again, since nothing else says what is.
 */
export function storeVectors(
  db: Connection,
  spaceNumber: number,
  vectors: readonly PassageVector[],
): number | undefined {
  // Before the lock is taken.
  const packed = vectors.map((passage) => ({ ...passage, ...packedForms(passage.vector) }));
  return db.writeUnsynced(() => {
    const space = spaceNumbered(db, spaceNumber);
    if (!space) return undefined;
    const fresh = packed.filter(
      ({ entry, slot, row }) =>
        db.run(INSERT_ROW, vectorKey(space.number, slot), row, entry, slot) === 1,
    );
    if (fresh.length === 0) return 0;
    const codes = fresh.flatMap(({ slot, code }) => (code ? [[slot, code] as const] : []));
    changeCodes(db, space, changeSpace(db, space, fresh.length), new Map(codes));
    return fresh.length;
  });
}

/** A passage may have been deleted while it was embedded, and its slot given to another. */
const INSERT_ROW = `INSERT OR IGNORE INTO memory_vector (key, row) SELECT ?1, ?2
  WHERE EXISTS (SELECT 1 FROM memory_entry WHERE key = ?3 AND ?4 BETWEEN slot AND slot + passages - 1)`;

function packedForms(vector: Float32Array | null) {
  return vector ? { row: rowOf(vector), code: codeOf(vector) } : { row: null, code: undefined };
}

export function saveCalibration(
  db: Connection,
  space: number,
  { unrelated, related }: Calibration,
): void {
  db.write(() =>
    db.run(
      "UPDATE memory_vector_space SET unrelated = ?, related = ? WHERE number = ?",
      unrelated,
      related,
      space,
    ),
  );
}

/** Deletes what passages have for vectors, of every embedder. Part of the transaction that deletes them. */
export function deleteVectors(
  db: Connection,
  namespace: number,
  ranges: readonly SlotRange[],
): void {
  for (const space of spacesOf(db, namespace)) deleteOf(db, space, ranges);
}

function deleteOf(db: Connection, space: VectorSpace, ranges: readonly SlotRange[]): void {
  const slots = ranges.flatMap(({ first, last }) =>
    db
      .all<{ key: number }>(
        "SELECT key FROM memory_vector WHERE key BETWEEN ? AND ?",
        vectorKey(space.number, first),
        vectorKey(space.number, last),
      )
      .map(({ key }) => slotOfKey(key)),
  );
  if (slots.length === 0) return;
  for (const slot of slots) {
    db.run("DELETE FROM memory_vector WHERE key = ?", vectorKey(space.number, slot));
  }
  const changed = changeSpace(db, space, -slots.length);
  changeCodes(db, space, changed, new Map(slots.map((slot) => [slot, undefined])));
}
