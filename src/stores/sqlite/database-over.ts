import { setTimeout as sleep } from "node:timers/promises";
import { SessionError, storeClosed } from "../../core/errors.ts";
import type { TaskRunner } from "../sql/sql-stores.ts";
import type { CommandArguments, CommandName, CommandResult } from "./commands.ts";
import type { Outcome } from "./sqlite-tables.ts";

/** A SQLite file that several processes may use at once, asked by named commands. */
export interface Database {
  readonly path: string;
  readonly closed: boolean;
  /**
   * Runs a command, and again for as long as another process holds the lock.
   *
   * @throws SessionError `SESSION_STORE_ERROR` when the store is closed, stays busy, or fails.
   */
  run<Name extends CommandName>(
    name: Name,
    ...values: CommandArguments<Name>
  ): Promise<CommandResult<Name>>;
  close(): Promise<void>;
}

/** The runner of commands: in this thread, or in another one. */
interface Runner {
  run(name: CommandName, values: readonly unknown[]): Outcome | Promise<Outcome>;
  close(): void | Promise<void>;
}

/** A file whose commands `runner` runs. */
export function databaseOver(path: string, runner: Runner, busyTimeoutMs = 10_000): Database {
  let closed = false;
  return {
    path,
    get closed() {
      return closed;
    },
    async run<Name extends CommandName>(name: Name, ...values: CommandArguments<Name>) {
      // Only read when another connection holds the lock: Node loads this clock lazily, which takes a millisecond.
      let givesUpAt: number | undefined;
      for (;;) {
        if (closed) throw storeClosed(path);
        const outcome: Outcome = await runner.run(name, values);
        if (outcome.type === "done") return outcome.result as CommandResult<Name>;
        if (outcome.type === "failed") throw outcome.error;
        givesUpAt ??= performance.now() + busyTimeoutMs;
        if (performance.now() > givesUpAt) throw busyError(path, busyTimeoutMs);
        // Short and uneven: SQLite's own back-off lets a saturating writer starve all others.
        await sleep(1 + 4 * Math.random());
      }
    },
    async close() {
      closed = true;
      await runner.close();
    },
  };
}

/** The file for the stores of the plain tables. */
export function tasksOf(database: Database): TaskRunner {
  return {
    run: (task) => database.run("doTask", task),
    close: () => database.close(),
  };
}

function busyError(path: string, waitedMs: number): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `${path} is busy: others kept writing for ${waitedMs} ms.`,
    hint: "Try again, or stop the process that keeps the store locked.",
    retry: {},
  });
}

/** How long others, who read for a moment, may keep the log from being emptied. */
const TRIES = 40;
const PAUSE_MS = 25;

/** Takes deleted text out of the files: of the unused parts of a small one, and of the write-ahead log. */
export async function wipe(database: Database): Promise<void> {
  await database.run("rewriteSmallFile");
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await database.run("forgetDeleted")) return;
    await sleep(PAUSE_MS);
  }
}
