import { SessionError } from "../../core/errors.ts";
import type { NewEvent } from "../../core/event.ts";
import type { HeldLease } from "../../core/session-store.ts";
import { beginsTurn } from "../history/event-text.ts";
import { EVENTS_PER_NUMBER, FIRST_POSITION } from "./event-positions.ts";
import { eventWords } from "./history-words.ts";
import type { Statements } from "./statements.ts";

export interface Append {
  readonly namespace: string;
  readonly sessionId: string;
  readonly lastSeq: number;
  readonly events: readonly NewEvent[];
  /** Without it, anybody may append. */
  readonly held: HeldLease | undefined;
  /** Of `furtherPositions`, for more events than have one number. */
  readonly further: readonly number[];
}

/**
 * Appends events with one statement, and returns whether it did: not when the log ends elsewhere, or
 * when another owner has the lease. A transaction appends once.
 *
 * The row of the log is the lock. An append that waits for it finds another `last_seq`, and is refused. The row
 * of the lease is locked too, so that no other process takes it while its owner appends.
 */
export async function appendEvents(statements: Statements, append: Append): Promise<boolean> {
  const { namespace, sessionId, lastSeq, events, held, further } = append;
  if (events.length === 0) {
    const row = await statements.row<{ last_seq: number }>(LAST_SEQ, namespace, sessionId);
    return (row?.last_seq ?? 0) === lastSeq;
  }
  const turns = events.map(({ event }) => (beginsTurn(event) ? 1 : 0));
  const changed = await statements.change(
    lastSeq === 0 ? APPEND_FIRST : APPEND_NEXT,
    namespace,
    sessionId,
    lastSeq,
    events.map(({ event }) => JSON.stringify(event)),
    events.map(({ event_id }) => event_id),
    events.map(({ timestamp_ms }) => timestamp_ms),
    turns,
    events.map(({ event }) => eventWords(event)),
    further,
    held?.key ?? null,
    held?.owner.id ?? null,
  );
  return changed > 0;
}

/** @throws SessionError `SESSION_CONFLICT`, as an append is refused */
export async function refuseAppend(
  statements: Statements,
  { namespace, sessionId, lastSeq }: Pick<Append, "namespace" | "sessionId" | "lastSeq">,
): Promise<never> {
  const row = await statements.row<{ last_seq: number }>(LAST_SEQ, namespace, sessionId);
  const last = row?.last_seq ?? 0;
  throw new SessionError("SESSION_CONFLICT", {
    detail:
      last === lastSeq
        ? "Another process has taken the session."
        : `Its log ends at ${last}, not at ${lastSeq}.`,
  });
}

export const LAST_SEQ = "select last_seq from rkat.log where namespace = $1 and session_id = $2";

const HELD = `held as (
    select owner from rkat.lease where namespace = $1 and key = $10 for share
  )`;
const IS_HELD = "($10::text is null or coalesce((select owner from held), $11) = $11)";
const TURNS = "(select sum(turn) from unnest($7::integer[]) turn)";

const INSERT_EVENTS = `
  insert into rkat.event (log, seq, namespace, position, turns, timestamp_ms, event_id, event, words)
  select ended.key, $3 + place, $1,
    case when place <= ${EVENTS_PER_NUMBER} then ${FIRST_POSITION}
      else ($9::bigint[])[(place - 1) / ${EVENTS_PER_NUMBER}] end + (place - 1) % ${EVENTS_PER_NUMBER},
    ended.turns - ${TURNS} + sum(turn) over (order by place), timestamp_ms, event_id, event, words::tsvector
  from ended, unnest($4::text[], $5::text[], $6::bigint[], $7::integer[], $8::text[])
    with ordinality as added (event, event_id, timestamp_ms, turn, words, place)`;

const APPEND_NEXT = `
  with ${HELD}, ended as (
    update rkat.log set last_seq = last_seq + cardinality($4::text[]), turns = turns + ${TURNS}
    where namespace = $1 and session_id = $2 and last_seq = $3 and ${IS_HELD}
    returning key, turns
  ) ${INSERT_EVENTS}`;

const APPEND_FIRST = `
  with ${HELD}, ended as (
    insert into rkat.log as log (namespace, session_id, last_seq, turns)
    select $1, $2, cardinality($4::text[]), ${TURNS} where ${IS_HELD}
    on conflict (namespace, session_id) do update
      set last_seq = excluded.last_seq, turns = excluded.turns where log.last_seq = 0
    returning key, turns
  ) ${INSERT_EVENTS}`;
