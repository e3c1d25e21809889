import { SessionError } from "../../core/errors.ts";
import type { NewEvent } from "../../core/event.ts";
import { eventJson } from "../../core/event-shape.ts";
import type { HeldLease } from "../../core/session-store.ts";
import { beginsTurn } from "../../core/turn.ts";
import { eventChecksum } from "../history/stored-event.ts";
import { EVENTS_PER_NUMBER, FIRST_POSITION } from "./event-positions.ts";
import { GroupedWork } from "./grouped-work.ts";
import type { PostgresDatabase } from "./postgres-database.ts";
import { eventWords } from "./search-events.ts";
import type { Statements } from "./statements.ts";

export interface Append {
  readonly namespace: string;
  readonly sessionId: string;
  readonly lastSeq: number;
  readonly events: readonly NewEvent[];
  /** Without it, anybody may append. */
  readonly held: HeldLease | undefined;
}

/** An append with the columns of its events. */
interface AppendRows {
  readonly append: Append;
  readonly events: readonly string[];
  readonly words: readonly (string | null)[];
  /** User messages of the append up to each event. */
  readonly turns: readonly number[];
  /** The length of the JSON of all events. */
  readonly characters: number;
}

export function appendRows(append: Append): AppendRows {
  const texts = append.events.map(eventJson);
  let turn = 0;
  return {
    append,
    events: texts,
    words: append.events.map(({ event }) => eventWords(event)),
    turns: append.events.map(({ event }) => {
      turn += beginsTurn(event) ? 1 : 0;
      return turn;
    }),
    characters: texts.reduce((sum, text) => sum + text.length, 0),
  };
}

/**
 * Appends to several logs with one statement, and returns of each append whether it was done: not when the
 * log ends elsewhere, or when another owner has the lease. A transaction appends once, and once to a log.
 *
 * The row of the log is the lock. An append that waits for it finds another `last_seq`, and is refused. The row
 * of the lease is locked too, so that no other process takes it while its owner appends.
 *
 * `further` are positions for more events than have one number (`furtherPositions`).
 */
export async function appendAll(
  statements: Statements,
  rows: readonly AppendRows[],
  further: readonly number[] = [],
): Promise<readonly boolean[]> {
  const appends = rows.map(({ append }) => append);
  const events = appends.flatMap(({ events }) => events);
  const done = await statements.prepared<{ append: number }>(
    APPEND,
    appends.map(({ namespace }) => namespace),
    appends.map(({ sessionId }) => sessionId),
    appends.map(({ lastSeq }) => lastSeq),
    appends.map(({ events }) => events.length),
    rows.map(({ turns }) => turns.at(-1) ?? 0),
    appends.map(({ held }) => held?.key ?? null),
    appends.map(({ held }) => held?.owner.id ?? null),
    appends.flatMap(({ events }, at) => events.map(() => at + 1)),
    appends.flatMap(({ events, lastSeq }) => events.map((_, at) => lastSeq + at + 1)),
    rows.flatMap(({ turns }) => turns),
    events.map(({ timestamp_ms }) => timestamp_ms),
    events.map(({ event_id }) => event_id),
    rows.flatMap(({ events }) => events),
    rows.flatMap(({ words }) => words),
    rows.flatMap(({ append, events }) =>
      append.events.map(({ event_id, timestamp_ms }, at) =>
        eventChecksum({
          seq: append.lastSeq + at + 1,
          event_id,
          timestamp_ms,
          event: events[at] ?? "",
        }),
      ),
    ),
    further,
  );
  const doneAt = new Set(done.map(({ append }) => append));
  return appends.map((_, at) => doneAt.has(at + 1));
}

/**
 * Appends to one log within a transaction.
 *
 * @throws SessionError `SESSION_CONFLICT` when the log ends elsewhere, or another owner has the lease
 */
export async function appendEvents(
  statements: Statements,
  append: Append,
  further: readonly number[] = [],
): Promise<void> {
  const [isDone] = await appendAll(statements, [appendRows(append)], further);
  if (!isDone) await refuseAppend(statements, append);
}

/** @throws SessionError `SESSION_CONFLICT`, as an append is refused */
export async function refuseAppend(
  statements: Pick<Statements, "prepared">,
  append: Pick<Append, "namespace" | "sessionId" | "lastSeq">,
): Promise<never> {
  const last = await lastSeqOf(statements, append);
  throw new SessionError("SESSION_CONFLICT", {
    detail:
      last === append.lastSeq
        ? "Another process has taken the session."
        : `Its log ends at ${last}, not at ${append.lastSeq}.`,
  });
}

/** 0 when there is no log. */
export async function lastSeqOf(
  statements: Pick<Statements, "prepared">,
  { namespace, sessionId }: Pick<Append, "namespace" | "sessionId">,
): Promise<number> {
  const [row] = await statements.prepared<{ last_seq: number }>(
    "select last_seq from rkat.log where namespace = $1 and session_id = $2",
    namespace,
    sessionId,
  );
  return row?.last_seq ?? 0;
}

const APPEND = `
  with asked as (
    select * from unnest(
        $1::text[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::text[], $7::text[])
      with ordinality as asked (namespace, session_id, last_seq, added, turns, lease, owner, append)
  ), held as (
    select lease.namespace, lease.key, lease.owner
    from asked join rkat.lease on lease.namespace = asked.namespace and lease.key = asked.lease
    for share of lease
  ), allowed as (
    select asked.*
    from asked left join held on held.namespace = asked.namespace and held.key = asked.lease
    where held.owner is null or held.owner = asked.owner
  ), begun as (
    insert into rkat.log as log (namespace, session_id, last_seq, turns)
    select namespace, session_id, added, turns from allowed where last_seq = 0
    on conflict (namespace, session_id) do update
      set last_seq = excluded.last_seq, turns = excluded.turns where log.last_seq = 0
    returning log.key, log.namespace, log.session_id
  ), continued as (
    update rkat.log set last_seq = log.last_seq + allowed.added, turns = log.turns + allowed.turns
    from allowed
    where log.namespace = allowed.namespace and log.session_id = allowed.session_id
      and log.last_seq = allowed.last_seq and allowed.last_seq > 0
    returning log.key, log.turns - allowed.turns as turns_before, allowed.append
  ), ended as (
    select key, turns_before, append from continued
    union all
    select key, 0, append from begun join asked using (namespace, session_id)
  ), added as (
    insert into rkat.event (log, seq, namespace, position, turns, timestamp_ms, event_id, event, stems, checksum)
    select key, seq, asked.namespace,
      case when place <= ${EVENTS_PER_NUMBER} then ${FIRST_POSITION}
        else ($16::bigint[])[(place - 1) / ${EVENTS_PER_NUMBER}] end + (place - 1) % ${EVENTS_PER_NUMBER},
      turns_before + added.turns, timestamp_ms, event_id, event, words::tsvector, checksum
    from unnest($8::integer[], $9::integer[], $10::integer[], $11::bigint[], $12::text[], $13::text[], $14::text[],
        $15::bigint[])
        with ordinality as added (append, seq, turns, timestamp_ms, event_id, event, words, checksum, place)
      join ended using (append) join asked using (append)
  )
  select append from ended`;

/** Appends of one statement, and its events and characters when it has more than one append. */
const GROUP = { appendsMin: 4, appendsMax: 64, eventsMax: 1000, charactersMax: 1_000_000 } as const;

interface LogAppend {
  readonly log: string;
  readonly rows: AppendRows;
}

/** Sends the appends that wait at the same time as one statement, for all sessions of a process. */
export class GroupedAppends {
  readonly #work: GroupedWork<LogAppend, boolean>;
  /** The logs that statements under way append to. */
  readonly #busy = new Set<string>();

  constructor(database: PostgresDatabase) {
    this.#work = new GroupedWork(database, {
      take: (waiting, free) => this.#take(waiting, free),
      send: appended,
      ended: (group) => {
        for (const { log } of group) this.#busy.delete(log);
      },
    });
  }

  /** Returns whether it was done, as `appendAll` does. */
  append(append: Append): Promise<boolean> {
    const log = JSON.stringify([append.namespace, append.sessionId]);
    return this.#work.do({ log, rows: appendRows(append) });
  }

  /** At most one append to each log: the next one begins where it ends. */
  #take(waiting: readonly LogAppend[], free: number): readonly LogAppend[] {
    const share = Math.ceil(waiting.length / free);
    const size = Math.min(Math.max(GROUP.appendsMin, share), GROUP.appendsMax);
    const group: LogAppend[] = [];
    let events = 0;
    let characters = 0;
    for (const one of waiting) {
      const { rows, log } = one;
      events += rows.events.length;
      characters += rows.characters;
      const isFull =
        group.length === size || events > GROUP.eventsMax || characters > GROUP.charactersMax;
      if ((isFull && group.length > 0) || this.#busy.has(log)) continue;
      this.#busy.add(log);
      group.push(one);
    }
    // Processes that lock rows in the same order do not wait for each other in a circle.
    return group.sort((one, other) => (one.log < other.log ? -1 : 1));
  }
}

/** `isAgain` says that the connection was lost before an answer, which may have been that all are stored. */
async function appended(
  statements: Statements,
  group: readonly LogAppend[],
  isAgain: boolean,
): Promise<readonly boolean[]> {
  const rows = group.map(({ rows }) => rows);
  const done = await appendAll(statements, rows);
  if (!isAgain) return done;
  const stored: boolean[] = [];
  for (const [at, { append }] of rows.entries()) {
    stored.push(done[at] || (await isStored(statements, append)));
  }
  return stored;
}

async function isStored(
  statements: Statements,
  { namespace, sessionId, lastSeq, events }: Append,
): Promise<boolean> {
  const row = await statements.row<{ event_id: string }>(
    `select event_id from rkat.event
     where log = (select key from rkat.log where namespace = $1 and session_id = $2) and seq = $3`,
    namespace,
    sessionId,
    lastSeq + events.length,
  );
  return row !== undefined && row.event_id === events.at(-1)?.event_id;
}
