import { given } from "./core/fields.ts";
import type { Stores } from "./core/stores.ts";
import type { IndexedMemory } from "./stores/indexed-memory.ts";
import { requireNamespace, trashOf, withUsers } from "./stores/namespaces.ts";
import { type Database, type DatabaseOptions, openDatabase } from "./stores/sqlite/database.ts";
import { SqliteApprovalStore } from "./stores/sqlite/sqlite-approval-store.ts";
import { SqliteEventStore } from "./stores/sqlite/sqlite-event-store.ts";
import { SqliteForgottenTexts } from "./stores/sqlite/sqlite-forgotten-texts.ts";
import { SqliteImportStore } from "./stores/sqlite/sqlite-import-store.ts";
import { SqliteKnowledgeStore } from "./stores/sqlite/sqlite-knowledge-store.ts";
import {
  SqliteMemoryStore,
  type SqliteMemoryStoreOptions,
} from "./stores/sqlite/sqlite-memory-store.ts";
import { SqliteSessionStore } from "./stores/sqlite/sqlite-session-store.ts";

export { userStoreFile } from "./config/config-places.ts";
export type { ForgottenMarks } from "./core/forgotten-texts.ts";
export type { ImportKeys } from "./core/import-store.ts";
export type { Stores } from "./core/stores.ts";
export type { EmbeddingProgress, IndexedMemory as SqliteMemory } from "./stores/indexed-memory.ts";
export type { DatabaseOptions } from "./stores/sqlite/database.ts";
export { requireSqlite } from "./stores/sqlite/require-sqlite.ts";

export interface SqliteStoresOptions extends DatabaseOptions, SqliteMemoryStoreOptions {
  /** The tenant. No store sees another tenant's data. Default `"default"`. */
  readonly namespace?: string;
}

export interface SqliteStores extends Stores {
  readonly memory: IndexedMemory;
  forUser(user: string): SqliteStores;
}

/**
 * Sessions, events, memory and what the project has learned, in one SQLite file. Several processes may
 * use it at the same time.
 *
 * The file is opened when a store is first used, and created if it does not exist. The path `":memory:"`
 * keeps everything in this process until you close the stores.
 * The stores share one connection: closing one of them closes all. The stores of a user are a
 * namespace of the same file. They share the connection too.
 */
export function sqliteStores(options: SqliteStoresOptions): SqliteStores {
  const { namespace = "default", embedder, cacheBytes, ...databaseOptions } = options;
  requireNamespace(namespace);
  const database = openDatabase(databaseOptions);
  const memory = new SqliteMemoryStore(database, {
    namespace,
    ...given({ embedder, cacheBytes }),
  });
  return withUsers(
    namespace,
    (own) => storesIn(database, own, own === namespace ? memory : memory.inNamespace(own)),
    { all: (start) => database.run("namespacesBelow", start) },
  );
}

function storesIn(
  database: Database,
  namespace: string,
  memory: SqliteMemoryStore,
): Omit<SqliteStores, "forUser" | "users"> {
  const trash = { namespace: trashOf(namespace) };
  return {
    events: new SqliteEventStore(database, { namespace }),
    sessions: new SqliteSessionStore(database, { namespace }),
    memory,
    approvals: new SqliteApprovalStore(database, { namespace }),
    knowledge: new SqliteKnowledgeStore(database, { namespace }),
    forgotten: new SqliteForgottenTexts(database, { namespace }),
    imports: new SqliteImportStore(database, { namespace }),
    trash: {
      events: new SqliteEventStore(database, trash),
      sessions: new SqliteSessionStore(database, trash),
    },
    // It also ends what works in the background.
    close: () => memory.close(),
  };
}
