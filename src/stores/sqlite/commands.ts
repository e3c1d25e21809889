import { runSync } from "../sql/sql.ts";
import { codeOf, namespacesBelow, type Task } from "../sql/sql-stores.ts";
import type { Connection } from "./connection.ts";
import { deletionCommands } from "./deletion-commands.ts";
import { eventCommands } from "./event-commands.ts";
import { historyCommands } from "./history-commands.ts";
import { indexCommands } from "./index-commands.ts";
import { openConnection } from "./open-connection.ts";
import { sqliteTables } from "./sqlite-tables.ts";
import { isBusy, storeFailure } from "./store-failure.ts";

/**
 * Every command that the database runs, by name.
 *
 * A command is a synchronous function of a connection. Its arguments and its
 * result can be cloned, so that it runs here or in another thread. It writes in
 * one transaction (`db.write`), so that it can be run again when another
 * connection held the lock.
 */
const commands = {
  ...eventCommands,
  ...historyCommands,
  ...deletionCommands,
  ...indexCommands,

  /** Runs a call of a store of the plain tables. */
  doTask: (db: Connection, task: Task): unknown => runSync(codeOf(task), sqliteTables(db)),

  namespacesBelow: (db: Connection, start: string): readonly string[] =>
    runSync(namespacesBelow(start), sqliteTables(db)),

  /** @throws SessionError `SESSION_STORE_ERROR` when the store's files were removed or replaced */
  requireInPlace(db: Connection): void {
    db.files?.requireInPlace();
  },
};

type Commands = typeof commands;
export type CommandName = keyof Commands & string;

export type CommandArguments<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: infer Values
) => unknown
  ? Values
  : never;

export type CommandResult<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: never[]
) => infer Result
  ? Result
  : never;

/** The end of a command. `busy`: another connection held the lock, and nothing was done. */
export type Outcome =
  | { readonly type: "done"; readonly result: unknown }
  | { readonly type: "busy" }
  | { readonly type: "failed"; readonly error: unknown };

type Command = (db: Connection, ...values: readonly unknown[]) => unknown;

/** Runs commands in this thread, on a connection that the first of them opens. */
export class CommandRunner {
  readonly #path: string;
  #connection: Connection | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  run(name: CommandName, values: readonly unknown[]): Outcome {
    try {
      this.#connection ??= openConnection(this.#path);
      const command = commands[name] as Command;
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
