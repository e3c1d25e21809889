import type { Stores } from "./core/stores.ts";
import { type DatabaseOptions, openDatabase } from "./stores/sqlite/database.ts";
import { SqliteEventStore } from "./stores/sqlite/sqlite-event-store.ts";
import {
  SqliteMemoryStore,
  type SqliteMemoryStoreOptions,
} from "./stores/sqlite/sqlite-memory-store.ts";
import { SqliteSessionStore } from "./stores/sqlite/sqlite-session-store.ts";

export type { Stores } from "./core/stores.ts";
export type { DatabaseOptions } from "./stores/sqlite/database.ts";
export { requireSqlite } from "./stores/sqlite/require-sqlite.ts";

export interface SqliteStoresOptions extends DatabaseOptions, SqliteMemoryStoreOptions {
  /** The tenant; no store sees another's. Default `"default"`. */
  readonly namespace?: string;
}

/**
 * Sessions, events and memory in one SQLite file, which other processes may
 * use at the same time.
 *
 * The file is opened, and made if it is not there, when a store is first used.
 * The stores share one connection: closing one of them closes all.
 */
export function sqliteStores(options: SqliteStoresOptions): Stores {
  const { namespace = "default", embedder, embedderWeight, ...databaseOptions } = options;
  const similarity = {
    ...(embedder === undefined ? {} : { embedder }),
    ...(embedderWeight === undefined ? {} : { embedderWeight }),
  };
  const database = openDatabase(databaseOptions);
  return {
    events: new SqliteEventStore(database, { namespace }),
    sessions: new SqliteSessionStore(database, { namespace }),
    memory: new SqliteMemoryStore(database, { namespace, ...similarity }),
    close: () => database.close(),
  };
}
