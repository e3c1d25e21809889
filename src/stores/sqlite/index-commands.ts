import type { MemoryCheck, MemoryQuery } from "../../core/memory-store.ts";
import { OpenIndex, OpenIndexes } from "../../indexing/open-index.ts";
import { type Asking, type Progress, runInSteps, runSync } from "../../indexing/port/asking.ts";
import { searchEntries } from "../../indexing/search.ts";
import { verifyIndex } from "../../indexing/upkeep/verify.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  askTask,
  MEMORY_TASKS,
  type MemoryTask,
  type TaskResult,
  type TaskValues,
} from "../indexed-memory.ts";
import type { Connection } from "./connection.ts";
import { SqliteIndexStore } from "./sqlite-index-store.ts";

type TaskCommands = {
  readonly [Name in MemoryTask]: (
    db: Connection,
    namespace: string,
    ...values: TaskValues<Name>
  ) => TaskResult<Name>;
};

function commandOf<Name extends MemoryTask>(name: Name) {
  return (db: Connection, namespace: string, ...values: TaskValues<Name>) =>
    run(db, namespace, askTask(name, values));
}

const names = Object.keys(MEMORY_TASKS) as MemoryTask[];

/** The commands of the memory store: each runs code of the index on the database. */
export const indexCommands = {
  ...(Object.fromEntries(names.map((name) => [name, commandOf(name)])) as unknown as TaskCommands),
  searchMemories: (
    db: Connection,
    namespace: string,
    query: MemoryQuery,
    cacheBytes?: number,
    embedded?: EmbeddedSearch,
  ) =>
    run(db, namespace, searchEntries(kept(db).indexes.of(namespace, cacheBytes), query, embedded)),
  verifyMemories,
};

function run<Result>(db: Connection, namespace: string, asking: Asking<Result>): Result {
  return runSync(asking, storeOf(db, namespace));
}

interface Kept {
  readonly indexes: OpenIndexes;
  /** The one used last; few processes use several namespaces. */
  store: { readonly namespace: string; readonly store: SqliteIndexStore } | undefined;
}

const KEPT = new WeakMap<Connection, Kept>();

/** The state that lives as long as the connection. */
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

/** The progress of a check. `check` is there when it is done. */
export interface Verified extends Progress {
  readonly check?: MemoryCheck;
}

/** A check that is going on, on a connection that does nothing else meanwhile. */
const RUNNING = new WeakMap<Connection, Generator<Progress, MemoryCheck>>();

/** The next step of a check, or all of it. All steps see one state of the file. */
function verifyMemories(db: Connection, namespace: string, isWhole: boolean): Verified {
  if (isWhole) {
    const check = run(
      db,
      namespace,
      verifyIndex(() => new OpenIndex()),
    );
    return { done: check.entries, total: check.entries, check };
  }
  const running =
    RUNNING.get(db) ??
    runInSteps(
      verifyIndex(() => new OpenIndex()),
      new SqliteIndexStore(db, namespace),
    );
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
