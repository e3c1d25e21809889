import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { newId } from "../../core/ids.ts";
import { type AsyncIndexStore, runAsync } from "../../indexing/port/asking.ts";
import { mergeSegments } from "../../indexing/upkeep/merge.ts";
import type { Statements } from "./statements.ts";

/** The index of a namespace, which the process that holds its lease merges. */
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

/** Takes or renews the lease. Only the server's clock counts. */
const TAKE = `
  insert into rkat.memory_lease as l (namespace, work, owner, held_until)
  values ($1, $2, $3, clock_timestamp() + $4::double precision * interval '1 millisecond')
  on conflict (namespace, work) do update set owner = excluded.owner, held_until = excluded.held_until
    where l.owner = excluded.owner or l.held_until < clock_timestamp()
  returning 1`;

const RELEASE = "delete from rkat.memory_lease where namespace = $1 and work = $2 and owner = $3";

/** Lets one process at a time do some work on a namespace in the background. */
export class PostgresLease {
  readonly #db: Statements;
  readonly #key: readonly [namespace: string, work: string, owner: string];

  constructor(db: Statements, namespace: string, work: string) {
    this.#db = db;
    this.#key = [namespace, work, newId()];
  }

  /** Returns false when another process has it. */
  async take(ttlMs: number): Promise<boolean> {
    return (await this.#db.row(TAKE, ...this.#key, ttlMs)) !== undefined;
  }

  async release(): Promise<void> {
    await this.#db.change(RELEASE, ...this.#key);
  }
}
