import { passages } from "../../../search/passages.ts";
import { hasWords } from "../../../search/words.ts";
import type { Connection } from "../connection.ts";
import { findNamespace, KEYS } from "./memory-namespace.ts";
import {
  calibrationOf,
  deleteSpace,
  findSpace,
  keepSpace,
  spaceNumbered,
  spacesOf,
  vectorKey,
} from "./memory-vector-space.ts";

/** A passage that has no vector yet. */
export interface PendingPassage {
  /** Key of the entry. */
  readonly entry: number;
  readonly slot: number;
  /** `null` for one without words, which is not embedded. */
  readonly text: string | null;
}

export interface PendingPage {
  readonly passages: readonly PendingPassage[];
  /** Where the next page begins; `undefined` when this is the last. */
  readonly before?: number;
  /** How many there are, those of other pages too. */
  readonly pending: number;
}

/** Entries that one page looks at, so that nobody waits long for it. */
const EXAMINED = 2000;

/**
 * Passages that a space lacks, of the entries stored before one, the newest entries first.
 * `undefined` when the space is gone.
 */
export function pendingPassages(
  db: Connection,
  spaceNumber: number,
  before: number | undefined,
  limit: number,
): PendingPage | undefined {
  return db.read(() => {
    const space = spaceNumbered(db, spaceNumber);
    if (!space) return undefined;
    const pending = passagesIn(db, space.namespace) - space.passages;
    if (pending <= 0) return { passages: [], pending: 0 };
    const first = space.namespace * KEYS;
    const newest = newestEntry(db, first, before ?? first + KEYS);
    if (newest === undefined) return { passages: [], pending };
    const oldest = Math.max(first, newest - EXAMINED + 1);
    const found: PendingPassage[] = [];
    // Those of an entry are embedded in their order: the one that has the last of them has all.
    const entries = db.iterate<LackingEntry>(
      `SELECT key, slot, passages, content FROM memory_entry AS entry
       WHERE key BETWEEN ?1 AND ?2 AND NOT EXISTS (
         SELECT 1 FROM memory_vector WHERE key = ?3 + entry.slot + entry.passages - 1)
       ORDER BY key DESC`,
      oldest,
      newest,
      vectorKey(space.number, 0),
    );
    for (const entry of entries) {
      found.push(...lackingOf(db, space.number, entry));
      if (found.length < limit) continue;
      return { passages: found.slice(0, limit), before: entry.key + 1, pending };
    }
    return { passages: found, pending, ...(oldest === first ? {} : { before: oldest }) };
  });
}

interface LackingEntry {
  readonly key: number;
  readonly slot: number;
  readonly passages: number;
  readonly content: string;
}

function newestEntry(db: Connection, first: number, before: number): number | undefined {
  const sql = "SELECT max(key) AS key FROM memory_entry WHERE key >= ? AND key < ?";
  return db.get<{ key: number | null }>(sql, first, before)?.key ?? undefined;
}

function lackingOf(db: Connection, space: number, entry: LackingEntry): PendingPassage[] {
  const { key, slot: first, passages: count, content } = entry;
  const texts = passages(content);
  // An entry keeps its slots however a later rkat cuts it: the last one has the rest.
  const textAt = (index: number) =>
    index === count - 1 ? texts.slice(index).join(" ") : (texts[index] ?? "");
  return Array.from({ length: count }, (_, index) => ({ slot: first + index, text: textAt(index) }))
    .filter(({ slot }) => count === 1 || !has(db, space, slot))
    .map(({ slot, text }) => ({ entry: key, slot, text: hasWords(text) ? text : null }));
}

function has(db: Connection, space: number, slot: number): boolean {
  const sql = "SELECT 1 FROM memory_vector WHERE key = ?";
  return db.get(sql, vectorKey(space, slot)) !== undefined;
}

function passagesIn(db: Connection, namespace: number): number {
  const sql = "SELECT passages FROM memory_namespace WHERE number = ?";
  return db.get<{ passages: number }>(sql, namespace)?.passages ?? 0;
}

export type OpenedSpace =
  | { readonly type: "open"; readonly number: number; readonly calibrated: boolean }
  /** The namespace has no memory yet. */
  | { readonly type: "empty" }
  /** Another embedder's vectors have taken the place of those that were known. */
  | { readonly type: "replaced" };

/** The space that an embedder's vectors go to. Whoever has known one is not given another. */
export function openVectorSpace(
  db: Connection,
  namespaceName: string,
  embedder: { readonly id: string; readonly dimensions: number },
  known: number | undefined,
): OpenedSpace {
  const namespace = findNamespace(db, namespaceName);
  if (!namespace) return { type: "empty" };
  const found = findSpace(db, namespace.number, embedder.id);
  if (known !== undefined && found?.number !== known) return { type: "replaced" };
  const space =
    found?.dimensions === embedder.dimensions
      ? found
      : db.write(() => keepSpace(db, namespace.number, embedder));
  const calibrated = calibrationOf(space) !== undefined;
  return { type: "open", number: space.number, calibrated };
}

/** Rows that one step deletes. */
const STEP = 2000;

/**
 * Deletes some of the vectors that other embedders made, once this space has all of its own;
 * whether there are more.
 */
export function deleteOtherSpaces(db: Connection, spaceNumber: number): boolean {
  return db.write(() => {
    const space = spaceNumbered(db, spaceNumber);
    if (!space || space.passages < passagesIn(db, space.namespace)) return false;
    const other = spacesOf(db, space.namespace).find(({ number }) => number !== spaceNumber);
    if (!other) return false;
    deleteSpace(db, other.number, STEP);
    return true;
  });
}

/** How many passages a trained embedder has embedded, and how many it has not. */
export function vectorStats(
  db: Connection,
  namespaceName: string,
  embedder: string,
): { readonly embedded: number; readonly pending: number } {
  const namespace = findNamespace(db, namespaceName);
  if (!namespace) return { embedded: 0, pending: 0 };
  const embedded = findSpace(db, namespace.number, embedder)?.passages ?? 0;
  return { embedded, pending: Math.max(0, namespace.passages - embedded) };
}
