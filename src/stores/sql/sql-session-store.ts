import { SessionError } from "../../core/errors.ts";
import { isSnapshot } from "../../core/event-shape.ts";
import { parsedJson } from "../../core/json-values.ts";
import type { SessionSnapshot } from "../../core/session-snapshot.ts";
import type { LoggedSource, SourceConditions, SourceFilter } from "../../core/session-source.ts";
import type {
  HeldLease,
  LeaseInForce,
  LeaseOwner,
  SessionQuery,
  SessionStore,
} from "../../core/session-store.ts";
import { hashOfKey } from "../../indexing/words/vocabulary.ts";
import { storedSource } from "../stored-json.ts";
import {
  type Asking,
  change,
  changed,
  clean,
  type Dialect,
  isIn,
  joined,
  row,
  rows,
  type Sql,
  type Statement,
  sql,
  words,
} from "./sql.ts";

/** How often a release deletes the leases of long ago. */
const CLEANS_UP = 0.01;
const DAY_MS = 86_400_000;

/** Keeps snapshots and leases. */
export class SqlSessionStore implements Asking<Required<SessionStore>> {
  readonly #namespace: string;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  *save(snapshot: SessionSnapshot, held?: HeldLease): Sql<void> {
    yield* saveSnapshot(this.#namespace, snapshot, held);
  }

  *load(sessionId: string): Sql<SessionSnapshot | undefined> {
    const found = yield* row<{ snapshot: string }>(sql`select snapshot from rkat.snapshot
      where namespace = ${this.#namespace} and session_id = ${sessionId}`);
    // The log gives the same state again.
    return found && readSnapshot(found.snapshot);
  }

  *list(query: SessionQuery): Sql<readonly SessionSnapshot[]> {
    const { idPrefix, labels, source, archivedBefore, limit, offset = 0 } = query;
    const conditions = [sql`namespace = ${this.#namespace}`];
    if (archivedBefore !== undefined)
      conditions.push(sql`updated_at_ms < ${Math.ceil(archivedBefore)}`);
    if (idPrefix) {
      // The range is what an index finds.
      conditions.push(sql`session_id >= ${idPrefix} and session_id <= ${`${idPrefix}\u{10ffff}`}`);
      conditions.push(sql`substr(session_id, 1, length(${idPrefix})) = ${idPrefix}`);
    }
    if (labels && Object.keys(labels).length > 0) {
      conditions.push(sql`${({ hasLabels }: Dialect) => hasLabels(labels)}`);
    }
    if (source) {
      const others = idsWithSource(this.#namespace, source, !source.own);
      conditions.push(sql`session_id ${words(source.own ? "not in" : "in")} (${others})`);
    }
    // The index has the archived ones and the others apart, each in their order.
    const kinds = archivedBefore !== undefined ? [true] : [false, true];
    const parts = (query.includeArchived ? kinds : kinds.slice(0, 1)).map(
      (archived) => sql`select session_id as id, snapshot, updated_at_ms from rkat.snapshot
        where archived = ${words(String(archived))} and ${joined(conditions, " and ")}`,
    );
    const found = yield* rows<{
      id: string;
      snapshot: string;
    }>(sql`${joined(parts, " union all ")} order by updated_at_ms desc, id desc
      limit ${limit ?? Number.MAX_SAFE_INTEGER} offset ${offset}`);
    return found.map(({ id, snapshot }) => listedSnapshot(snapshot, id));
  }

  *delete(sessionId: string): Sql<void> {
    yield* change(sql`delete from rkat.snapshot
      where namespace = ${this.#namespace} and session_id = ${sessionId}`);
    yield* clean("rkat.snapshot");
  }

  *sources(sessionIds: readonly string[]): Sql<ReadonlyMap<string, LoggedSource>> {
    if (sessionIds.length === 0) return new Map();
    const found = yield* rows<{ id: string; source: string }>(sql`select session_id as id, source
      from rkat.snapshot
      where namespace = ${this.#namespace} and source is not null
        and session_id ${isIn(sessionIds)}`);
    return new Map(found.map(({ id, source }) => [id, storedSource(source)]));
  }

  *withSource(filter: SourceFilter, passing: boolean): Sql<readonly string[]> {
    const found = yield* rows<{ session_id: string }>(
      idsWithSource(this.#namespace, filter, passing),
    );
    return found.map(({ session_id }) => session_id);
  }

  *acquire(key: string, owner: LeaseOwner, ttlMs: number): Sql<boolean> {
    if (yield* this.#take(key, owner, ttlMs)) return true;
    const held = yield* row<LeaseOwner>(sql`select owner as id, host, pid from rkat.lease
      where namespace = ${this.#namespace} and key = ${key}`);
    if (!held || !isGone(held, owner.host)) return false;
    return yield* this.#take(key, owner, ttlMs, held.id);
  }

  /** Takes a lease that is free, that the same owner has, or that an owner has who is gone. */
  *#take(key: string, { id, host, pid }: LeaseOwner, ttlMs: number, gone = id): Sql<boolean> {
    const taken = yield* change(
      lease(
        ({ until, length, now, span }) => sql`insert into rkat.lease as held
          values (${this.#namespace}, ${key}, ${id}, ${host}, ${pid}, ${now()} + ${span(ttlMs)},
            ${span(ttlMs)}, false)
          on conflict (namespace, key) do update set owner = excluded.owner, host = excluded.host,
            pid = excluded.pid, ${until} = excluded.${until}, ${length} = excluded.${length},
            stop = case when held.owner = excluded.owner then held.stop else false end
          where held.owner in (${id}, ${gone}) or not (${IN_FORCE})`,
      ),
      "write unsynced",
    );
    return taken > 0;
  }

  *renew(key: string, owner: LeaseOwner, ttlMs: number): Sql<boolean> {
    const renewed = yield* change(
      lease(
        ({ until, length, now, span }) => sql`update rkat.lease
          set ${until} = ${now()} + ${span(ttlMs)}, ${length} = ${span(ttlMs)}
          where namespace = ${this.#namespace} and key = ${key} and owner = ${owner.id}
            and ${length} > ${span(0)}`,
      ),
      "write unsynced",
    );
    return renewed > 0;
  }

  /**
   * The row keeps its last owner for a day: what an owner before still appends is refused. Without a length it is in
   * force for no clock.
   */
  *release(key: string, owner: LeaseOwner): Sql<void> {
    yield* change(this.#released(key, owner), "write unsynced");
    yield* cleanUp();
  }

  *saveAndRelease(snapshot: SessionSnapshot, held: HeldLease): Sql<void> {
    // The save looks at the row of the lease, which keeps its owner. PostgreSQL does the last statement first.
    const saved = sql`${(dialect: Dialect) => savedBy(dialect, this.#namespace, snapshot, held)}`;
    yield* changed([this.#released(held.key, held.owner), saved], "write unsynced");
    yield* cleanUp();
  }

  #released(key: string, owner: LeaseOwner): Statement {
    return lease(
      ({ until, length, now, span }) => sql`update rkat.lease
        set ${until} = ${now()}, ${length} = ${span(0)}, stop = false
        where namespace = ${this.#namespace} and key = ${key} and owner = ${owner.id}`,
    );
  }

  *askToStop(key: string): Sql<boolean> {
    const asked = yield* change(
      sql`update rkat.lease as held set stop = true
        where namespace = ${this.#namespace} and key = ${key} and ${IN_FORCE}`,
      "write unsynced",
    );
    return asked > 0;
  }

  *askedToStop(owner: LeaseOwner): Sql<readonly string[]> {
    const found = yield* rows<{ key: string }>(sql`select key from rkat.lease
      where namespace = ${this.#namespace} and owner = ${owner.id} and stop = true`);
    return found.map(({ key }) => key);
  }

  *leases(limit: number): Sql<readonly LeaseInForce[]> {
    const left = lease((times) => times.left());
    const found = yield* rows<LeaseRow>(sql`select key, host, pid, ${left} as left_ms
      from rkat.lease as held where namespace = ${this.#namespace} and ${IN_FORCE}
      order by left_ms, key limit ${limit}`);
    return found.map(({ key, host, pid, left_ms }) => {
      return { key, host, pid: Number(pid), leftMs: Math.round(Number(left_ms)) };
    });
  }

  *damaged(): Sql<readonly string[]> {
    const damaged: string[] = [];
    for (let last: string | undefined = ""; last !== undefined; ) {
      const found: readonly { id: string; snapshot: string }[] = yield* rows(
        sql`select session_id as id, snapshot from rkat.snapshot
          where namespace = ${this.#namespace} and session_id > ${last} order by session_id limit 500`,
      );
      damaged.push(
        ...found.flatMap(({ id, snapshot }) => (isChangedSnapshot(snapshot) ? [id] : [])),
      );
      last = found.at(-1)?.id;
    }
    return damaged;
  }
}

interface LeaseRow {
  readonly key: string;
  readonly host: string;
  readonly pid: number;
  readonly left_ms: number;
}

/**
 * An older snapshot never replaces a newer one. The row of the lease is locked, so that no other process takes it while
 * its owner saves.
 */
export function* saveSnapshot(
  namespace: string,
  snapshot: SessionSnapshot,
  held?: HeldLease,
): Sql<void> {
  yield* change(
    sql`${(dialect: Dialect) => savedBy(dialect, namespace, snapshot, held)}`,
    "write unsynced",
  );
}

function savedBy(
  dialect: Dialect,
  namespace: string,
  snapshot: SessionSnapshot,
  held: HeldLease | undefined,
): Statement {
  const { id, seq, updated_at_ms, archived, settings } = snapshot;
  const { labels, source } = settings;
  const columns: Record<string, Statement> = {
    seq: sql`${seq}`,
    updated_at_ms: sql`${updated_at_ms}`,
    archived: sql`${archived}`,
    labels: dialect.labels(labels),
    snapshot: sql`${snapshotText(snapshot, dialect.logsDifferences)}`,
    source: sql`${source ? JSON.stringify(source) : null}`,
  };
  if (!dialect.readsSource) {
    for (const name of CONDITIONS) columns[name] = sql`${comparable(source?.[name])}`;
  }
  const names = Object.keys(columns);
  const set = names.map((name) => `${name} = excluded.${name}`).join(", ");
  const into = sql`insert into rkat.snapshot as saved
    (namespace, session_id, ${words(names.join(", "))})`;
  const values = sql`${namespace}, ${id}, ${joined(Object.values(columns), ", ")}`;
  const inserted = held
    ? sql`${into} select ${values} where exists (select 1 from (select owner from rkat.lease
        where namespace = ${namespace} and key = ${held.key} ${dialect.lease.locked}) as taken
        where owner = ${held.owner.id})`
    : sql`${into} values (${values})`;
  return sql`${inserted}
    on conflict (namespace, session_id) do update set ${words(set)}
    where excluded.seq >= saved.seq`;
}

const CONDITIONS = ["agent", "project", "branch"] as const;

/** The index of sources has room for three texts of this length. */
const COMPARABLE_BYTES = 255;

/** A text as the index of sources has it: of a longer one, a hash. Earlier versions kept it whole. */
function comparable(text: string | undefined): string | null {
  if (text === undefined || Buffer.byteLength(text) <= COMPARABLE_BYTES) return text ?? null;
  return process.getBuiltinModule("node:crypto").hash("sha256", text);
}

/** Reads the index of sources only. */
function idsWithSource(namespace: string, wanted: SourceConditions, passing: boolean): Statement {
  const met = CONDITIONS.flatMap((name) =>
    wanted[name] === undefined
      ? []
      : [sql`${words(name)} in (${wanted[name]}, ${comparable(wanted[name])})`],
  );
  const all = met.length > 0 ? joined(met, " and ") : words("true");
  return sql`select session_id from rkat.snapshot where namespace = ${namespace}
    and agent is not null and (${all}) ${words(passing ? "is true" : "is not true")}`;
}

function* cleanUp(): Sql<void> {
  if (Math.random() < CLEANS_UP) yield* change(CLEAN_UP, "write unsynced");
}

function lease(write: (lease: Dialect["lease"]) => Statement): Statement {
  return sql`${(dialect: Dialect) => write(dialect.lease)}`;
}

/** Whether a lease excludes others: `isInForce`. */
const IN_FORCE = lease(
  ({ until, length, now }) =>
    sql`held.${until} > ${now()} and held.${until} <= ${now()} + 2 * held.${length}`,
);

const CLEAN_UP = lease(
  ({ until, length, now, span }) => sql`delete from rkat.lease
    where ${until} < ${now()} - ${span(DAY_MS)} and ${until} < ${now()} - 2 * ${length}`,
);

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

/** Fields that a turn leaves as they were. They come last in the JSON, so that those that it changes stand together. */
const LASTING: ReadonlySet<string> = new Set<keyof SessionSnapshot>([
  "version",
  "id",
  "created_at_ms",
  "archived",
  "settings",
  "last_compaction_call",
  "compactions",
  "recorded_compactions",
  "summary",
  "pruned",
  "task",
  "denied",
  "instructions",
  "instructions_left_out",
  "pins",
  "shown_task",
]);

/**
 * A snapshot as a store keeps it: its JSON, with a checksum of it in its first field or in a line below it. SQLite does
 * not notice a byte that flips on the disk. The first line is JSON in any case: programs of earlier versions, which run
 * beside this one while servers are updated, list sessions by it.
 */
function snapshotText(snapshot: SessionSnapshot, isChecksumFirst: boolean): string {
  const [lasting = [], changing = []] = [true, false].map((lasts) =>
    Object.entries(snapshot).filter(([name]) => LASTING.has(name) === lasts),
  );
  const json = JSON.stringify(Object.fromEntries([...changing, ...lasting]));
  const checksum = hashOfKey(json);
  return isChecksumFirst ? `{"checksum":${checksum},${json.slice(1)}` : `${json}\n${checksum}`;
}

const CHECKSUM_FIRST = /^\{"checksum":(\d+),/;

/** The JSON of a snapshot's text, and its checksum if there is one. For a short time, that was a line above the JSON. */
function partsOf(text: string): readonly [json: string, checksum: string | undefined] {
  const [before, checksum] = CHECKSUM_FIRST.exec(text) ?? [];
  if (before !== undefined) return [`{${text.slice(before.length)}`, checksum];
  const [first = "", second] = String(text).split("\n");
  return second === undefined || first.startsWith("{") ? [first, second] : [second, first];
}

/**
 * Undefined when the text has changed since it was stored, or has no checksum, as earlier versions wrote it to
 * PostgreSQL. The log gives the same state again.
 */
function readSnapshot(text: string): SessionSnapshot | undefined {
  const [json, checksum] = partsOf(text);
  return checksum === String(hashOfKey(json)) ? snapshotIn(json) : undefined;
}

/** The snapshot in a text with or without a checksum; undefined when it is none. */
export function snapshotIn(text: string): SessionSnapshot | undefined {
  const found = parsedJson(partsOf(text)[0]);
  return isListed(found) ? found : undefined;
}

/** Whether a text is no snapshot, or another one than was stored. One without a checksum is as good as its JSON. */
export function isChangedSnapshot(text: string): boolean {
  return snapshotIn(text) === undefined || (partsOf(text)[1] !== undefined && !readSnapshot(text));
}

/** @throws SessionError `SESSION_STORE_ERROR` when the text has changed so much that it is no snapshot. */
export function listedSnapshot(text: string, id: string): SessionSnapshot {
  const found = snapshotIn(text);
  if (found) return found;
  const detail = `The snapshot of session ${id} has changed since it was stored.`;
  const hint = `Run a turn in it (\`rkat resume ${id}\`), which stores its snapshot again.`;
  throw new SessionError("SESSION_STORE_ERROR", { detail, hint });
}

/** Whether a value has what a list of sessions shows. */
function isListed(found: unknown): found is SessionSnapshot {
  return isSnapshot(found);
}
