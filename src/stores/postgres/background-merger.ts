import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { type AsyncIndexStore, runAsync } from "../../indexing/asking.ts";
import { mergeSegments } from "../../indexing/upkeep/merge.ts";
import type { PostgresLease } from "./postgres-lease.ts";

/** What is merged: the index of a namespace, by the process that holds its lease. */
export interface Merging {
  readonly store: AsyncIndexStore;
  readonly lease: PostgresLease;
}

/** After a kill, another process goes on when this is over. */
const LEASE_MS = 15_000;
const WAIT_MS = 200;
/** Bytes that a step reads and packs. Meanwhile the process does nothing else. */
const STEP_BYTES = 200_000;

/**
 * Merges segments beside searches, in short steps. Of several processes one merges a namespace at a time, and of
 * several namespaces a process merges one.
 */
export class BackgroundMerger {
  /** Merges that have not begun yet. */
  readonly #waiting = new Map<Merging, Promise<unknown>>();
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** Says that there may be something to merge. */
  wake(merging: Merging): void {
    if (this.#waiting.has(merging)) return;
    // `finish` reports a failure; a store that cannot be merged can still be searched.
    const merge = this.#last
      .then(() => {
        this.#waiting.delete(merging);
        return this.#merge(merging);
      })
      .catch(() => {});
    this.#waiting.set(merging, merge);
    this.#last = merge;
  }

  /** Resolves when nothing is left to merge. */
  async finish(merging: Merging): Promise<void> {
    while (!(await this.#merge(merging)) && !this.#closed) await sleep(WAIT_MS);
  }

  /** Resolves when the step that runs now is done. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
  }

  /** Returns false when another process merges. */
  async #merge({ store, lease }: Merging): Promise<boolean> {
    if (this.#closed || !(await lease.take(LEASE_MS))) return false;
    try {
      let renewedAt = performance.now();
      while (!this.#closed && (await runAsync(mergeSegments(STEP_BYTES), store))) {
        await setImmediate();
        if (performance.now() - renewedAt < LEASE_MS / 3) continue;
        if (!(await lease.take(LEASE_MS))) return false;
        renewedAt = performance.now();
      }
    } finally {
      await lease.release();
    }
    return true;
  }
}
