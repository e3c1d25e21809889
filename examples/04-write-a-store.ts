// A store of your own, proved by the laws of its contract. This one keeps sessions as JSON.
//
//   node examples/04-write-a-store.ts
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import {
  createSessionService,
  type HeldLease,
  type LeaseOwner,
  passesSource,
  type SessionQuery,
  type SessionSnapshot,
  type SessionStore,
  type SourceFilter,
} from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel, sessionStoreLaws } from "rkat/testing";

class JsonSessionStore implements SessionStore {
  readonly #db: DatabaseSync;

  constructor(file: string) {
    this.#db = new DatabaseSync(file, { timeout: 5000 });
    // With WAL, readers and a writer do not wait for each other, and a write waits for the disk once, not several times.
    this.#db.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY, seq INT, updated INT, json TEXT);
      CREATE TABLE IF NOT EXISTS lease (key TEXT PRIMARY KEY, owner TEXT, expires INT, stop INT);
    `);
  }

  /** An older snapshot never replaces a newer one. Who has lost the lease saves nothing. */
  async save(snapshot: SessionSnapshot, held?: HeldLease) {
    const { id, seq, updated_at_ms } = snapshot;
    this.#db
      .prepare(`
        INSERT INTO session SELECT ?, ?, ?, ?
        WHERE NOT EXISTS (SELECT 1 FROM lease WHERE key = ? AND owner <> ?)
        ON CONFLICT (id) DO UPDATE
        SET seq = excluded.seq, updated = excluded.updated, json = excluded.json
        WHERE excluded.seq >= session.seq`)
      .run(id, seq, updated_at_ms, JSON.stringify(snapshot), held?.key ?? "", held?.owner.id ?? "");
  }

  async load(sessionId: string) {
    const row = this.#db.prepare("SELECT json FROM session WHERE id = ?").get(sessionId);
    return row && (JSON.parse(String(row.json)) as SessionSnapshot);
  }

  /** Newest first. A store for many sessions would filter in SQL. */
  async list({ limit, offset = 0, labels = {}, source, ...query }: SessionQuery) {
    return this.#all()
      .filter(({ id, archived, updated_at_ms, settings }) => {
        const fits = Object.entries(labels).every(([key, text]) => settings.labels[key] === text);
        const isFrom = !source || passesSource(settings.source, source);
        const isNamed = id.startsWith(query.idPrefix ?? "");
        const isOld = archived && updated_at_ms < (query.archivedBefore ?? 0);
        const isKept = query.archivedBefore === undefined && (query.includeArchived || !archived);
        return fits && isFrom && isNamed && (isOld || isKept);
      })
      .slice(offset, limit === undefined ? undefined : offset + limit);
  }

  /** Where sessions came from that another agent held. */
  async sources(sessionIds: readonly string[]) {
    const found = await Promise.all(sessionIds.map((id) => this.load(id)));
    return new Map(
      found.flatMap((one) => (one?.settings.source ? [[one.id, one.settings.source]] : [])),
    );
  }

  async withSource(filter: SourceFilter, passing: boolean) {
    return this.#all().flatMap(({ id, settings: { source } }) =>
      source && passesSource(source, filter) === passing ? [id] : [],
    );
  }

  #all() {
    return this.#db
      .prepare("SELECT json FROM session ORDER BY updated DESC, id DESC")
      .all()
      .map(({ json }) => JSON.parse(String(json)) as SessionSnapshot);
  }

  async delete(sessionId: string) {
    this.#db.prepare("DELETE FROM session WHERE id = ?").run(sessionId);
  }

  /** Succeeds when the lease is free, expired or the owner's. One statement, so only one wins. */
  async acquire(key: string, owner: LeaseOwner, ttlMs: number) {
    const now = Date.now();
    const { changes } = this.#db
      .prepare(`
        INSERT INTO lease VALUES (?, ?, ?, 0) ON CONFLICT (key) DO UPDATE
        SET stop = stop AND owner = excluded.owner,
          owner = excluded.owner, expires = excluded.expires
        WHERE owner = excluded.owner OR expires <= ?`)
      .run(key, owner.id, now + ttlMs, now);
    return changes === 1;
  }

  /** The row stays: who had the lease before learns that another one had it. */
  async release(key: string, owner: LeaseOwner) {
    this.#db
      .prepare("UPDATE lease SET expires = 0, stop = 0 WHERE key = ? AND owner = ?")
      .run(key, owner.id);
  }

  async askToStop(key: string) {
    const { changes } = this.#db
      .prepare("UPDATE lease SET stop = 1 WHERE key = ? AND expires > ?")
      .run(key, Date.now());
    return changes === 1;
  }

  async askedToStop(owner: LeaseOwner) {
    const rows = this.#db.prepare("SELECT key FROM lease WHERE owner = ? AND stop").all(owner.id);
    return rows.map(({ key }) => String(key));
  }

  async close() {
    if (this.#db.isOpen) this.#db.close();
  }
}

// Each law gets a new folder. A law that opens the store twice expects the same data.
for (const law of sessionStoreLaws) {
  const folder = await mkdtemp(join(tmpdir(), "rkat-example-"));
  const opened: SessionStore[] = [];
  await law.holds(async () => {
    const store = new JsonSessionStore(join(folder, "sessions.db"));
    opened.push(store);
    return store;
  });
  for (const store of opened) await store.close();
  await rm(folder, { recursive: true });
  console.log("holds:", law.name);
}

// A service takes it in place of the one in `sqliteStores`.
const folder = await mkdtemp(join(tmpdir(), "rkat-example-"));
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const sessions = new JsonSessionStore(join(folder, "sessions.db"));
const service = createSessionService({
  model: scriptedModel(["Hello."]),
  stores: { ...stores, sessions },
});
const { sessionId } = await service.createSession({});
await service.startTurn({ sessionId, prompt: "Hi" });
assert.equal((await sessions.load(sessionId))?.last_assistant_text, "Hello.");

await service.close();
await sessions.close();
await stores.close();
await rm(folder, { recursive: true });
