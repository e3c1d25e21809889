import type { ImportBatch } from "../../core/import-store.ts";

/**
 * Code that asks a database for rows, and goes on when it has them:
 *
 *     const found = yield* rows<{ id: string }>(sql`select id from rkat.approval where …`);
 *
 * Every `yield` is one round trip, as in the index (`src/indexing/port/asking.ts`). `runSync` runs the code on
 * SQLite's thread, whichever that is; `runAsync` on a database behind a network.
 */
export type Sql<Result> = Generator<Asked | Transaction, Result, unknown>;

type Asked = {
  readonly [Op in Operation]: { readonly op: Op; readonly args: Parameters<Tables[Op]> };
}[Operation];
type Operation = keyof Tables;

/** A contract whose methods are code that asks. Closing a store is the matter of its database. */
export type Asking<Store> = {
  [Name in keyof Store as Name extends "close" ? never : Name]: Store[Name] extends (
    ...args: infer Args
  ) => Promise<infer Result>
    ? (...args: Args) => Sql<Result>
    : never;
};

interface Transaction {
  readonly mode: Mode;
  readonly work: () => Sql<unknown>;
}

/**
 * - `read`: all rows come from one state of the tables.
 * - `write`: others see all of it or nothing, and it is on the disk when it has ended. It may be run again from its start.
 * - `write unsynced`: a power failure may undo it: for what the log gives again, and for leases.
 */
export type Mode = "read" | "write" | "write unsynced";

/** Events for the log of a session, which ends at `lastSeq`. */
export type Append = Pick<ImportBatch, "sessionId" | "lastSeq" | "events">;

/** The steps that a database does for the plain tables. */
export interface Tables {
  rows(statement: Statement): readonly unknown[];
  /**
   * Runs statements of which none depends on another. Outside of a transaction they are one, which may be done
   * again when its answer was lost.
   */
  change(statements: readonly Statement[], mode?: Mode): Changed;
  /** Appends to the logs of sessions, within a transaction. Returns the position of the first event, if it is known. */
  append(namespace: string, appends: readonly Append[]): number | undefined;
  /** Takes what was deleted from a table out of the files, as far as the database can. */
  clean(table: string): void;
}

/** The outcome of the last of the statements. */
export interface Changed {
  readonly count: number;
  /** The rows that it returns. */
  readonly rows: readonly unknown[];
  /** The connection was lost before an answer, so all may have been done before. */
  readonly isAgain: boolean;
}

export function* rows<Row>(statement: Statement): Sql<readonly Row[]> {
  return (yield { op: "rows", args: [statement] }) as readonly Row[];
}

export function* row<Row>(statement: Statement): Sql<Row | undefined> {
  return (yield* rows<Row>(statement))[0];
}

/** Returns how many rows changed. */
export function* change(statement: Statement, mode?: Mode): Sql<number> {
  return (yield* changed([statement], mode)).count;
}

export function* changed(statements: readonly Statement[], mode?: Mode): Sql<Changed> {
  if (statements.length === 0) return { count: 0, rows: [], isAgain: false };
  return (yield { op: "change", args: [statements, mode] }) as Changed;
}

export function* append(namespace: string, appends: readonly Append[]): Sql<number | undefined> {
  return (yield { op: "append", args: [namespace, appends] }) as number | undefined;
}

export function* clean(table: string): Sql<void> {
  yield { op: "clean", args: [table] };
}

export function* transaction<Result>(mode: Mode, work: () => Sql<Result>): Sql<Result> {
  return (yield { mode, work }) as Result;
}

/** A database that answers at once. A transaction asks the tables that `transact` gives it. */
export interface SyncTables extends Tables {
  transact<Result>(mode: Mode, work: (within: SyncTables) => Result): Result;
}

/** The same behind a network. */
export type AsyncTables = {
  readonly [Op in Operation]: (...args: Parameters<Tables[Op]>) => Promise<ReturnType<Tables[Op]>>;
} & {
  transact<Result>(mode: Mode, work: (within: AsyncTables) => Promise<Result>): Promise<Result>;
};

type Answering = (...args: readonly unknown[]) => unknown;

export function runSync<Result>(asking: Sql<Result>, tables: SyncTables): Result {
  let answer: unknown;
  for (;;) {
    const { done, value } = asking.next(answer);
    if (done) return value;
    answer =
      "mode" in value
        ? tables.transact(value.mode, (within) => runSync(value.work(), within))
        : (tables[value.op] as Answering)(...value.args);
  }
}

export async function runAsync<Result>(asking: Sql<Result>, tables: AsyncTables): Promise<Result> {
  let answer: unknown;
  for (;;) {
    const { done, value } = asking.next(answer);
    if (done) return value;
    answer = await ("mode" in value
      ? tables.transact(value.mode, (within) => runAsync(value.work(), within))
      : (tables[value.op] as Answering)(...value.args));
  }
}

/** A value that is bound to a parameter. */
export type Value = string | number | boolean | null | Uint8Array;

/** SQL with values in it, as data. Each database writes it with its own parameters. */
export interface Statement {
  readonly texts: readonly string[];
  readonly parts: readonly Part[];
}

/** A value, a piece of SQL with values of its own, or one that each database writes in its own way. */
type Part = Value | readonly Value[] | Statement | ((dialect: Dialect) => Statement);

type ColumnType = "text" | "integer" | "bigint" | "boolean" | "bytea";

/** Columns of a table that is made of values: for each the type and the values of all rows. */
export type Columns = Readonly<
  Record<string, readonly [type: ColumnType, values: readonly Value[]]>
>;

/**
 * The words of one database where the databases differ. Statements keep to the SQL that SQLite and
 * PostgreSQL share, and name tables as `rkat.event`.
 */
export interface Dialect {
  /** The parameter with this number, counted from 1. */
  parameter(number: number): string;
  /** The condition that what stands before it is one of these values. */
  isIn(values: readonly Value[], type: ColumnType): Statement;
  /** Rows of values, with their columns and `place`, which counts them. */
  table(name: string, columns: Columns): Statement;
  /** Labels of a session as they are kept. */
  labels(labels: Readonly<Record<string, string>>): Statement;
  hasLabels(labels: Readonly<Record<string, string>>): Statement;
  /** Whether the table of snapshots takes agent, project and branch out of `source` by itself. */
  readonly readsSource: boolean;
  /** Whether an update logs of a row what lies between the first and the last byte that change. */
  readonly logsDifferences: boolean;
  /** Times of leases, by the clock that all processes share. */
  readonly lease: {
    readonly until: Statement;
    readonly length: Statement;
    readonly now: () => Statement;
    span(ms: number): Statement;
    /** The end of a query of leases, so that they stay as they are until its transaction ends. */
    readonly locked: Statement;
    /** Milliseconds until the lease of a row `held` ends. */
    readonly left: () => Statement;
  };
}

/** A statement, or a piece of one: `` sql`select id from rkat.approval where namespace = ${namespace}` ``. */
export function sql(texts: TemplateStringsArray, ...parts: readonly Part[]): Statement {
  return { texts, parts };
}

/** SQL without values. Nothing that a user has written may get into it. */
export function words(text: string): Statement {
  return { texts: [text], parts: [] };
}

export function joined(statements: readonly Statement[], separator: string): Statement {
  const between = statements.slice(1).map(() => separator);
  return { texts: ["", ...between, ""].slice(0, statements.length + 1), parts: statements };
}

export function isIn(values: readonly Value[], type: ColumnType = "text"): Part {
  return (dialect) => dialect.isIn(values, type);
}

export function table(name: string, columns: Columns): Part {
  return (dialect) => dialect.table(name, columns);
}

/** Inserts rows of one namespace, whose columns have the names of the table's. `order by place` keeps their order. */
export function insertAll(
  into: string,
  namespace: string,
  columns: Columns,
  end: Statement,
): Statement {
  const names = words(Object.keys(columns).join(", "));
  return sql`insert into ${words(into)} (namespace, ${names})
    select ${namespace}, ${names} from ${table("added", columns)} where true ${end}`;
}

export interface Written {
  readonly text: string;
  readonly values: readonly (Value | readonly Value[])[];
}

/** The text of a statement and the values of its parameters. The text has no values in it. */
export function written(statement: Statement, dialect: Dialect): Written {
  const values: (Value | readonly Value[])[] = [];
  const write = ({ texts, parts }: Statement): string =>
    texts.map((text, at) => (at < parts.length ? text + place(parts[at] as Part) : text)).join("");
  const place = (part: Part): string => {
    if (typeof part === "function") return write(part(dialect));
    if (isStatement(part)) return write(part);
    values.push(part);
    return dialect.parameter(values.length);
  };
  return { text: write(statement), values };
}

function isStatement(part: Part): part is Statement {
  return typeof part === "object" && part !== null && "texts" in part;
}

/** Whether a statement that changes rows also returns some. */
export function isReturning(text: string): boolean {
  return /\breturning\b/.test(text);
}
