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
import {
  type AsyncTables,
  type Changed,
  type Dialect,
  isReturning,
  joined,
  rows,
  runAsync,
  type Sql,
  type Statement,
  sql,
  words,
  written,
} from "../sql/sql.ts";
import {
  codeOf,
  namespacesBelow,
  namespacesIn,
  requireNamespace,
  sqlStore,
  sqlStores,
  type TaskRunner,
  trashOf,
  withUsers,
} from "../sql/sql-stores.ts";
import { appendAll, appendRows, GroupedAppends, refuseAppend } from "./append-events.ts";
import { EventNotices } from "./event-notices.ts";
import { furtherPositions } from "./event-positions.ts";
import { EventPartitions } from "./partitions.ts";
import { PostgresDatabase, type PostgresDatabaseOptions } from "./postgres-database.ts";
import { PostgresEventStore } from "./postgres-event-store.ts";
import { PostgresMemoryStore } from "./postgres-memory-store.ts";
import type { Statements } from "./statements.ts";

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
      all: (start) => runAsync(namespacesBelow(start), tables),
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
    async close() {
      await shared.notices?.close();
      // It also ends what works in the background.
      await memory.close();
    },
  };
}

/** The namespaces that begin with `start` and have something old, found with one statement. */
function* namespacesWithOld(
  start: string,
  { deletedMs, archivedMs, logged }: AgeLimits,
): Sql<readonly string[]> {
  const isTrash = sql`right(name, length(${trashOf("")})) = ${trashOf("")}`;
  const loggedMs = logged?.ms ?? null;
  const found = yield* rows<{ name: string }>(sql`
    select name from (${namespacesIn("rkat.snapshot", start)}) as found
    where case when ${isTrash}
      then exists (select from rkat.snapshot where namespace = name and updated_at_ms <= ${deletedMs ?? null})
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

/** The plain tables on a PostgreSQL server. */
function postgresTables(database: PostgresDatabase): AsyncTables {
  return {
    rows: (statement) => database.repeat((statements) => rowsOf(statements, statement)),
    change: (all) => database.repeat((statements, isAgain) => changed(statements, all, isAgain)),
    append: (namespace, appends) =>
      database.write((statements) => appended(statements, namespace, appends)),
    clean: (table) => database.vacuum(table),
    transact: (mode, work) =>
      database[mode === "read" ? "read" : "write"]((statements) => work(within(statements))),
  };
}

/** The server for the stores of the plain tables. */
export function tasksOf(database: PostgresDatabase): TaskRunner {
  const tables = postgresTables(database);
  return {
    async run(task) {
      try {
        return await runAsync(codeOf(task), tables);
      } catch (error) {
        throw database.failure(error);
      }
    },
    close: () => database.close(),
  };
}

function within(statements: Statements): AsyncTables {
  const tables: AsyncTables = {
    rows: (statement) => rowsOf(statements, statement),
    change: (all) => changed(statements, all, false),
    append: (namespace, appends) => appended(statements, namespace, appends),
    // No transaction can.
    clean: async () => {},
    transact: (_, work) => work(tables),
  };
  return tables;
}

function rowsOf(statements: Statements, statement: Statement): Promise<readonly unknown[]> {
  const { text, values } = written(statement, POSTGRES);
  return statements.rows(text, ...values);
}

/** One statement, whose others are tables that the last one does not read. */
async function changed(
  statements: Statements,
  all: readonly Statement[],
  isAgain: boolean,
): Promise<Changed> {
  const others = all.slice(0, -1).map((one, at) => sql`${words(`step_${at}`)} as (${one})`);
  const steps = others.length > 0 ? sql`with ${joined(others, ", ")} ` : sql``;
  const { text, values } = written(sql`${steps}${all.at(-1) as Statement}`, POSTGRES);
  if (!isReturning(text))
    return { count: await statements.change(text, ...values), rows: [], isAgain };
  const rows = await statements.rows(text, ...values);
  return { count: rows.length, rows, isAgain };
}

/** Within a transaction. */
async function appended(
  statements: Statements,
  namespace: string,
  appends: Parameters<AsyncTables["append"]>[1],
): Promise<undefined> {
  if (appends.length === 0) return;
  // Processes that lock rows in the same order do not wait for each other in a circle.
  const sorted = appends
    .toSorted((one, other) => (one.sessionId < other.sessionId ? -1 : 1))
    .map((one) => ({ ...one, namespace, held: undefined }));
  const count = sorted.reduce((sum, { events }) => sum + events.length, 0);
  const further = await furtherPositions(statements, count);
  const done = await appendAll(statements, sorted.map(appendRows), further);
  const refused = sorted.find((_, at) => !done[at]);
  if (refused) await refuseAppend(statements, refused);
}

const POSTGRES: Dialect = {
  parameter: (number) => `$${number}`,
  isIn: (values, type) => sql`= any(${values}::${words(type)}[])`,
  table(name, columns) {
    const lists = Object.values(columns).map(([type, values]) => sql`${values}::${words(type)}[]`);
    const names = words([...Object.keys(columns), "place"].join(", "));
    return sql`unnest(${joined(lists, ", ")}) with ordinality as ${words(name)} (${names})`;
  },
  labels: (labels) => sql`${pairsOf(labels)}::text[]`,
  hasLabels: (labels) => sql`labels @> ${pairsOf(labels)}::text[]`,
  readsSource: false,
  lease: {
    until: words("expires_at"),
    length: words("length"),
    now: () => words("clock_timestamp()"),
    span: (ms) => sql`${ms} * interval '1 ms'`,
    ended: words("'-infinity'"),
  },
};

function pairsOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map((label) => JSON.stringify(label));
}
