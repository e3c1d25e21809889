import type { ImportBatch } from "../../core/import-store.ts";
import type { Statement } from "./statement.ts";

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
