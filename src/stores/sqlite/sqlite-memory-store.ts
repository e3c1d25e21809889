import { readlinkSync } from "node:fs";
import { hostname } from "node:os";
import type { EventStore } from "../../core/event-store.ts";
import { newId } from "../../core/ids.ts";
import type { MemoryCheck, MemoryHit, MemoryQuery, Watch } from "../../core/memory-store.ts";
import type { EmbeddedSearch } from "../../indexing/vectors/search-vectors.ts";
import {
  type IndexedMemoryOptions,
  IndexedMemoryStore,
  type MemoryDatabase,
  type MemoryTask,
  type RunTask,
} from "../indexed-memory.ts";
import { sqlStore } from "../sql/sql-stores.ts";
import { BackgroundMerger } from "./background-merger.ts";
import { openDatabase } from "./database.ts";
import { type Database, tasksOf, wipe } from "./database-over.ts";
import { IN_MEMORY } from "./open-connection.ts";
import { SqliteEventStore } from "./sqlite-event-store.ts";

/** A memory in a SQLite file that several processes may have open at once. */
export class SqliteMemoryStore extends IndexedMemoryStore {
  /** Closing the store closes the database. */
  constructor(database: Database, { namespace, embedder, cacheBytes }: IndexedMemoryOptions = {}) {
    super(new SqliteMemory(database, namespace, cacheBytes), embedder);
  }
}

/** The memory of a namespace in a SQLite file. */
export class SqliteMemory implements MemoryDatabase {
  readonly #database: Database;
  readonly #namespace: string;
  readonly #cacheBytes: number | undefined;
  readonly #merger: BackgroundMerger;
  readonly run: RunTask;

  constructor(
    database: Database,
    namespace = "default",
    cacheBytes?: number,
    merger = new BackgroundMerger(database),
  ) {
    this.#database = database;
    this.#namespace = namespace;
    this.#cacheBytes = cacheBytes;
    this.#merger = merger;
    this.run = tasksIn(database, namespace);
  }

  get closed(): boolean {
    return this.#database.closed;
  }

  inNamespace(namespace: string): SqliteMemory {
    return new SqliteMemory(this.#database, namespace, this.#cacheBytes, this.#merger);
  }

  search(query: MemoryQuery, embedded?: EmbeddedSearch): Promise<readonly MemoryHit[]> {
    const values = [this.#namespace, query, this.#cacheBytes, embedded] as const;
    return this.#database.run("searchMemories", ...values);
  }

  verify({ signal, onProgress }: Watch): Promise<MemoryCheck> {
    return this.#aside(async (database) => {
      // Steps keep a transaction open, in which other commands must not run.
      const isShared = database === this.#database;
      for (;;) {
        signal?.throwIfAborted();
        const values = [this.#namespace, isShared] as const;
        const { check, ...progress } = await database.run("verifyMemories", ...values);
        onProgress?.(progress);
        if (check) return check;
      }
    });
  }

  aside<Result>(work: (run: RunTask) => Promise<Result>): Promise<Result> {
    return this.#aside((database) => work(tasksIn(database, this.#namespace)));
  }

  /** Works in a thread of its own, unless no other thread can see the database. */
  async #aside<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    const { path } = this.#database;
    if (path === IN_MEMORY) return work(this.#database);
    // Otherwise the thread would make an empty store where this one was removed.
    await this.#database.run("requireInPlace");
    const database = openDatabase({ path, thread: "worker" });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  restoresFrom(log: EventStore): boolean {
    return log instanceof SqliteEventStore && log.isIn(this.#database);
  }

  wipe(): Promise<void> {
    return wipe(this.#database);
  }

  wakeMerging(): void {
    this.#merger.wake(this.#namespace);
  }

  finishMerging(): Promise<void> {
    return this.#merger.finish(this.#namespace);
  }

  lease(work: string) {
    const owner = { id: newId(), host: thisHost(), pid: process.pid };
    const leases = sqlStore("sessions", this.#namespace, tasksOf(this.#database));
    return {
      lease: (ttlMs: number) => leases.acquire(work, owner, ttlMs),
      release: () => leases.release(work, owner),
    };
  }

  async close(): Promise<void> {
    await this.#merger.close();
    await this.#database.close();
  }
}

function tasksIn(database: Database, namespace: string): RunTask {
  // TypeScript does not see that each task is the command of its name.
  const commands = database as { run(name: MemoryTask, ...values: readonly unknown[]): unknown };
  return ((name, ...values) => commands.run(name, namespace, ...values)) as RunTask;
}

/**
 * The place where process ids are unique: the lease of a process of the same place that is gone can be taken at
 * once. Containers may share a host name and not their processes.
 */
function thisHost(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Not Linux: all processes of the host share their ids.
    return hostname();
  }
}
