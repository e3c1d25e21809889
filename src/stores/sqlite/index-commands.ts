import type { MemoryCheck, MemoryPage, MemoryQuery } from "../../core/memory-store.ts";
import { addEntries } from "../../indexing/add.ts";
import { type Asking, type Progress, runInSteps, runSync } from "../../indexing/asking.ts";
import { deleteEntries, deleteSession } from "../../indexing/delete.ts";
import { listEntries, memoryStats, readEntries } from "../../indexing/list.ts";
import { OpenIndexes } from "../../indexing/open-index.ts";
import { searchEntries } from "../../indexing/search.ts";
import { mergeSegments } from "../../indexing/upkeep/merge.ts";
import { prepareIndex, reindex } from "../../indexing/upkeep/reindex.ts";
import { verifyIndex } from "../../indexing/upkeep/verify.ts";
import { mendVectors } from "../../indexing/vectors/check-vectors.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  deleteOtherSpaces,
  openSpace,
  pendingPassages,
  saveCalibration,
  storeVectors,
  vectorStats,
} from "../../indexing/vectors/store-vectors.ts";
import type { Connection } from "./connection.ts";
import { SqliteIndexStore } from "./sqlite-index-store.ts";

/** What the memory store asks of the database: each runs code of the index on it. */
export const indexCommands = {
  searchMemories: (
    db: Connection,
    namespace: string,
    query: MemoryQuery,
    cacheBytes?: number,
    embedded?: EmbeddedSearch,
  ) =>
    run(db, namespace, searchEntries(kept(db).indexes.of(namespace, cacheBytes), query, embedded)),
  addMemories: command(addEntries),
  readMemories: command((ids: readonly string[]) => readEntries(ids)),
  listMemories: command((page: MemoryPage) => listEntries(page)),
  memoryStats: command((sessionId: string | null) => memoryStats(sessionId)),
  deleteMemories: command((ids: readonly string[]) => deleteEntries(ids)),
  deleteSessionMemories: command((sessionId: string) => deleteSession(sessionId)),
  mergeMemories: command((stepBytes?: number) => mergeSegments(stepBytes)),
  prepareMemories: command(() => prepareIndex()),
  reindexMemories: command(() => reindex()),
  mendVectors: command(() => mendVectors()),
  verifyMemories,
  openVectorSpace: command(openSpace),
  pendingPassages: command(pendingPassages),
  storeVectors: command(storeVectors),
  saveCalibration: command(saveCalibration),
  deleteOtherSpaces: command(deleteOtherSpaces),
  vectorStats: command(vectorStats),
};

function command<Values extends readonly unknown[], Result>(
  ask: (...values: Values) => Asking<Result>,
): (db: Connection, namespace: string, ...values: Values) => Result {
  return (db, namespace, ...values) => run(db, namespace, ask(...values));
}

function run<Result>(db: Connection, namespace: string, asking: Asking<Result>): Result {
  return runSync(asking, storeOf(db, namespace));
}

interface Kept {
  readonly indexes: OpenIndexes;
  /** The one used last; few processes use several namespaces. */
  store: { readonly namespace: string; readonly store: SqliteIndexStore } | undefined;
}

const KEPT = new WeakMap<Connection, Kept>();

/** What stays in memory as long as the connection. */
function kept(db: Connection): Kept {
  const known = KEPT.get(db) ?? { indexes: new OpenIndexes(), store: undefined };
  KEPT.set(db, known);
  return known;
}

function storeOf(db: Connection, namespace: string): SqliteIndexStore {
  const all = kept(db);
  if (all.store?.namespace !== namespace) {
    all.store = { namespace, store: new SqliteIndexStore(db, namespace) };
  }
  return all.store.store;
}

/** How far a check has come. `check` is there when it is done. */
export interface Verified extends Progress {
  readonly check?: MemoryCheck;
}

/** A check that is going on, on a connection that does nothing else meanwhile. */
const RUNNING = new WeakMap<Connection, Generator<Progress, MemoryCheck>>();

/** The next step of a check, or all of it. All steps see one state of the file. */
function verifyMemories(db: Connection, namespace: string, isWhole: boolean): Verified {
  if (isWhole) {
    const check = run(db, namespace, verifyIndex());
    return { done: check.entries, total: check.entries, check };
  }
  const running = RUNNING.get(db) ?? runInSteps(verifyIndex(), new SqliteIndexStore(db, namespace));
  RUNNING.set(db, running);
  try {
    const { done, value } = running.next();
    if (!done) return value;
    RUNNING.delete(db);
    return { done: value.entries, total: value.entries, check: value };
  } catch (error) {
    RUNNING.delete(db);
    throw error;
  }
}
