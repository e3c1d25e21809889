import type { CommandArguments, CommandName, CommandResult } from "./commands.ts";
import { type Database, openDatabase } from "./database.ts";

/** The thread ends when it had nothing to do for so long. */
const IDLE_MS = 2000;

/**
 * Runs long commands in a thread and on a connection of its own, while the store does other work. The first command
 * starts the thread. It keeps no process alive.
 */
export class SpareThread {
  readonly #path: string;
  #database: Database | undefined;
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async run<Name extends CommandName>(
    name: Name,
    ...values: CommandArguments<Name>
  ): Promise<CommandResult<Name>> {
    clearTimeout(this.#timer);
    this.#database ??= openDatabase({ path: this.#path, thread: "worker" });
    this.#running += 1;
    try {
      return await this.#database.run(name, ...values);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) {
        this.#timer = setTimeout(() => this.close().catch(() => {}), IDLE_MS).unref();
      }
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }
}
