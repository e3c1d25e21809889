import { SessionError } from "./core/errors.ts";
import { given } from "./core/fields.ts";
import type { MemoryStore } from "./core/memory-store.ts";
import type { Stores } from "./core/stores.ts";
import { requireUserName } from "./core/user-name.ts";
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
export type { Stores } from "./core/stores.ts";
export type { DatabaseOptions } from "./stores/sqlite/database.ts";
export { requireSqlite } from "./stores/sqlite/require-sqlite.ts";

export interface SqliteStoresOptions extends DatabaseOptions, SqliteMemoryStoreOptions {
  /** The tenant. No store sees another tenant's data. Default `"default"`. */
  readonly namespace?: string;
}

/** Passages with and without a vector. */
export interface EmbeddingProgress {
  readonly embedded: number;
  readonly pending: number;
  /** The last failure, unless a later attempt succeeded. */
  readonly failure?: string;
}

/** A memory that merges its index and makes vectors in the background. You can wait for both. */
export interface SqliteMemory extends MemoryStore {
  /** Resolves when nothing waits to be merged. A search is a little faster then. */
  finishMerging(): Promise<void>;
  /**
   * Resolves when every passage has its vector, or when the rest keep failing. It resolves at once
   * without a trained embedder.
   */
  finishEmbedding(): Promise<EmbeddingProgress | undefined>;
}

export interface SqliteStores extends Stores {
  readonly memory: SqliteMemory;
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
  if (namespace.includes("\n")) {
    throw new SessionError("INVALID_PARAMS", {
      message: "The namespace has a line break in it.",
      hint: "Use a name on one line.",
    });
  }
  const database = openDatabase(databaseOptions);
  const memory = new SqliteMemoryStore(database, {
    namespace,
    ...given({ embedder, cacheBytes }),
  });
  return {
    ...storesIn(database, namespace, memory),
    forUser(user) {
      const name = requireUserName(user);
      const own = namespaceOf(namespace, USER + name);
      return {
        ...storesIn(database, own, memory.inNamespace(own)),
        forUser() {
          throw new SessionError("USER_NOT_ALLOWED");
        },
        async users() {
          return [];
        },
      };
    },
    async users() {
      const before = namespaceOf(namespace, USER);
      const found = await database.run("namespacesBelow", before);
      return found.map((name) => name.slice(before.length)).filter((name) => !name.includes("\n"));
    },
  };
}

function storesIn(
  database: Database,
  namespace: string,
  memory: SqliteMemoryStore,
): Omit<SqliteStores, "forUser" | "users"> {
  const trash = { namespace: namespaceOf(namespace, "trash") };
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

const USER = "user ";

/** A namespace below another. Neither a namespace nor a user has a line break, so no two are the same. */
function namespaceOf(namespace: string, part: string): string {
  return `${namespace}\n${part}`;
}
