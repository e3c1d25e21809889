import { SessionError } from "../../../core/errors.ts";
import { INDEX_VERSION } from "../../../search/indexed-passages.ts";
import type { Connection } from "../connection.ts";

/** A tenant's memory, as a row. Whoever writes loads it, changes it, and saves it in the same transaction. */
export interface MemoryNamespace {
  readonly number: number;
  readonly name: string;
  version: number;
  generation: number;
  changes: number;
  removed_at: number;
  columns_at: number;
  stored: number;
  slots: number;
  passages: number;
  rebuilt: number | null;
  rebuilt_version: number | null;
}

/** Keys of entries and segments are the namespace's number times this, and a number of their own. */
export const KEYS = 2 ** 32;

export function findNamespace(db: Connection, name: string): MemoryNamespace | undefined {
  return db.get<MemoryNamespace>("SELECT * FROM memory_namespace WHERE name = ?", name);
}

/**
 * A namespace to search in or to change; `undefined` when there is none.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when another rkat indexed it while this one ran.
 */
export function openNamespace(db: Connection, name: string): MemoryNamespace | undefined {
  const found = findNamespace(db, name);
  if (!found || found.version === INDEX_VERSION) return found;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `The memory was indexed by another rkat (index ${found.version}; this one has ${INDEX_VERSION}).`,
    hint: "Use one version of rkat, and start it again.",
  });
}

/** The same, made if there is none. */
export function keepNamespace(db: Connection, name: string): MemoryNamespace {
  const known = openNamespace(db, name);
  if (known) return known;
  db.run(
    `INSERT INTO memory_namespace
       (number, name, version, generation, changes, removed_at, columns_at, stored, slots, passages)
     SELECT coalesce(max(number) + 1, 0), ?, ?, 0, 0, 0, 0, 0, 0, 0 FROM memory_namespace`,
    name,
    INDEX_VERSION,
  );
  return keepNamespace(db, name);
}

export function saveNamespace(db: Connection, namespace: MemoryNamespace): void {
  db.run(
    `UPDATE memory_namespace
     SET version = ?, generation = ?, changes = ?, removed_at = ?, columns_at = ?, stored = ?,
         slots = ?, passages = ?, rebuilt = ?, rebuilt_version = ?
     WHERE number = ?`,
    namespace.version,
    namespace.generation,
    namespace.changes,
    namespace.removed_at,
    namespace.columns_at,
    namespace.stored,
    namespace.slots,
    namespace.passages,
    namespace.rebuilt,
    namespace.rebuilt_version,
    namespace.number,
  );
}

/** Keys that begin with the namespace's number. */
export function keysOf(namespace: MemoryNamespace): {
  readonly first: number;
  readonly last: number;
} {
  return { first: namespace.number * KEYS, last: (namespace.number + 1) * KEYS - 1 };
}
