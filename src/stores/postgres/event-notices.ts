import { hash } from "node:crypto";
import type { PostgresDatabase } from "./postgres-database.ts";

/** Appends within this time are told in one statement: the server tells them one after the other. */
const SETTLE_MS = 20;
/** The pause after a connection was lost. Readers look by themselves meanwhile. */
const AGAIN_MS = 1000;
/** PostgreSQL takes fewer than 8000. */
const PAYLOAD_BYTES_MAX = 7900;

/**
 * Tells the processes of a store that sessions have new events, with NOTIFY.
 *
 * It is a wake-up only: what gets lost is found when a reader looks by itself. It is sent after the commit, because
 * a transaction with a NOTIFY makes all others wait while it commits.
 */
export class EventNotices {
  readonly #database: PostgresDatabase;
  readonly #channel: string;
  readonly #watchers = new Map<string, Set<() => void>>();
  #untold = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  /** The connection that listens, as what gives it up. */
  #listening: Promise<(() => void) | undefined> | undefined;
  #closed = false;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#channel = `rkat_${hash("sha256", database.schema).slice(0, 32)}`;
  }

  /** Calls `listener` when a session has new events, until the returned function is called. */
  watch(namespace: string, sessionId: string, listener: () => void): () => void {
    const key = keyOf(namespace, sessionId);
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(listener));
    this.#listen();
    return () => {
      watchers.delete(listener);
      if (watchers.size === 0 && this.#watchers.get(key) === watchers) this.#watchers.delete(key);
    };
  }

  /** Tells it soon. */
  tell(namespace: string, sessionId: string): void {
    const key = keyOf(namespace, sessionId);
    if (this.#closed || Buffer.byteLength(key) > PAYLOAD_BYTES_MAX) return;
    this.#untold.add(key);
    this.#timer ??= setTimeout(() => {
      const told = [...this.#untold];
      this.#timer = undefined;
      this.#untold = new Set();
      this.#database.rows(TELL, this.#channel, told).catch(() => {});
    }, SETTLE_MS).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#again);
    (await this.#listening)?.();
  }

  /** Takes a connection for itself, at the first watcher. */
  #listen(): void {
    this.#listening ??= this.#open().catch(() => {
      this.#listenAgain();
      return undefined;
    });
  }

  /** A connection may fail more than once. It is given back once. */
  async #open(): Promise<() => void> {
    const client = await this.#database.connect();
    let isLost = false;
    const lose = () => {
      if (isLost) return;
      isLost = true;
      client.release(true);
      this.#listenAgain();
    };
    client.on?.("error", lose);
    client.on?.("notification", ({ payload = "" }) => {
      for (const listener of this.#watchers.get(payload) ?? []) listener();
    });
    await client.query({ text: `listen ${this.#channel}` }).catch(lose);
    return lose;
  }

  #listenAgain(): void {
    this.#listening = undefined;
    if (this.#closed) return;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => {
      if (this.#watchers.size > 0) this.#listen();
    }, AGAIN_MS).unref();
  }
}

const TELL = "select pg_notify($1, payload) from unnest($2::text[]) payload";

function keyOf(namespace: string, sessionId: string): string {
  return JSON.stringify([namespace, sessionId]);
}
