import { SessionError } from "../../core/errors.ts";
import type { NewEvent, StoredEvent } from "../../core/event.ts";
import { jsonOf, mendedEvent } from "../../core/event-shape.ts";
import {
  BACKLOG_MAX,
  type Backlog,
  type Ending,
  type EventStore,
  type HistoryHit,
  type HistoryQuery,
  type IndexedKind,
  isRemoval,
  type KindsRange,
  type LogPlace,
  type PositionedEvent,
  type Redaction,
  type Removal,
  type RepairedEvent,
} from "../../core/event-store.ts";
import type { HeldLease } from "../../core/session-store.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import { isTime } from "../../text/time/calendar.ts";
import {
  type EventRow,
  eventChecksum,
  following,
  HAS_KIND_MARK,
  ifReadable,
  KIND_MARK,
  kindMark,
  type PositionedEventRow,
  readableEvents,
  storedEvent,
} from "../history/stored-event.ts";
import { appendEvents, GroupedAppends, lastSeqOf, refuseAppend } from "./append-events.ts";
import type { EventNotices } from "./event-notices.ts";
import { EVENTS_PER_NUMBER, furtherPositions, HORIZON } from "./event-positions.ts";
import { GroupedCheckpoints } from "./grouped-checkpoints.ts";
import { EventPartitions } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { eventWords, searchEvents } from "./search-events.ts";
import type { Statements } from "./statements.ts";

/** Characters of JSON that one statement reads: enough to be fast, and over soon. */
const PAGE_MAX = 1_000_000;
/** Characters of JSON that a projection is given at once. Large batches make a small index. */
const BATCH_MAX = 4_000_000;
/** Rows of one page at the most, and of one step of a deletion. */
const ROWS_MAX = 2000;

/** Keeps events in PostgreSQL, for any number of processes on any number of machines. */
export class PostgresEventStore implements EventStore {
  static {
    checkMethods("events", PostgresEventStore);
  }
  readonly holdsBack = true;
  readonly #database: PostgresDatabase;
  readonly #namespace: string;
  readonly #appends: GroupedAppends;
  readonly #notices: EventNotices | undefined;
  readonly #partitions: EventPartitions;
  readonly #checkpoints: GroupedCheckpoints;

  /** Closing the store closes the database. Stores of one database may share the other parts. */
  constructor(
    database: PostgresDatabase,
    options: {
      readonly namespace?: string;
      readonly appends?: GroupedAppends;
      readonly partitions?: EventPartitions;
      readonly checkpoints?: GroupedCheckpoints;
      readonly notices?: EventNotices;
    } = {},
  ) {
    this.#database = database;
    this.#namespace = options.namespace ?? "default";
    this.#appends = options.appends ?? new GroupedAppends(database);
    this.#partitions = options.partitions ?? new EventPartitions(database);
    this.#checkpoints = options.checkpoints ?? new GroupedCheckpoints(database);
    this.#notices = options.notices;
  }

  async append(
    sessionId: string,
    lastSeq: number,
    events: readonly NewEvent[],
    held?: HeldLease,
  ): Promise<number> {
    const append = { namespace: this.#namespace, sessionId, lastSeq, events, held };
    if (events.length > EVENTS_PER_NUMBER) {
      await this.#database.write(async (within) => {
        const further = await furtherPositions(within, events.length);
        await appendEvents(within, append, further);
      });
    } else {
      const isDone =
        events.length === 0
          ? (await this.lastSeq(sessionId)) === lastSeq
          : await this.#appends.append(append);
      if (!isDone) await refuseAppend(this.#database, append);
    }
    this.#notices?.tell(this.#namespace, sessionId);
    return lastSeq + events.length;
  }

  watch(sessionId: string, listener: () => void): () => void {
    return this.#notices?.watch(this.#namespace, sessionId, listener) ?? (() => {});
  }

  async lastSeq(sessionId: string): Promise<number> {
    return await lastSeqOf(this.#database, { namespace: this.#namespace, sessionId });
  }

  async *read(
    sessionId: string,
    afterSeq: number,
    toSeq: number = Number.MAX_SAFE_INTEGER,
  ): AsyncIterable<StoredEvent> {
    const read = await this.#inPartition(READ);
    for (let after = afterSeq; ; ) {
      const rows = await this.#database.prepared<EventRow & { more: boolean }>(
        read,
        this.#namespace,
        sessionId,
        after,
        toSeq,
        ROWS_MAX,
        PAGE_MAX,
      );
      for (const row of rows) {
        const event = storedEvent(row);
        after = following(row.seq, after);
        yield event;
      }
      if (!rows.at(-1)?.more) return;
    }
  }

  async readKinds(
    sessionId: string,
    kinds: readonly IndexedKind[],
    { afterSeq, toSeq, limit }: KindsRange,
  ): Promise<readonly StoredEvent[]> {
    const rows = await this.#database.rows<EventRow>(
      await this.#inPartition(READ_KINDS),
      this.#namespace,
      sessionId,
      kinds.map(kindMark),
      afterSeq,
      toSeq,
      limit,
    );
    return rows.map(storedEvent).reverse();
  }

  async turnsAt(sessionId: string, seq: number): Promise<number> {
    const sql = await this.#inPartition(TURNS_AT);
    const row = await this.#database.row<{ turns: number }>(sql, this.#namespace, sessionId, seq);
    return row?.turns ?? 0;
  }

  async readAll(afterPosition: number, limit: number): Promise<readonly PositionedEvent[]> {
    const readAll = await this.#inPartition(READ_ALL);
    for (let last = afterPosition; ; ) {
      const rows = await this.#database.prepared<PositionedEventRow>(
        readAll,
        this.#namespace,
        last,
        limit,
        BATCH_MAX,
      );
      for (const { position } of rows) last = following(position, last);
      const events = readableEvents(rows);
      if (events.length > 0 || rows.length === 0) return events;
    }
  }

  async backlog(afterPosition: number): Promise<Backlog> {
    const counted = await this.#database.row<{ events: number; oldest: number | null }>(
      await this.#inPartition(BACKLOG),
      this.#namespace,
      afterPosition,
      BACKLOG_MAX,
    );
    return { events: counted?.events ?? 0, oldestMs: counted?.oldest ?? undefined };
  }

  async endings(places: readonly LogPlace[]): Promise<readonly Ending[]> {
    const rows = await this.#database.prepared<EndingRow>(
      await this.#inPartition(ENDINGS),
      this.#namespace,
      places.map(({ sessionId }) => sessionId),
      places.map(({ seq }) => seq),
    );
    const all = places.map((): { last: number; removals: Removal[] } => ({
      last: 0,
      removals: [],
    }));
    for (const { at, last, ...row } of rows) {
      const ending = all[at - 1];
      if (!ending) continue;
      ending.last = last;
      const stored = row.seq === null ? undefined : ifReadable(() => storedEvent(row));
      if (stored && isRemoval(stored)) ending.removals.push(stored);
    }
    return all;
  }

  async search(query: HistoryQuery): Promise<readonly HistoryHit[]> {
    const namespace = this.#namespace;
    const inPartition = await this.#partitions.of(namespace);
    return await searchEvents(this.#database, { namespace, inPartition }, query);
  }

  async checkpoint(projection: string): Promise<number> {
    return await this.#checkpoints.read(this.#namespace, projection);
  }

  async saveCheckpoint(projection: string, position: number): Promise<void> {
    await this.#database.changePrepared(
      `insert into rkat.projection_checkpoint as saved values ($1, $2, $3)
       on conflict (namespace, projection) do update set position = excluded.position
       where excluded.position > saved.position or excluded.position = 0`,
      this.#namespace,
      projection,
      position,
    );
  }

  /** Takes the log out of sight at once, then deletes its events in steps: others never wait long. */
  async delete(sessionId: string): Promise<void> {
    const hidden = await this.#database.change(
      "update rkat.log set namespace = null where namespace = $1 and session_id = $2",
      this.#namespace,
      sessionId,
    );
    // A deletion whose process was killed is finished too.
    if (hidden === 0) return;
    const namespaces = new Set([this.#namespace]);
    for (let more = true; more; ) {
      const purged = await this.#database.write(purgeEvents);
      if (purged?.namespace !== undefined) namespaces.add(purged.namespace);
      more = purged !== undefined;
    }
    for (const namespace of namespaces) {
      await this.#database.vacuum((await this.#partitions.of(namespace))("rkat.event"));
    }
  }

  async redact(
    sessionId: string,
    lastSeq: number,
    redactions: readonly Redaction[],
    told: NewEvent,
  ): Promise<number> {
    const append = {
      namespace: this.#namespace,
      sessionId,
      lastSeq,
      events: [told],
      held: undefined,
    };
    const [ids, redact] = [await this.#inPartition(READ_IDS), await this.#inPartition(REDACT)];
    await this.#database.write(async (statements) => {
      await appendEvents(statements, append);
      const rows = await statements.rows<EventRow>(
        ids,
        this.#namespace,
        sessionId,
        redactions.map(({ seq }) => seq),
      );
      const stored = new Map(rows.map((row) => [row.seq, row]));
      requireAll(redactions, stored);
      const changed = await statements.rows<{ seq: number }>(
        redact,
        this.#namespace,
        sessionId,
        redactions.map(({ seq }) => seq),
        redactions.map(({ event }) => jsonOf(event)),
        redactions.map(({ event }) => eventWords(event)),
        redactions.map(({ event }) => event.type),
        redactions.map(({ seq, event }) =>
          eventChecksum({ ...(stored.get(seq) as EventRow), event: jsonOf(event) }),
        ),
      );
      requireAll(redactions, new Map(changed.map(({ seq }) => [seq, true])));
    });
    await this.#database.vacuum(await this.#inPartition("rkat.event"));
    return lastSeq + 1;
  }

  async repair(): Promise<readonly RepairedEvent[]> {
    const readAll = await this.#inPartition(READ_ALL);
    const repair = await this.#inPartition(REPAIR);
    const all: RepairedEvent[] = [];
    for (let last = 0; ; ) {
      const rows = await this.#database.rows<PositionedEventRow>(
        readAll,
        this.#namespace,
        last,
        ROWS_MAX,
        BATCH_MAX,
      );
      if (rows.length === 0) return all;
      for (const row of rows) {
        last = following(row.position, last);
        if (ifReadable(() => storedEvent(row))) continue;
        const event = mendedEvent(row.event);
        const { session_id: sessionId, seq } = row;
        const text = jsonOf(event);
        const timestamp_ms = isTime(row.timestamp_ms) ? row.timestamp_ms : 0;
        const checksum = eventChecksum({ ...row, timestamp_ms, event: text });
        const changed = [text, eventWords(event), timestamp_ms, checksum];
        await this.#database.change(repair, this.#namespace, sessionId, seq, row.event, ...changed);
        all.push({ sessionId, seq, type: event.type });
      }
    }
  }

  /** A statement that names the partition of the namespace, if the tables have partitions. */
  async #inPartition(sql: string): Promise<string> {
    return (await this.#partitions.of(this.#namespace))(sql);
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

/**
 * Deletes some events of a deleted log, and the log when none is left. Returns the namespace that they were of, or
 * `undefined` when there is no deleted log.
 */
async function purgeEvents(
  statements: Statements,
): Promise<{ readonly namespace: string | undefined } | undefined> {
  const hidden = await statements.row<{ key: number }>(
    "select key from rkat.log where namespace is null limit 1 for update skip locked",
  );
  if (!hidden) return undefined;
  const deleted = await statements.row<{ namespace: string; count: number }>(
    `with deleted as (
       delete from rkat.event where log = $1
         and seq in (select seq from rkat.event where log = $1 order by seq limit $2)
       returning namespace
     )
     select namespace, count(*)::integer as count from deleted group by namespace`,
    hidden.key,
    ROWS_MAX,
  );
  if (!deleted || deleted.count < ROWS_MAX)
    await statements.change("delete from rkat.log where key = $1", hidden.key);
  return { namespace: deleted?.namespace };
}

/** Events beyond `size` characters are left for the next page. The first one is always there. */
const READ = `
  select seq, event_id, timestamp_ms, event,
    found = $5 or count(*) over () < found as more
  from (
    select *, count(*) over () as found,
      sum(length(event)) over (order by seq) - length(event) as before from (
      select seq, event_id, timestamp_ms, event from rkat.event
      where log = (select key from rkat.log where namespace = $1 and session_id = $2)
        and seq > $3::bigint and seq <= $4::bigint order by seq limit $5
    ) as page
  ) as sized
  where before < $6 order by seq`;

const READ_KINDS = `
  select found.* from unnest($3::text[]) as kind cross join lateral (
    select seq, event_id, timestamp_ms, event from rkat.event
    where log = (select key from rkat.log where namespace = $1 and session_id = $2)
      and ${KIND_MARK} = kind and ${HAS_KIND_MARK} and seq > $4::bigint and seq <= $5::bigint
    order by seq desc limit $6
  ) as found order by seq desc limit $6`;

const TURNS_AT = `
  select turns from rkat.event
  where log = (select key from rkat.log where namespace = $1 and session_id = $2)
    and seq = $3::bigint`;

/** Each log is looked up by itself. A join of all would read and sort the rest of the events for each page. */
const WITH_LOG = `rkat.event as event cross join lateral (
    select session_id from rkat.log where key = event.log and namespace = $1 offset 0) as log`;

const READ_ALL = `
  select position, session_id, seq, turns, event_id, timestamp_ms, event
  from (
    select *, sum(length(event)) over (order by position) - length(event) as before from (
      select position, session_id, seq, turns, event_id, timestamp_ms, event from ${WITH_LOG}
      where event.namespace = $1 and position > $2 and position < ${HORIZON}
      order by position limit $3
    ) as page
  ) as sized
  where before < $4 order by position`;

const BACKLOG = `
  select count(*) as events, min(timestamp_ms) as oldest from (
    select timestamp_ms from ${WITH_LOG}
    where event.namespace = $1 and position > $2 order by position limit $3
  ) as behind`;

type EndingRow = { readonly at: number; readonly last: number } & (
  | EventRow
  | { readonly seq: null }
);

const REMOVALS = (["text_forgotten", "session_deleted"] as const).map(kindMark);

/** Each log is looked up by itself, as in `WITH_LOG`: a join of all would read the whole table. */
const ENDINGS = `
  select place.at, log.last_seq as last, removal.seq, event_id, timestamp_ms, event
  from unnest($2::text[], $3::bigint[]) with ordinality as place (session_id, after, at)
    cross join lateral (
      select key, last_seq from rkat.log
      where namespace = $1 and session_id = place.session_id offset 0
    ) as log left join lateral (
      select seq, event_id, timestamp_ms, event from rkat.event
      where log = log.key and seq > place.after and ${KIND_MARK} in ('${REMOVALS.join("', '")}') offset 0
    ) as removal on true
  order by place.at, removal.seq`;

const REPAIR = `
  update rkat.event as event set event = $5::text, stems = $6::text::tsvector,
    timestamp_ms = $7::bigint, checksum = $8::bigint
  where log = (select key from rkat.log where namespace = $1 and session_id = $2)
    and seq = $3 and event = $4`;

const READ_IDS = `
  select seq, event_id, timestamp_ms from rkat.event as event
  where log = (select key from rkat.log where namespace = $1 and session_id = $2)
    and seq = any ($3::integer[])`;

const REDACT = `
  update rkat.event as event set event = redacted.event, stems = redacted.words::tsvector,
    checksum = redacted.checksum
  from unnest($3::integer[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as redacted (seq, event, words, type, checksum)
  where log = (select key from rkat.log where namespace = $1 and session_id = $2)
    and event.seq = redacted.seq and event.event::json ->> 'type' = redacted.type
  returning event.seq`;

function requireAll(redactions: readonly Redaction[], changed: ReadonlyMap<number, unknown>): void {
  const missing = redactions.find(({ seq }) => !changed.has(seq));
  if (!missing) return;
  throw new SessionError("SESSION_CONFLICT", {
    detail: `Event ${missing.seq} is no ${missing.event.type}.`,
  });
}
