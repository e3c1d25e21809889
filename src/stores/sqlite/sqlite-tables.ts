import type { SQLInputValue } from "node:sqlite";
import {
  type Changed,
  type Dialect,
  isReturning,
  type Mode,
  runSync,
  type Statement,
  type SyncTables,
  sql,
  type Value,
  words,
  written,
} from "../sql/sql.ts";
import { codeOf, namespacesBelow, type Task } from "../sql/sql-stores.ts";
import type { Connection } from "./connection.ts";
import { appendImported, eventCommands } from "./event-commands.ts";
import { openConnection } from "./open-connection.ts";
import { isBusy, storeFailure } from "./store-failure.ts";

/** The plain tables in a SQLite file. */
export function sqliteTables(db: Connection): SyncTables {
  const within: SyncTables = {
    rows(statement) {
      const { text, values } = write(statement);
      return db.all(text, ...values);
    },
    change: (statements) => statements.map((statement) => changed(db, statement)).at(-1) as Changed,
    append: (namespace, appends) => appendImported(db, namespace, appends),
    clean: () => void db.emptyLog(),
    transact: (_, work) => work(within),
  };
  const transact = <Result>(mode: Mode, work: (within: SyncTables) => Result): Result => {
    if (mode === "read") return db.read(() => work(within));
    const run = () => work(within);
    return mode === "write" ? db.write(run) : db.writeUnsynced(run);
  };
  const change: SyncTables["change"] = (statements, mode = "write") =>
    transact(mode, () => within.change(statements));
  return { ...within, change, transact };
}

function changed(db: Connection, statement: Statement): Changed {
  const { text, values } = write(statement);
  if (!isReturning(text)) {
    return { count: db.run(text, ...values), rows: [], isAgain: false };
  }
  const rows = db.all(text, ...values);
  return { count: rows.length, rows, isAgain: false };
}

function write(statement: Statement) {
  const { text, values } = written(statement, SQLITE);
  return {
    text: text.replaceAll("rkat.", ""),
    values: values.map((value) =>
      typeof value === "boolean" ? Number(value) : value,
    ) as SQLInputValue[],
  };
}

const SQLITE: Dialect = {
  parameter: (number) => `?${number}`,
  isIn: (values, type) => {
    const value = words(type === "bytea" ? "unhex(value)" : "value");
    return sql`in (select ${value} from json_each(${JSON.stringify(values.map(portable))}))`;
  },
  table(name, columns) {
    const lists = Object.values(columns);
    const rows = lists[0]?.[1].map((_, at) => lists.map(([, values]) => portable(values[at])));
    const names = Object.entries(columns).map(([column, [type]], at) =>
      type === "bytea" ? `unhex(value ->> ${at}) as ${column}` : `value ->> ${at} as ${column}`,
    );
    return sql`(select ${words(names.join(", "))}, key + 1 as place
      from json_each(${JSON.stringify(rows)})) as ${words(name)}`;
  },
  labels: (labels) => sql`${JSON.stringify(labels)}`,
  hasLabels: (labels) => sql`not exists (
    select 1 from json_each(${JSON.stringify(labels)}) as wanted where not exists (
      select 1 from json_each(labels) as label
      where label.key = wanted.key and label.value = wanted.value))`,
  readsSource: true,
  logsDifferences: false,
  lease: {
    until: words("expires_at_ms"),
    length: words("length_ms"),
    now: () => sql`${Date.now()}`,
    span: (ms) => sql`${ms}`,
    locked: words(""),
    left: () => sql`held.expires_at_ms - ${Date.now()}`,
  },
};

/** A value in JSON. Texts are made well formed, as SQLite does with those that it is given alone. */
function portable(value: Value | undefined): Exclude<Value, Uint8Array> | undefined {
  if (typeof value === "string") return value.toWellFormed();
  return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
}

/** The commands of the log and of the plain tables: those that do without the index of memory, which takes long to load. */
export const plainCommands = {
  ...eventCommands,

  /** Runs a call of a store of the plain tables. */
  doTask: (db: Connection, task: Task): unknown => runSync(codeOf(task), sqliteTables(db)),

  namespacesBelow: (db: Connection, start: string): readonly string[] =>
    runSync(namespacesBelow(start), sqliteTables(db)),
};

/** The end of a command. `busy`: another connection held the lock, and nothing was done. */
export type Outcome =
  | { readonly type: "done"; readonly result: unknown }
  | { readonly type: "busy" }
  | { readonly type: "failed"; readonly error: unknown };

type Command = (db: Connection, ...values: readonly unknown[]) => unknown;

/** Runs commands in this thread, on a connection that the first of them opens. */
export class CommandRunner {
  readonly #path: string;
  readonly #commands: Readonly<Record<string, Command>>;
  #connection: Connection | undefined;

  constructor(path: string, commands: object) {
    this.#path = path;
    this.#commands = commands as Readonly<Record<string, Command>>;
  }

  run(name: string, values: readonly unknown[]): Outcome {
    try {
      this.#connection ??= openConnection(this.#path);
      const command = this.#commands[name] as Command;
      return { type: "done", result: command(this.#connection, ...values) };
    } catch (error) {
      if (isBusy(error)) return { type: "busy" };
      return { type: "failed", error: storeFailure(error, this.#path) };
    }
  }

  close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}
