import { WorkQueue } from "../../core/work-queue.ts";
import { OLDEST_WRITER } from "./event-positions.ts";
import {
  openPool,
  type PostgresPool,
  type PostgresResult,
  type PostgresStatement,
} from "./postgres-pool.ts";

/** The server would end a connection that is idle in a transaction, if it is set so. */
const BEGIN = `begin transaction isolation level repeatable read, read only;
  set local idle_in_transaction_session_timeout = 0`;

/**
 * Elsewhere a reader waits for the oldest writer, because an event may still appear before those that it sees. Here nothing
 * appears any more, so it sees all events up to the number that comes next.
 */
const NEXT_NUMBER = "pg_snapshot_xmax(pg_current_snapshot())";

const NOTHING: PostgresResult = { rows: [{}], command: "NOTHING" };

/**
 * A pool with which stores read everything as it is at one moment, while others write. It is one connection with one
 * transaction: transactions within it begin and end without a statement, and nothing can be written.
 */
export async function openSnapshotPool(connectionString: string): Promise<PostgresPool> {
  const pool = await openPool(connectionString);
  const client = await pool.connect();
  const statements = new WorkQueue();
  const query = async (statement: PostgresStatement): Promise<PostgresResult> => {
    if (/^\s*(?:begin|commit|rollback)\b/i.test(statement.text)) return NOTHING;
    // A connection answers one statement at a time.
    const text = statement.text.replaceAll(OLDEST_WRITER, NEXT_NUMBER);
    return await statements.run(() => client.query({ ...statement, text }));
  };
  try {
    await client.query({ text: BEGIN });
    // The first statement fixes the moment.
    await client.query({ text: "select pg_current_snapshot()" });
  } catch (error) {
    client.release(true);
    await pool.end();
    throw error;
  }
  return {
    onlyReads: true,
    query,
    connect: async () => ({ query, release() {} }),
    async end() {
      client.release(true);
      await pool.end();
    },
  };
}
