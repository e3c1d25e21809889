import { given } from "../../core/fields.ts";
import {
  duration,
  embedder as embedderCheck,
  group,
  oneOf,
  positive,
  requireOptions,
  someText,
  text,
} from "../../core/options.ts";
import type { Stores } from "../../core/stores.ts";
import type { IndexedMemory, IndexedMemoryOptions } from "../indexed-memory.ts";
import { requireNamespace, sqlStore, sqlStores, trashOf, withUsers } from "../sql/sql-stores.ts";
import { type DatabaseOptions, openDatabase } from "./database.ts";
import { type Database, tasksOf } from "./database-over.ts";
import { SqliteEventStore } from "./sqlite-event-store.ts";
import { SqliteMemoryStore } from "./sqlite-memory-store.ts";

export interface SqliteStoresOptions extends DatabaseOptions, IndexedMemoryOptions {
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
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function sqliteStores(options: SqliteStoresOptions): SqliteStores {
  requireOptions("sqliteStores", OPTIONS, options);
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

const OPTIONS = group(
  {
    path: text,
    thread: oneOf("main", "worker"),
    busyTimeoutMs: duration,
    namespace: someText,
    embedder: embedderCheck,
    cacheBytes: positive,
  },
  ["path"],
);

function storesIn(
  database: Database,
  namespace: string,
  memory: IndexedMemory,
): Omit<SqliteStores, "forUser" | "users"> {
  const trash = trashOf(namespace);
  return {
    ...sqlStores(namespace, tasksOf(database)),
    events: new SqliteEventStore(database, { namespace }),
    memory,
    trash: {
      events: new SqliteEventStore(database, { namespace: trash }),
      sessions: sqlStore("sessions", trash, tasksOf(database)),
    },
    // It also ends what works in the background.
    close: () => memory.close(),
  };
}
