import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { Database } from "./database.ts";
import { IN_MEMORY } from "./open-connection.ts";

/** What the thread is given. */
export interface MergeWork {
  readonly path: string;
  readonly namespace: string;
  /** One number of 32 bits; not 0 when the thread is to stop. */
  readonly stop: SharedArrayBuffer;
}

// The same file as TypeScript in a checkout and as JavaScript in the package.
const SCRIPT = new URL(
  import.meta.url.endsWith(".ts") ? "./merge-worker.ts" : "./merge-worker.js",
  import.meta.url,
);

/**
 * Merges segments beside searches, in a thread and on a connection of its own. They live as long as there
 * is something to merge. Each step is short and on disk, so that nothing is lost when it is stopped or
 * killed. It keeps no process alive.
 */
export class BackgroundMerger {
  readonly #database: Database;
  readonly #namespace: string;
  readonly #stop = new SharedArrayBuffer(4);
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(database: Database, namespace: string) {
    this.#database = database;
    this.#namespace = namespace;
  }

  /** There may be something to merge. */
  wake(): void {
    if (this.#closed || this.#worker) return;
    const { path } = this.#database;
    if (path === IN_MEMORY) {
      this.#ended = this.#ended.then(() => this.#mergeHere());
      this.#ended.catch(() => {});
      return;
    }
    const work: MergeWork = { path, namespace: this.#namespace, stop: this.#stop };
    // An import would load with the store and take 2 ms, and a process that searches once merges nothing.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const worker = new Worker(SCRIPT, {
      workerData: work,
      // Some flags of the process are for its main script only.
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    worker.unref();
    this.#worker = worker;
    this.#ended = once(worker, "exit").finally(() => {
      this.#worker = undefined;
    });
    // `finish` reports it; a store that cannot be merged can still be searched.
    this.#ended.catch(() => {});
  }

  /** Resolves when nothing is left to merge. */
  async finish(): Promise<void> {
    if (this.#worker) await this.#end();
    // What was added while it ended waits for another.
    this.wake();
    await this.#end();
  }

  /** Resolves when the step that runs now is done. */
  async close(): Promise<void> {
    this.#closed = true;
    Atomics.store(new Int32Array(this.#stop), 0, 1);
    Atomics.notify(new Int32Array(this.#stop), 0);
    await this.#end().catch(() => {});
  }

  /** No other thread sees a database in memory, so commands of the store wait for each step. */
  async #mergeHere(): Promise<void> {
    while (!this.#closed && (await this.#database.run("mergeMemories", this.#namespace))) {
      await setImmediate();
    }
  }

  async #end(): Promise<void> {
    this.#worker?.ref();
    await this.#ended;
  }
}
