import { setTimeout as sleep } from "node:timers/promises";
import { SessionError } from "../../core/errors.ts";
import { CommandRunner, type Outcome } from "./command-runner.ts";
import type { CommandArguments, CommandName, CommandResult } from "./commands.ts";
import { DatabaseThread } from "./database-thread.ts";

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

export interface DatabaseOptions {
  /** `":memory:"` keeps everything in the memory of this process, until it is closed. */
  readonly path: string;
  /**
   * Where commands run. `"main"` starts at once, and blocks the event loop
   * while a command runs: right for a command line. `"worker"` takes about 0.1 s to
   * start and leaves the event loop free: right for a server. Default `"main"`.
   */
  readonly thread?: "main" | "worker";
  /** How long a command is tried while others hold the lock. Default 10 000. */
  readonly busyTimeoutMs?: number;
}

/** Opens nothing yet: the first command does. */
export function openDatabase(options: DatabaseOptions): Database {
  const { path, thread = "main", busyTimeoutMs = 10_000 } = options;
  const runner = thread === "worker" ? new DatabaseThread(path) : new CommandRunner(path);
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
        if (closed) throw storeError(`${path} is closed.`);
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

function storeError(detail: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", { detail });
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
