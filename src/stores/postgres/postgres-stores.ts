import { given } from "../../core/fields.ts";
import {
  anything,
  duration,
  embedder as embedderCheck,
  flag,
  group,
  positive,
  requireOptions,
  someText,
} from "../../core/options.ts";
import type { AgeLimits, Stores } from "../../core/stores.ts";
import type { IndexedMemory, IndexedMemoryOptions } from "../indexed-memory.ts";
import { rows, runAsync, type Sql, sql } from "../sql/sql.ts";
import {
  namespacesBelow,
  namespacesIn,
  requireNamespace,
  sqlStore,
  sqlStores,
  trashOf,
  withUsers,
} from "../sql/sql-stores.ts";
import { GroupedAppends } from "./append-events.ts";
import { EventNotices } from "./event-notices.ts";
import { GroupedCheckpoints } from "./grouped-checkpoints.ts";
import { EventPartitions } from "./partitions.ts";
import { PostgresDatabase, type PostgresDatabaseOptions } from "./postgres-database.ts";
import { PostgresEventStore } from "./postgres-event-store.ts";
import { PostgresMemoryStore } from "./postgres-memory-store.ts";
import { postgresTables, tasksOf } from "./postgres-tables.ts";
import { whatRemains } from "./what-remains.ts";

export interface PostgresStoresOptions extends PostgresDatabaseOptions, IndexedMemoryOptions {
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

/** Where the database is, and its partitions, are checked with it. */
const OPTIONS = group({
  connectionString: anything,
  pool: anything,
  schema: anything,
  partitions: anything,
  retryMs: duration,
  answerMs: duration,
  namespace: someText,
  notify: flag,
  embedder: embedderCheck,
  cacheBytes: positive,
});

/**
 * Sessions, events, memory and what the project has learned, in PostgreSQL 15 or newer. Any number of
 * processes on any number of machines may use them at the same time.
 *
 * The tables are created in `schema` at the first use. The stores share one pool: closing one of them
 * closes all, and the pool too if they opened it.
 */
export function postgresStores(options: PostgresStoresOptions): PostgresStores {
  requireOptions("postgresStores", OPTIONS, options);
  const { namespace = "default", embedder, cacheBytes, notify, ...databaseOptions } = options;
  requireNamespace(namespace);
  const database = new PostgresDatabase(databaseOptions);
  const shared = {
    appends: new GroupedAppends(database),
    partitions: new EventPartitions(database),
    checkpoints: new GroupedCheckpoints(database),
    ...(notify ? { notices: new EventNotices(database) } : {}),
  };
  const tables = postgresTables(database);
  const memory = new PostgresMemoryStore(database, {
    namespace,
    ...given({ embedder, cacheBytes }),
  });
  return withUsers(
    namespace,
    (own) => storesIn(database, own, own === namespace ? memory : memory.inNamespace(own), shared),
    {
      all: (start) => runAsync(namespacesBelow(start, ["rkat.memory_waiting"]), tables),
      withOld: (start, limits) => runAsync(namespacesWithOld(start, limits), tables),
    },
  );
}

function storesIn(
  database: PostgresDatabase,
  namespace: string,
  memory: IndexedMemory,
  shared: {
    readonly appends: GroupedAppends;
    readonly partitions: EventPartitions;
    readonly checkpoints: GroupedCheckpoints;
    readonly notices?: EventNotices;
  },
): Omit<PostgresStores, "forUser" | "users"> {
  const { appends, partitions } = shared;
  const trash = trashOf(namespace);
  return {
    ...sqlStores(namespace, tasksOf(database)),
    events: new PostgresEventStore(database, { namespace, ...shared }),
    memory,
    trash: {
      events: new PostgresEventStore(database, { namespace: trash, appends, partitions }),
      sessions: sqlStore("sessions", trash, tasksOf(database)),
    },
    connections: () => database.connections(),
    notCleaned: () => whatRemains(database),
    async close() {
      await shared.notices?.close();
      // It also ends what works in the background.
      await memory.close();
    },
  };
}

/** The namespaces that begin with `start` and have something old, found with one statement. */
export function* namespacesWithOld(
  start: string,
  { deletedMs, archivedMs, logged }: AgeLimits,
): Sql<readonly string[]> {
  const isTrash = sql`right(name, length(${trashOf("")})) = ${trashOf("")}`;
  const loggedMs = logged?.ms ?? null;
  const found = yield* rows<{ name: string }>(sql`
    select name from (${namespacesIn("rkat.snapshot", start)}) as found
    where case when ${isTrash}
      then exists (select from rkat.snapshot where namespace = name and archived in (false, true) and updated_at_ms <= ${deletedMs ?? null})
      else exists (select from rkat.snapshot
        where namespace = name and archived and updated_at_ms < ${archivedMs ?? null}) end
    union
    select name from (${namespacesIn("rkat.log", start)}) as found
    where ${loggedMs}::bigint is not null and not ${isTrash} and ${loggedMs} >= (
      select timestamp_ms from rkat.event
      where namespace = name and position > coalesce((
        select position from rkat.projection_checkpoint
        where namespace = name and projection = ${logged?.behind ?? null}), 0)
      order by position limit 1)`);
  return found.map(({ name }) => name);
}
