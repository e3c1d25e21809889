import { type CommandName, commands } from "./commands.ts";
import type { Connection } from "./connection.ts";
import { openConnection } from "./open-connection.ts";
import { isBusy, storeFailure } from "./store-failure.ts";

/** How a command ended. `busy`: another connection held the lock, and nothing was done. */
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
