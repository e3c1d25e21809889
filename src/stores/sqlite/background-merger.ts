import { once } from "node:events";
import type { Worker } from "node:worker_threads";

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
 * Merges segments off the way of searches: in a thread and on a connection of its own, which
 * live as long as there is something to merge. Each step is short and on disk, so that nothing
 * is lost when it is stopped, or killed, in between. No process stays alive for it.
 */
export class BackgroundMerger {
  readonly #path: string;
  readonly #namespace: string;
  readonly #stop = new SharedArrayBuffer(4);
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(path: string, namespace: string) {
    this.#path = path;
    this.#namespace = namespace;
  }

  /** Says that there may be something to merge. */
  wake(): void {
    if (this.#closed || this.#worker) return;
    const work: MergeWork = { path: this.#path, namespace: this.#namespace, stop: this.#stop };
    // Not imported: it would load with the store, takes 2 ms, and whoever searches once merges nothing.
    const { Worker } = process.getBuiltinModule("node:worker_threads");
    const worker = new Worker(SCRIPT, {
      workerData: work,
      // Not the process's own flags, of which some are about its main script only.
      execArgv: ["--disable-warning=ExperimentalWarning"],
    });
    worker.unref();
    this.#worker = worker;
    this.#ended = once(worker, "exit").finally(() => {
      this.#worker = undefined;
    });
    // Whoever waits for it is told; a store that cannot be merged can still be searched.
    this.#ended.catch(() => {});
  }

  /** Resolves when nothing is left to merge. */
  async finish(): Promise<void> {
    if (this.#worker) await this.#end();
    // What was added while that one came to its end waits for another.
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

  async #end(): Promise<void> {
    this.#worker?.ref();
    await this.#ended;
  }
}
