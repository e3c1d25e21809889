import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import type { LoggedSource, SourceConditions, SourceFilter } from "../../core/session-source.ts";
import type { LeaseOwner, SessionQuery, SessionStore } from "../../core/session-store.ts";
import { listedSnapshot, snapshotIn } from "../history/snapshot-text.ts";
import { storedSource } from "../stored-json.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import type { Statements } from "./statements.ts";

/**
 * Keeps snapshots and leases in PostgreSQL. The server's clock says when a lease ends, so that a machine
 * whose clock is wrong neither takes one early nor keeps one.
 */
export class PostgresSessionStore implements SessionStore {
  readonly #database: PostgresDatabase;
  readonly #namespace: string;

  /** Closing the store closes the database. */
  constructor(database: PostgresDatabase, options: { readonly namespace?: string } = {}) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
  }

  async save(snapshot: SessionSnapshot): Promise<void> {
    await this.#database.repeat((statements) =>
      saveSnapshot(statements, this.#namespace, snapshot),
    );
  }

  async load(sessionId: string): Promise<SessionSnapshot | undefined> {
    const row = await this.#database.row<{ snapshot: string }>(
      "select snapshot from rkat.snapshot where namespace = $1 and session_id = $2",
      this.#namespace,
      sessionId,
    );
    // The log gives the same state again.
    return row && snapshotIn(row.snapshot);
  }

  async list(query: SessionQuery): Promise<readonly SessionSnapshot[]> {
    const { source, labels = {} } = query;
    const rows = await this.#database.rows<{ snapshot: string }>(
      `select snapshot from rkat.snapshot
       where namespace = $1 and starts_with(session_id, $3)
         and case when $12::bigint is null then $2 or not archived
           else archived and updated_at_ms < $12 end
         and labels @> $4::text[]
         and (not $7 or case when agent is null then $8 else ${passes(9)} end)
       order by updated_at_ms desc, session_id desc limit $5 offset $6`,
      this.#namespace,
      query.includeArchived ?? false,
      query.idPrefix ?? "",
      labelsOf(labels),
      query.limit ?? null,
      query.offset ?? 0,
      source !== undefined,
      source?.own ?? false,
      ...conditionsOf(source),
      query.archivedBefore ?? null,
    );
    return rows.map(({ snapshot }) => listedSnapshot(snapshot));
  }

  async delete(sessionId: string): Promise<void> {
    await this.#database.change(
      "delete from rkat.snapshot where namespace = $1 and session_id = $2",
      this.#namespace,
      sessionId,
    );
    await this.#database.vacuum("rkat.snapshot");
  }

  async sources(sessionIds: readonly string[]): Promise<ReadonlyMap<string, LoggedSource>> {
    if (sessionIds.length === 0) return new Map();
    const rows = await this.#database.rows<{ id: string; source: string }>(
      `select session_id as id, source from rkat.snapshot
       where namespace = $1 and source is not null and session_id = any($2::text[])`,
      this.#namespace,
      sessionIds,
    );
    return new Map(rows.map(({ id, source }) => [id, storedSource(source)]));
  }

  async withSource(filter: SourceFilter, passing: boolean): Promise<readonly string[]> {
    const rows = await this.#database.rows<{ session_id: string }>(
      `select session_id from rkat.snapshot
       where namespace = $1 and agent is not null and ${passes(3)} = $2`,
      this.#namespace,
      passing,
      ...conditionsOf(filter),
    );
    return rows.map(({ session_id }) => session_id);
  }

  async acquire(key: string, owner: LeaseOwner, ttlMs: number): Promise<boolean> {
    if (await this.#take(key, owner, ttlMs, [])) return true;
    const held = await this.#database.row<LeaseOwner>(
      "select owner as id, host, pid from rkat.lease where namespace = $1 and key = $2",
      this.#namespace,
      key,
    );
    return held !== undefined && isGone(held, owner.host)
      ? await this.#take(key, owner, ttlMs, [held.id])
      : false;
  }

  /** Takes a lease that is free, that the same owner has, or whose owner is gone. */
  async #take(
    key: string,
    owner: LeaseOwner,
    ttlMs: number,
    gone: readonly string[],
  ): Promise<boolean> {
    const taken = await this.#database.change(
      `insert into rkat.lease as held
       values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 ms', $6 * interval '1 ms', false)
       on conflict (namespace, key) do update set owner = excluded.owner, host = excluded.host,
         pid = excluded.pid, length = excluded.length,
         stop = held.stop and held.owner = excluded.owner,
         expires_at = clock_timestamp() + excluded.length
       where held.owner = excluded.owner or held.owner = any($7::text[]) or not (${IN_FORCE})`,
      this.#namespace,
      key,
      owner.id,
      owner.host,
      owner.pid,
      ttlMs,
      gone,
    );
    return taken > 0;
  }

  async release(key: string, owner: LeaseOwner): Promise<void> {
    await this.#database.change(
      `update rkat.lease set expires_at = '-infinity', stop = false
       where namespace = $1 and key = $2 and owner = $3`,
      this.#namespace,
      key,
      owner.id,
    );
    if (Math.random() < CLEANS_UP) await this.#database.change(CLEAN_UP);
  }

  async askToStop(key: string): Promise<boolean> {
    const asked = await this.#database.change(
      `update rkat.lease as held set stop = true
       where namespace = $1 and key = $2 and ${IN_FORCE}`,
      this.#namespace,
      key,
    );
    return asked > 0;
  }

  async askedToStop(owner: LeaseOwner): Promise<readonly string[]> {
    const rows = await this.#database.rows<{ key: string }>(
      "select key from rkat.lease where namespace = $1 and owner = $2 and stop",
      this.#namespace,
      owner.id,
    );
    return rows.map(({ key }) => key);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

/** Whether a lease excludes others. One that ends far ahead was taken before the server's clock was set back. */
const IN_FORCE =
  "held.expires_at > clock_timestamp() and held.expires_at <= clock_timestamp() + 2 * held.length";

/** How often a release deletes the leases of long ago. */
const CLEANS_UP = 0.01;
const CLEAN_UP =
  "delete from rkat.lease where expires_at < clock_timestamp() - greatest(interval '1 day', 2 * length)";

/** An older snapshot never replaces a newer one. */
export async function saveSnapshot(
  statements: Statements,
  namespace: string,
  snapshot: SessionSnapshot,
): Promise<void> {
  const { labels, source } = snapshot.settings;
  await statements.change(
    `insert into rkat.snapshot as saved values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (namespace, session_id) do update set seq = excluded.seq,
       updated_at_ms = excluded.updated_at_ms, archived = excluded.archived,
       labels = excluded.labels, snapshot = excluded.snapshot, source = excluded.source,
       agent = excluded.agent, project = excluded.project, branch = excluded.branch
     where excluded.seq >= saved.seq`,
    namespace,
    snapshot.id,
    snapshot.seq,
    snapshot.updated_at_ms,
    snapshot.archived,
    labelsOf(labels),
    JSON.stringify(snapshot),
    source ? JSON.stringify(source) : null,
    source?.agent ?? null,
    source?.project ?? null,
    source?.branch ?? null,
  );
}

/** Whether the source of a row meets the conditions, of which the first value is `$first`. */
function passes(first: number): string {
  const meets = ["agent", "project", "branch"].map(
    (column, index) =>
      `($${first + index}::text is null or coalesce(${column} = $${first + index}, false))`,
  );
  return `(${meets.join(" and ")})`;
}

function conditionsOf(source: SourceConditions | undefined) {
  return [source?.agent ?? null, source?.project ?? null, source?.branch ?? null];
}

function labelsOf(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).map((label) => JSON.stringify(label));
}

/** Whether the owner was a process of this host that no longer runs. */
function isGone(owner: LeaseOwner, thisHost: string): boolean {
  if (owner.host !== thisHost) return false;
  try {
    process.kill(owner.pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
