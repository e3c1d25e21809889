import { runSync } from "../sql/sql.ts";
import { codeOf, namespacesBelow, type Task } from "../sql/sql-stores.ts";
import type { Connection } from "./connection.ts";
import { eventCommands } from "./event-commands.ts";
import { openConnection } from "./open-connection.ts";
import { sqliteTables } from "./sqlite-tables.ts";
import { isBusy, storeFailure } from "./store-failure.ts";

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
