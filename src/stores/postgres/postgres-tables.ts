import {
  type AsyncTables,
  type Changed,
  type Dialect,
  isReturning,
  joined,
  runAsync,
  type Statement,
  sql,
  words,
  written,
} from "../sql/sql.ts";
import { codeOf, type TaskRunner } from "../sql/sql-stores.ts";
import { appendAll, appendRows, refuseAppend } from "./append-events.ts";
import { furtherPositions } from "./event-positions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

/** The plain tables on a PostgreSQL server. */
export function postgresTables(database: PostgresDatabase): AsyncTables {
  return {
    rows: (statement) => database.repeat((statements) => rows(statements, statement)),
    // Each turn sends what need not be synced: leases and snapshots.
    change: (all, mode) =>
      database.repeat((statements, isAgain) =>
        changed(statements, all, { isAgain, isPrepared: mode === "write unsynced" }),
      ),
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
    rows: (statement) => rows(statements, statement),
    change: (all) => changed(statements, all, { isAgain: false, isPrepared: false }),
    append: (namespace, appends) => appended(statements, namespace, appends),
    // No transaction can.
    clean: async () => {},
    transact: (_, work) => work(tables),
  };
  return tables;
}

function rows(statements: Statements, statement: Statement): Promise<readonly unknown[]> {
  const { text, values } = written(statement, POSTGRES);
  return statements.rows(text, ...values);
}

/** One statement, whose others are tables that the last one does not read. */
async function changed(
  statements: Statements,
  all: readonly Statement[],
  { isAgain, isPrepared }: { readonly isAgain: boolean; readonly isPrepared: boolean },
): Promise<Changed> {
  const others = all.slice(0, -1).map((one, at) => sql`${words(`step_${at}`)} as (${one})`);
  const steps = others.length > 0 ? sql`with ${joined(others, ", ")} ` : sql``;
  const { text, values } = written(sql`${steps}${all.at(-1) as Statement}`, POSTGRES);
  if (!isReturning(text)) {
    const count = await statements[isPrepared ? "changePrepared" : "change"](text, ...values);
    return { count, rows: [], isAgain };
  }
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
  logsDifferences: true,
  lease: {
    until: words("expires_at"),
    length: words("length"),
    now: () => words("clock_timestamp()"),
    span: (ms) => sql`${ms} * interval '1 ms'`,
    locked: words("for share"),
    left: () => words("extract(epoch from held.expires_at - clock_timestamp()) * 1000"),
  },
};

function pairsOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map((label) => JSON.stringify(label));
}
