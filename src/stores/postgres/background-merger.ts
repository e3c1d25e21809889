import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { runAsync } from "../../indexing/asking.ts";
import { mergeSegments } from "../../indexing/upkeep/merge.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { PostgresIndexStore } from "./postgres-index-store.ts";
import { PostgresLease } from "./postgres-lease.ts";

/** A step takes milliseconds. After a kill, another process goes on when this is over. */
const LEASE_MS = 15_000;
const WAIT_MS = 200;
/** Bytes that a step reads and packs. Meanwhile the process does nothing else. */
const STEP_BYTES = 200_000;

/**
 * Merges segments beside searches, in short steps. Of several processes one merges a namespace at a time, and of
 * several namespaces a process merges one.
 */
export class BackgroundMerger {
  readonly #db: PostgresDatabase;
  /** Namespaces whose merge has not begun yet. */
  readonly #waiting = new Map<string, Promise<void>>();
  #last: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  /** Says that there may be something to merge. */
  wake(namespace: string): void {
    // `finish` reports a failure; a store that cannot be merged can still be searched.
    this.#queue(namespace).catch(() => {});
  }

  /** Resolves when nothing is left to merge. */
  async finish(namespace: string): Promise<void> {
    while (!(await this.#merge(namespace)) && !this.#closed) await sleep(WAIT_MS);
  }

  /** Resolves when the step that runs now is done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last.catch(() => {});
  }

  #queue(namespace: string): Promise<void> {
    const waiting = this.#waiting.get(namespace);
    if (waiting) return waiting;
    const merge = this.#last
      .catch(() => {})
      .then(() => {
        this.#waiting.delete(namespace);
        return this.#merge(namespace);
      })
      .then(() => {});
    this.#waiting.set(namespace, merge);
    this.#last = merge;
    return merge;
  }

  /** Returns false when another process merges. */
  async #merge(namespace: string): Promise<boolean> {
    const store = new PostgresIndexStore(this.#db, namespace);
    const lease = new PostgresLease(this.#db, namespace, "merge");
    if (this.#closed || !(await lease.take(LEASE_MS))) return false;
    try {
      while (!this.#closed && (await runAsync(mergeSegments(STEP_BYTES), store))) {
        await setImmediate();
        if (!(await lease.take(LEASE_MS))) return false;
      }
    } finally {
      await lease.release();
    }
    return true;
  }
}
