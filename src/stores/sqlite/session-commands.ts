import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import type { SourceFilter } from "../../core/session-source.ts";
import { isInForce, type LeaseOwner, type SessionQuery } from "../../core/session-store.ts";
import { snapshotText } from "../history/snapshot-text.ts";
import type { Connection } from "./connection.ts";

/** What the session store asks of the database. Snapshots come back as `snapshotText` made them. */
export const sessionCommands = {
  saveSnapshot(db: Connection, namespace: string, snapshot: SessionSnapshot): void {
    db.writeUnsynced(() => saveSnapshotInTransaction(db, namespace, snapshot));
  },

  loadSnapshot(db: Connection, namespace: string, sessionId: string): string | undefined {
    return db.get<{ snapshot: string }>(
      "SELECT snapshot FROM snapshot WHERE namespace = ? AND session_id = ?",
      namespace,
      sessionId,
    )?.snapshot;
  },

  listSnapshots(db: Connection, namespace: string, query: SessionQuery): readonly string[] {
    const { source } = query;
    return db
      .all<{ snapshot: string }>(
        `SELECT snapshot FROM snapshot
         WHERE namespace = ?1
           AND CASE WHEN ?9 IS NULL THEN ?2 OR NOT archived ELSE archived AND updated_at_ms < ?9 END
           AND substr(session_id, 1, length(?3)) = ?3
           AND NOT EXISTS (
             SELECT 1 FROM json_each(?4) AS wanted WHERE NOT EXISTS (
               SELECT 1 FROM json_each(labels) AS label
               WHERE label.key = wanted.key AND label.value = wanted.value))
           AND (?7 IS NULL OR (session_id IN (SELECT value FROM json_each(?7))) = ?8)
         ORDER BY updated_at_ms DESC, session_id DESC LIMIT ?5 OFFSET ?6`,
        namespace,
        query.includeArchived ? 1 : 0,
        query.idPrefix ?? "",
        JSON.stringify(query.labels ?? {}),
        query.limit ?? -1,
        query.offset ?? 0,
        source ? JSON.stringify(idsWithSource(db, namespace, source, !source.own)) : null,
        source?.own ? 0 : 1,
        query.archivedBefore ?? null,
      )
      .map(({ snapshot }) => snapshot);
  },

  deleteSnapshot(db: Connection, namespace: string, sessionId: string): void {
    db.write(() =>
      db.run("DELETE FROM snapshot WHERE namespace = ? AND session_id = ?", namespace, sessionId),
    );
    db.emptyLog();
  },

  sessionSources(
    db: Connection,
    namespace: string,
    sessionIds: readonly string[],
  ): readonly { readonly id: string; readonly source: string }[] {
    return db.all(
      `SELECT session_id AS id, source FROM snapshot
       WHERE namespace = ? AND source IS NOT NULL AND session_id IN (SELECT value FROM json_each(?))`,
      namespace,
      JSON.stringify(sessionIds),
    );
  },

  sessionsWithSource: idsWithSource,

  /** Namespaces that begin so and have sessions or knowledge. */
  namespacesBelow(db: Connection, start: string): readonly string[] {
    const tables = ["log", "snapshot", "knowledge_entry"];
    return [...new Set(tables.flatMap((table) => namespacesIn(db, table, start)))];
  },

  acquireLease(
    db: Connection,
    namespace: string,
    key: string,
    owner: LeaseOwner,
    nowMs: number,
    ttlMs: number,
  ): boolean {
    return db.writeUnsynced(() => {
      const held = leaseOn(db, namespace, key, nowMs);
      if (held && held.id !== owner.id && !isGone(held, owner.host)) return false;
      // What the dead have left of other keys goes with it.
      db.run("DELETE FROM lease WHERE expires_at_ms <= ?", nowMs);
      db.run(
        "INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        namespace,
        key,
        owner.id,
        owner.host,
        owner.pid,
        nowMs + ttlMs,
        ttlMs,
        held?.id === owner.id ? held.stop : 0,
      );
      return true;
    });
  },

  releaseLease(db: Connection, namespace: string, key: string, ownerId: string): void {
    db.writeUnsynced(() =>
      db.run(
        "DELETE FROM lease WHERE namespace = ? AND key = ? AND owner = ?",
        namespace,
        key,
        ownerId,
      ),
    );
  },

  stopLease(db: Connection, namespace: string, key: string, nowMs: number): boolean {
    return db.writeUnsynced(() => {
      if (!leaseOn(db, namespace, key, nowMs)) return false;
      db.run("UPDATE lease SET stop = 1 WHERE namespace = ? AND key = ?", namespace, key);
      return true;
    });
  },

  stoppedLeases(db: Connection, namespace: string, ownerId: string): readonly string[] {
    return db
      .all<{ key: string }>(
        "SELECT key FROM lease WHERE namespace = ? AND owner = ? AND stop",
        namespace,
        ownerId,
      )
      .map(({ key }) => key);
  },
};

/** Each namespace is one step in an index, so rows are not counted through. */
function namespacesIn(db: Connection, table: string, start: string): readonly string[] {
  const next = (than: string) => `SELECT min(namespace) FROM ${table} WHERE namespace > ${than}`;
  return db
    .all<{ name: string }>(
      `WITH RECURSIVE step (name) AS (
         ${next("?1")} UNION ALL SELECT (${next("step.name")}) FROM step WHERE name IS NOT NULL
       )
       SELECT name FROM step WHERE substr(name, 1, length(?1)) = ?1`,
      start,
    )
    .map(({ name }) => name);
}

type Lease = LeaseOwner & {
  readonly expires_at_ms: number;
  readonly length_ms: number;
  readonly stop: number;
};

/** The lease on a key, if it is in force. */
function leaseOn(db: Connection, namespace: string, key: string, nowMs: number): Lease | undefined {
  const lease = db.get<Lease>(
    `SELECT owner AS id, host, pid, expires_at_ms, length_ms, stop FROM lease
     WHERE namespace = ? AND key = ?`,
    namespace,
    key,
  );
  return lease && isInForce(lease.expires_at_ms, lease.length_ms, nowMs) ? lease : undefined;
}

/** Reads the index of sources only. */
function idsWithSource(
  db: Connection,
  namespace: string,
  { agent, project, branch }: SourceFilter,
  passing: boolean,
): readonly string[] {
  return db
    .all<{ session_id: string }>(
      `SELECT session_id FROM snapshot
       WHERE namespace = ?1 AND agent IS NOT NULL
         AND ((?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR ifnull(project = ?3, 0))
           AND (?4 IS NULL OR ifnull(branch = ?4, 0))) = ?5`,
      namespace,
      agent ?? null,
      project ?? null,
      branch ?? null,
      passing ? 1 : 0,
    )
    .map(({ session_id }) => session_id);
}

/** Part of a transaction. An older snapshot never replaces a newer one. */
export function saveSnapshotInTransaction(
  db: Connection,
  namespace: string,
  snapshot: SessionSnapshot,
): void {
  db.run(
    `INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET
           seq = excluded.seq, updated_at_ms = excluded.updated_at_ms,
           archived = excluded.archived, labels = excluded.labels, snapshot = excluded.snapshot,
           source = excluded.source
         WHERE excluded.seq >= seq`,
    namespace,
    snapshot.id,
    snapshot.seq,
    snapshot.updated_at_ms,
    snapshot.archived ? 1 : 0,
    JSON.stringify(snapshot.settings.labels),
    snapshotText(snapshot),
    snapshot.settings.source ? JSON.stringify(snapshot.settings.source) : null,
  );
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
