import { once } from "node:events";
import { setImmediate } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { Database } from "./database-over.ts";
import { IN_MEMORY } from "./open-connection.ts";
import { unpackError } from "./store-failure.ts";

/** The data that the thread gets. */
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

/** A merge begins when nothing was added for so long. */
const QUIET_MS = 2000;
/** It does not wait longer than for so many adds. */
const WAITING_ADDS_MAX = 32;

/**
 * Merges segments beside searches, in a thread and on a connection of its own. They live as long as
 * there is something to merge. Of all namespaces one is merged at a time. Each step is short and on
 * disk, so that nothing is lost when it is stopped or killed. It keeps no process alive.
 */
export class BackgroundMerger {
  readonly #database: Database;
  readonly #stop = new SharedArrayBuffer(4);
  /** Namespaces whose merge has not begun yet. */
  readonly #waiting = new Map<string, Promise<void>>();
  #last: Promise<void> = Promise.resolve();
  #merging: string | undefined;
  #worker: Worker | undefined;
  /** The number of callers that wait for the end of a merge. */
  #awaited = 0;
  #closed = false;
  /** Adds that wait for the next merge, and what starts it. */
  readonly #postponed = new Map<string, { adds: number; timer: NodeJS.Timeout }>();

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * There may be something to merge. While much is added, as by an import, one merge of many segments costs a fraction
   * of many merges of four.
   */
  wake(namespace: string): void {
    const adds = 1 + (this.#postponed.get(namespace)?.adds ?? 0);
    clearTimeout(this.#postponed.get(namespace)?.timer);
    if (adds >= WAITING_ADDS_MAX) {
      this.#start(namespace);
      return;
    }
    const timer = setTimeout(() => this.#start(namespace), QUIET_MS).unref();
    this.#postponed.set(namespace, { adds, timer });
  }

  #start(namespace: string): void {
    this.#postponed.delete(namespace);
    // The merge takes entries that are added meanwhile too, or they wait for another.
    if (this.#merging !== namespace) void this.#queue(namespace);
  }

  /** Resolves when nothing is left to merge. */
  async finish(namespace: string): Promise<void> {
    await this.#awaiting(this.#queue(namespace));
  }

  /** Resolves when the step that runs now is done. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { timer } of this.#postponed.values()) clearTimeout(timer);
    Atomics.store(new Int32Array(this.#stop), 0, 1);
    Atomics.notify(new Int32Array(this.#stop), 0);
    await this.#awaiting(this.#last).catch(() => {});
  }

  #queue(namespace: string): Promise<void> {
    const waiting = this.#waiting.get(namespace);
    if (waiting) return waiting;
    const merge = this.#last.catch(() => {}).then(() => this.#merge(namespace));
    this.#waiting.set(namespace, merge);
    this.#last = merge;
    // `finish` reports it; a store that cannot be merged can still be searched.
    merge.catch(() => {});
    return merge;
  }

  async #merge(namespace: string): Promise<void> {
    this.#waiting.delete(namespace);
    if (this.#closed) return;
    this.#merging = namespace;
    try {
      const { path } = this.#database;
      await (path === IN_MEMORY ? this.#mergeHere(namespace) : this.#mergeAside(path, namespace));
    } finally {
      this.#merging = undefined;
      this.#worker = undefined;
    }
  }

  async #mergeAside(path: string, namespace: string): Promise<void> {
    const work: MergeWork = { path, namespace, stop: this.#stop };
    // An import would load with the store and take 2 ms, and a process that searches once merges nothing.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const worker = new Worker(SCRIPT, {
      workerData: work,
      // Some flags of the process are for its main script only.
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    if (this.#awaited === 0) worker.unref();
    this.#worker = worker;
    await once(worker, "exit").catch((error) => {
      throw error instanceof Error ? error : unpackError(error);
    });
  }

  /** No other thread sees a database in memory, so commands of the store wait for each step. */
  async #mergeHere(namespace: string): Promise<void> {
    while (!this.#closed && (await this.#database.run("mergeMemories", namespace))) {
      await setImmediate();
    }
  }

  /** Keeps the process alive until the merge has ended. */
  async #awaiting(merge: Promise<void>): Promise<void> {
    this.#awaited += 1;
    this.#worker?.ref();
    try {
      await merge;
    } finally {
      this.#awaited -= 1;
    }
  }
}
