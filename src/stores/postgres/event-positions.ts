import type { Statements } from "./statements.ts";

/**
 * Positions of events: in the order of the commits, and so that no reader can miss one.
 *
 *     position = number of the transaction × 8192 + place in the transaction
 *
 * A reader sees the events below the oldest transaction that is still writing. All transactions below that
 * have ended, so nothing can appear behind the reader. A sequence would give the numbers in another order
 * than the commits.
 *
 * Within a session the order is that of `seq`, because an append names the last `seq` before it begins:
 * one that waits for another finds that it is behind, and is refused.
 */

/** Events of one transaction that share its number. */
export const EVENTS_PER_NUMBER = 8192;

const NUMBER = "pg_current_xact_id()::text::bigint";
const SHIFT = "(select shift from rkat.position_shift)";

/** The first position of the running transaction. */
export const FIRST_POSITION = `(${NUMBER} + ${SHIFT}) * ${EVENTS_PER_NUMBER}`;

/** The number of the oldest transaction that is still writing. */
export const OLDEST_WRITER = "pg_snapshot_xmin(pg_current_snapshot())";

/** All positions below it are final. */
export const HORIZON = `(${OLDEST_WRITER}::text::bigint + ${SHIFT}) * ${EVENTS_PER_NUMBER}`;

/**
 * More first positions, for a transaction with so many events. Their numbers are those of subtransactions that are
 * undone: the server does not give them again, and no reader gets there before this transaction has ended.
 */
export async function furtherPositions(
  within: Statements,
  events: number,
): Promise<readonly number[]> {
  const further: number[] = [];
  while ((further.length + 1) * EVENTS_PER_NUMBER < events) {
    await within.change("savepoint further");
    // To lock a row, a subtransaction takes a number.
    await within.row("select 1 from rkat.position_shift for key share");
    const row = await within.row<{ position: number }>(FURTHER_POSITION);
    await within.change("rollback to savepoint further");
    if (row) further.push(row.position);
  }
  return further;
}

/** The server tells the number of a subtransaction only as a lock, and without its upper 32 bits. */
const FURTHER_POSITION = `
  select (${NUMBER} + max((transactionid::text::bigint - ${NUMBER}) & x'ffffffff'::bigint) + ${SHIFT})
    * ${EVENTS_PER_NUMBER} as position
  from pg_locks where pid = pg_backend_pid() and locktype = 'transactionid'`;

const SEQUENCE = (table: string, column: string) =>
  `pg_get_serial_sequence($name$rkat.${table}$name$, '${column}') as sequence`;
const COUNTED_TO = "coalesce(pg_sequence_last_value(sequence::regclass), 0)";

/**
 * Whether the server is the one that made the positions. A copy of a server has the same identifier, and may have counted
 * fewer transactions than the one that a dump in it is of. The end of the newest log shows it. A copy by logical replication
 * has not counted its logs. A role that may not see how far it has counted leaves that to the owner.
 */
export const IS_FOLLOWED = `exists (
  select from rkat.position_shift, pg_control_system() where server = system_identifier::text
    and not exists (select from rkat.log as newest join rkat.event as last
      on last.log = key and last.seq = last_seq and last.namespace = newest.namespace
      where key = (select max(key) from rkat.log)
        and position >= (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + shift) * ${EVENTS_PER_NUMBER})
    and not exists (select from ${SEQUENCE("log", "key")}
      where case when has_sequence_privilege(sequence, 'usage')
        then ${COUNTED_TO} < (select max(key) from rkat.log) end))`;

/** Columns that count. A copy by logical replication has the rows, and not how far the server had counted. */
const COUNTED = {
  log: "key",
  approval: "key",
  knowledge_entry: "key",
  memory_namespace: "number",
  memory_vector_space: "number",
  memory_waiting: "number",
} as const;

/**
 * Notes which server counts the transactions. After a restore on another server, whose count may be
 * lower, positions and keys go on behind the last one. Processes that were running meanwhile have to be started again.
 */
export async function followServer(statements: Statements): Promise<void> {
  await statements.change(
    `with server as (select system_identifier::text as id from pg_control_system()),
       last as (
         select greatest(
           (select max(position) from rkat.event),
           (select max(position) from rkat.projection_checkpoint), 0) / ${EVENTS_PER_NUMBER} as number)
     insert into rkat.position_shift (shift, server) select 0, id from server
     on conflict (only_one) do update set
       server = excluded.server,
       shift = greatest(position_shift.shift, (select number from last) + 1 - ${NUMBER})
     where position_shift.server <> excluded.server
       or position_shift.shift + ${NUMBER} <= (select number from last)`,
  );
  for (const [table, column] of Object.entries(COUNTED)) {
    await statements.row(
      `select setval(sequence, max(${column})) from rkat.${table}, ${SEQUENCE(table, column)}
       group by sequence having ${COUNTED_TO} < max(${column})`,
    );
  }
}
