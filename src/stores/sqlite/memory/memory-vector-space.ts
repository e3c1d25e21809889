import type { Calibration } from "../../../vectors/calibration.ts";
import type { Connection } from "../connection.ts";

/** What one embedder made of the passages of a namespace. */
export interface VectorSpace {
  readonly number: number;
  readonly namespace: number;
  readonly embedder: string;
  readonly dimensions: number;
  readonly changes: number;
  readonly passages: number;
  readonly unrelated: number | null;
  readonly related: number | null;
}

/** Keys of rows and of blocks are the space's number times this, and a number of their own. */
const KEYS = 2 ** 32;

export function vectorKey(space: number, slotOrBlock: number): number {
  return space * KEYS + slotOrBlock;
}

export function slotOfKey(key: number): number {
  return key % KEYS;
}

export function findSpace(
  db: Connection,
  namespace: number,
  embedder: string,
): VectorSpace | undefined {
  return db.get<VectorSpace>(
    "SELECT * FROM memory_vector_space WHERE namespace = ? AND embedder = ?",
    namespace,
    embedder,
  );
}

export function spaceNumbered(db: Connection, number: number): VectorSpace | undefined {
  return db.get<VectorSpace>("SELECT * FROM memory_vector_space WHERE number = ?", number);
}

export function spacesOf(db: Connection, namespace: number): VectorSpace[] {
  return db.all<VectorSpace>("SELECT * FROM memory_vector_space WHERE namespace = ?", namespace);
}

/** The embedder's space, made when there is none, or when its vectors have other dimensions now. */
export function keepSpace(
  db: Connection,
  namespace: number,
  embedder: { readonly id: string; readonly dimensions: number },
): VectorSpace {
  const known = findSpace(db, namespace, embedder.id);
  if (known?.dimensions === embedder.dimensions) return known;
  if (known) deleteSpace(db, known.number);
  const number = db.insert(
    `INSERT INTO memory_vector_space (namespace, embedder, dimensions, changes, passages)
     VALUES (?, ?, ?, 0, 0)`,
    namespace,
    embedder.id,
    embedder.dimensions,
  );
  return spaceNumbered(db, number) as VectorSpace;
}

/** Counts a change of a space, and passages that came to it or left it; returns the change's number. */
export function changeSpace(db: Connection, space: VectorSpace, morePassages: number): number {
  db.run(
    "UPDATE memory_vector_space SET changes = ?, passages = passages + ? WHERE number = ?",
    space.changes + 1,
    morePassages,
    space.number,
  );
  return space.changes + 1;
}

export function calibrationOf({ unrelated, related }: VectorSpace): Calibration | undefined {
  return unrelated === null || related === null ? undefined : { unrelated, related };
}

/** Deletes a space: all at once, or so many of its rows and, when they were the last, the space. */
export function deleteSpace(
  db: Connection,
  space: number,
  limit = Number.MAX_SAFE_INTEGER,
): boolean {
  const range = [vectorKey(space, 0), vectorKey(space + 1, 0) - 1] as const;
  const deleted = db.run(
    `DELETE FROM memory_vector WHERE key IN (
       SELECT key FROM memory_vector WHERE key BETWEEN ? AND ? LIMIT ?)`,
    ...range,
    limit,
  );
  if (deleted === limit) return false;
  db.run("DELETE FROM memory_code_block WHERE key BETWEEN ? AND ?", ...range);
  db.run("DELETE FROM memory_vector_space WHERE number = ?", space);
  return true;
}
