import { given } from "./core/fields.ts";
import type { Stores } from "./core/stores.ts";
import type { IndexedMemory } from "./stores/indexed-memory.ts";
import { requireNamespace, trashOf, withUsers } from "./stores/namespaces.ts";
import { EventNotices } from "./stores/postgres/event-notices.ts";
import { EventPartitions } from "./stores/postgres/event-partitions.ts";
import { GroupedAppends } from "./stores/postgres/grouped-appends.ts";
import { namespacesBelow, namespacesWithOld } from "./stores/postgres/namespaces-below.ts";
import { PostgresApprovalStore } from "./stores/postgres/postgres-approval-store.ts";
import {
  PostgresDatabase,
  type PostgresDatabaseOptions,
} from "./stores/postgres/postgres-database.ts";
import { PostgresEventStore } from "./stores/postgres/postgres-event-store.ts";
import { PostgresForgottenTexts } from "./stores/postgres/postgres-forgotten-texts.ts";
import { PostgresImportStore } from "./stores/postgres/postgres-import-store.ts";
import { PostgresKnowledgeStore } from "./stores/postgres/postgres-knowledge-store.ts";
import {
  PostgresMemoryStore,
  type PostgresMemoryStoreOptions,
} from "./stores/postgres/postgres-memory-store.ts";
import { PostgresSessionStore } from "./stores/postgres/postgres-session-store.ts";

export type { ForgottenMarks } from "./core/forgotten-texts.ts";
export type { ImportKeys } from "./core/import-store.ts";
export type { Stores } from "./core/stores.ts";
export type {
  EmbeddingProgress,
  IndexedMemory as PostgresMemory,
} from "./stores/indexed-memory.ts";
export type { PostgresDatabaseOptions } from "./stores/postgres/postgres-database.ts";
export type {
  PostgresClient,
  PostgresPool,
  PostgresResult,
  PostgresStatement,
} from "./stores/postgres/postgres-pool.ts";

export interface PostgresStoresOptions extends PostgresDatabaseOptions, PostgresMemoryStoreOptions {
  /** The tenant. No store sees another tenant's data. Default `"default"`. */
  readonly namespace?: string;
  /**
   * Tells other processes of events at once, by NOTIFY. Without it, they look every half second. A process whose
   * sessions are watched keeps a connection of the pool for it. A pooler in transaction mode does not pass notices
   * on, so there the processes look as well. Default false.
   */
  readonly notify?: boolean;
}

export interface PostgresStores extends Stores {
  readonly memory: IndexedMemory;
  forUser(user: string): PostgresStores;
}

/**
 * Sessions, events, memory and what the project has learned, in PostgreSQL 15 or newer. Any number of
 * processes on any number of machines may use them at the same time.
 *
 * The tables are created in `schema` at the first use. The stores share one pool: closing one of them
 * closes all, and the pool too if they opened it.
 */
export function postgresStores(options: PostgresStoresOptions): PostgresStores {
  const { namespace = "default", embedder, cacheBytes, notify, ...databaseOptions } = options;
  requireNamespace(namespace);
  const database = new PostgresDatabase(databaseOptions);
  const shared = {
    appends: new GroupedAppends(database),
    partitions: new EventPartitions(database),
    ...(notify ? { notices: new EventNotices(database) } : {}),
  };
  const memory = new PostgresMemoryStore(database, {
    namespace,
    ...given({ embedder, cacheBytes }),
  });
  return withUsers(
    namespace,
    (own) => storesIn(database, own, own === namespace ? memory : memory.inNamespace(own), shared),
    {
      all: (start) => namespacesBelow(database, start),
      withOld: (start, limits) => namespacesWithOld(database, start, limits),
    },
  );
}

function storesIn(
  database: PostgresDatabase,
  namespace: string,
  memory: PostgresMemoryStore,
  shared: {
    readonly appends: GroupedAppends;
    readonly partitions: EventPartitions;
    readonly notices?: EventNotices;
  },
): Omit<PostgresStores, "forUser" | "users"> {
  const { appends, partitions } = shared;
  const trash = { namespace: trashOf(namespace), appends, partitions };
  return {
    events: new PostgresEventStore(database, { namespace, ...shared }),
    sessions: new PostgresSessionStore(database, { namespace }),
    memory,
    approvals: new PostgresApprovalStore(database, { namespace }),
    knowledge: new PostgresKnowledgeStore(database, { namespace }),
    forgotten: new PostgresForgottenTexts(database, { namespace }),
    imports: new PostgresImportStore(database, { namespace }),
    trash: {
      events: new PostgresEventStore(database, trash),
      sessions: new PostgresSessionStore(database, trash),
    },
    async close() {
      await shared.notices?.close();
      // It also ends what works in the background.
      await memory.close();
    },
  };
}
