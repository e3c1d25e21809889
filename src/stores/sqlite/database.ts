import type { Worker } from "node:worker_threads";
import { SessionError } from "../../core/errors.ts";
import { type CommandName, commands } from "./commands.ts";
import { type Database, databaseOver } from "./database-over.ts";
import { CommandRunner, type Outcome } from "./sqlite-tables.ts";
import { type PortableError, unpackError } from "./store-failure.ts";

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
export function openDatabase({ path, thread, busyTimeoutMs }: DatabaseOptions): Database {
  const runner = thread === "worker" ? new DatabaseThread(path) : new CommandRunner(path, commands);
  return databaseOver(path, runner, busyTimeoutMs);
}

export interface Request {
  readonly id: number;
  readonly command: "close" | { readonly name: CommandName; readonly values: readonly unknown[] };
}

export type Answer = { readonly id: number } & (
  | Exclude<Outcome, { type: "failed" }>
  | { readonly type: "failed"; readonly error: PortableError }
);

// The same file as TypeScript in a checkout and as JavaScript in the package.
const SCRIPT = new URL(
  import.meta.url.endsWith(".ts") ? "./database-worker.ts" : "./database-worker.js",
  import.meta.url,
);

/**
 * Runs commands in a thread of its own, one after the other. The first command
 * starts it. It keeps the process alive only while a caller waits for an answer.
 */
export class DatabaseThread {
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<Outcome>>();
  #worker: Worker | undefined;
  #lastId = 0;

  constructor(path: string) {
    this.#path = path;
  }

  run(name: CommandName, values: readonly unknown[]): Promise<Outcome> {
    return this.#ask({ name, values });
  }

  async close(): Promise<void> {
    if (!this.#worker) return;
    const worker = this.#worker;
    await this.#ask("close");
    this.#worker = undefined;
    await worker.terminate();
  }

  #ask(command: Request["command"]): Promise<Outcome> {
    this.#worker ??= this.#start();
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<Outcome>();
    this.#waiting.set(id, waiting);
    this.#worker.ref();
    this.#worker.postMessage({ id, command } satisfies Request);
    return waiting.promise;
  }

  #start(): Worker {
    // Not imported: loading it takes 2 ms, and a single search starts no thread.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const worker = new Worker(SCRIPT, {
      workerData: { path: this.#path },
      // Not the process's own flags, of which some are about its main script only.
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    worker.on("message", (answer: Answer) => this.#settle(worker, answer));
    worker.on("error", (error) => this.#fail(worker, error));
    worker.on("exit", () => this.#fail(worker, new Error("The thread ended.")));
    return worker;
  }

  #settle(worker: Worker, { id, ...answer }: Answer): void {
    const outcome: Outcome =
      answer.type === "failed" ? { type: "failed", error: unpackError(answer.error) } : answer;
    this.#waiting.get(id)?.resolve(outcome);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) worker.unref();
  }

  /** Fails the waiting commands. The next command starts another thread. */
  #fail(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const detail = `The database thread of ${this.#path} failed (${cause.message}).`;
    const hint = isGone(cause) ? { hint: NOT_BUNDLED } : {};
    for (const { reject } of this.#waiting.values()) {
      reject(new SessionError("SESSION_STORE_ERROR", { detail, cause, ...hint }));
    }
    this.#waiting.clear();
  }
}

const NOT_BUNDLED =
  "A bundler parted rkat from the file of its thread. Leave the package rkat out of your bundle: it is `external` there.";

function isGone(cause: Error): boolean {
  return "code" in cause && /MODULE_NOT_FOUND$/.test(String(cause.code));
}
