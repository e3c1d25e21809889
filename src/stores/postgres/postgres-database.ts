import { setTimeout as sleep } from "node:timers/promises";
import { SessionError, storeClosed } from "../../core/errors.ts";
import type { PoolConnections } from "../../core/stores.ts";
import { cancelling, cancelStatement } from "./cancel-statement.ts";
import { requireSchema, requireUsableTables } from "./migrations.ts";
import { requirePartitions } from "./partitions.ts";
import {
  isCancelled,
  isFromServer,
  isMissing,
  isOfConnection,
  isUnanswered,
  postgresFailure,
  whetherAgain,
} from "./postgres-failure.ts";
import {
  openPool,
  type PostgresClient,
  type PostgresPool,
  type PostgresResult,
} from "./postgres-pool.ts";
import { passwordOf, serverAddress } from "./server-address.ts";
import { type Asked, COLUMN_TYPES, type Statements, StatementsOf } from "./statements.ts";

export interface PostgresDatabaseOptions {
  /** `postgres://user:password@host:5432/database`. The stores open and close a pool of their own. */
  readonly connectionString?: string;
  /** A pool of yours: of `pg`, or of a package that imitates it. You close it. */
  readonly pool?: PostgresPool;
  /** The schema of rkat's tables. Default `"rkat"`. It is created at the first use. */
  readonly schema?: string;
  /**
   * Divides the large tables into so many partitions by the namespace, when they are made. Tables that are there
   * must have as many; without this, they may have any number. 2 to 64.
   */
  readonly partitions?: number;
  /** How long work is tried again while the server fails over, or while others are in the way. Default 15 000. */
  readonly retryMs?: number;
  /** How long the server may take to answer a statement. Default 60 000. */
  readonly answerMs?: number;
}

const RETRY_MS = 15_000;
const ANSWER_MS = 60_000;
/** The first statement only looks whether the tables are there. */
const FIRST_ANSWER_MS = 15_000;
/** To make the tables of a new version, and to vacuum, may take this long. */
const UPKEEP_MS = 60 * 60_000;
/** The longest wait for locks of other transactions. All others would queue behind a longer one. */
const LOCK_TIMEOUT_MS = 5_000;

/** The server ends a transaction whose process was cut off, with its locks. */
const IDLE_TIMEOUT_MS = 60_000;

const BEGIN = {
  // The number tells afterwards whether a commit without an answer was done.
  write: `begin isolation level read committed; set local lock_timeout = ${LOCK_TIMEOUT_MS};
    set local idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS};
    select pg_current_xact_id() as number`,
  read: "begin transaction isolation level repeatable read, read only",
};

/** The next vacuum waits so many times as long as the last one took. */
const VACUUM_REST = 10;

/** How often the server is asked how a commit ended. */
const ASKED_MAX = 50;
const ASK_AGAIN_MS = 200;

interface Rest {
  isDue: boolean;
  timer: NodeJS.Timeout | undefined;
}

const END_TRANSACTION =
  "select pg_terminate_backend(pid) from pg_stat_activity where backend_xid = ($1::xid8)::xid";

/**
 * rkat's tables on a PostgreSQL server, which any number of processes use. All SQL goes through it.
 *
 * SQL names a table as `rkat.event`; the name of the schema is put in here. Every statement outside a
 * transaction must be safe to repeat: when a connection is lost, it is sent again. A transaction is
 * done exactly once: the server is asked whether its commit has arrived.
 *
 * Nothing depends on a connection, so that it works through a pooler in transaction mode.
 */
export class PostgresDatabase {
  /** For messages: without user and password. */
  readonly address: string;
  readonly schema: string;
  /** The longest time for an answer. */
  readonly answerMs: number;
  /** Whether nothing can be written. */
  readonly onlyReads: boolean;
  /** Whether the server ended the last vacuum before it was done, as a limit says. Autovacuum comes later. */
  cancelsVacuum = false;
  /** Whether connections keep prepared statements. It is found out. */
  prepares = true;
  readonly #connectionString: string | undefined;
  /** No message may repeat it. */
  readonly #password: string;
  readonly #partitions: number | undefined;
  readonly #retryMs: number;
  #pool: Promise<PostgresPool> | undefined;
  /** The number of partitions of the tables. */
  #ready: Promise<number> | undefined;
  #counts: Partial<Record<"totalCount" | "idleCount" | "waitingCount", number>> | undefined;
  #hasAnswered = false;
  #firstGivesUpAt: number | undefined;
  /** Tables that were vacuumed a moment ago, and whether they have to be again. */
  readonly #rests = new Map<string, Rest>();
  #closed = false;

  /** Connects at the first use. */
  constructor(options: PostgresDatabaseOptions) {
    const { connectionString, pool, schema = "rkat" } = options;
    if ((connectionString === undefined) === (pool === undefined)) {
      throw new SessionError("INVALID_PARAMS", {
        message: "The PostgreSQL stores need either a pool or a connectionString.",
        hint: "Write postgresStores({ pool }) or postgresStores({ connectionString }).",
      });
    }
    this.address =
      connectionString === undefined ? "The PostgreSQL server" : serverAddress(connectionString);
    this.schema = requireSchemaName(schema);
    this.#partitions = requirePartitions(options.partitions);
    this.#connectionString = connectionString;
    this.#password = connectionString === undefined ? "" : passwordOf(connectionString);
    this.#retryMs = options.retryMs ?? RETRY_MS;
    this.answerMs = options.answerMs ?? ANSWER_MS;
    this.onlyReads = pool?.onlyReads ?? false;
    this.#pool = pool && Promise.resolve(pool);
  }

  /** The number of partitions of the large tables. 0 without partitions. */
  partitions(): Promise<number> {
    return this.#requireReady();
  }

  /** Runs a statement, again when the connection was lost. */
  async rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return await this.repeat((statements) => statements.rows<Row>(sql, ...values));
  }

  /** The first row. */
  async row<Row>(sql: string, ...values: readonly unknown[]): Promise<Row | undefined> {
    return await this.repeat((statements) => statements.row<Row>(sql, ...values));
  }

  /** Runs a statement and returns how many rows it changed. */
  async change(sql: string, ...values: readonly unknown[]): Promise<number> {
    return await this.repeat((statements) => statements.change(sql, ...values));
  }

  /**
   * Runs statements without a transaction, and all of them again when the connection was lost. `isAgain`
   * says that what was sent before may have been done.
   */
  async repeat<Result>(
    work: (statements: Statements, isAgain: boolean) => Promise<Result>,
  ): Promise<Result> {
    await this.#requireReady();
    return await this.#retried((pool, isAgain) =>
      work(new StatementsOf(cancelling(pool), this), isAgain),
    );
  }

  /**
   * Takes what was deleted out of a table's file, and out of the samples of texts in `pg_stats`, where the server
   * allows it. Only the owner of the table may, and transactions that began before the deletion keep it there until autovacuum comes.
   *
   * Many deletions in a row share one, which comes later: it reads all indexes of a table.
   */
  async vacuum(tables: string): Promise<void> {
    const rest = this.#rests.get(tables);
    if (rest) rest.isDue = true;
    else await this.#vacuumNow(tables);
  }

  async #vacuumNow(tables: string): Promise<void> {
    const rest: Rest = { isDue: false, timer: undefined };
    this.#rests.set(tables, rest);
    const start = performance.now();
    try {
      await this.#requireReady();
      this.cancelsVacuum = await this.#retried((pool) =>
        this.#upkeep(cancelling(pool))
          .change(`vacuum (analyze) ${tables}`)
          .then(() => false, isCancelled),
      );
    } finally {
      const restMs = VACUUM_REST * (performance.now() - start);
      rest.timer = setTimeout(() => this.#endRest(tables).catch(() => {}), restMs).unref();
    }
  }

  async #endRest(tables: string): Promise<void> {
    const rest = this.#rests.get(tables);
    this.#rests.delete(tables);
    clearTimeout(rest?.timer);
    if (rest?.isDue) await this.#vacuumNow(tables);
  }

  /** Like `rows`, for statements that take longer to plan than to run. */
  async prepared<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return await this.repeat((statements) => statements.prepared<Row>(sql, ...values));
  }

  /** Like `change`, for such statements. */
  async changePrepared(sql: string, ...values: readonly unknown[]): Promise<number> {
    return await this.repeat((statements) => statements.changePrepared(sql, ...values));
  }

  /** Does all of `work` or nothing, exactly once. It may be started again, so it has no other effects. */
  async write<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result> {
    await this.#requireReady();
    return await this.#retried((pool) => this.#transaction(pool, BEGIN.write, work));
  }

  /** Does `work`, which only reads, on one state of the tables. */
  async read<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result> {
    await this.#requireReady();
    return await this.#retried((pool) => this.#transaction(pool, BEGIN.read, work));
  }

  /** A connection of its own, which the caller releases. The tables may not be there yet. */
  async connect(): Promise<PostgresClient> {
    return await (await this.#openPool()).connect();
  }

  /** The connections of the pool, if it counts them, as those of `pg` do. */
  connections(): PoolConnections | undefined {
    const { totalCount = 0, idleCount, waitingCount = 0 } = this.#counts ?? {};
    if (idleCount === undefined) return undefined;
    return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Closes the pool that it opened. One that it was given stays open. */
  async close(): Promise<void> {
    if (this.#closed) return;
    // Autovacuum does later what fails here.
    for (const tables of [...this.#rests.keys()]) await this.#endRest(tables).catch(() => {});
    for (const { timer } of this.#rests.values()) clearTimeout(timer);
    this.#closed = true;
    if (this.#connectionString !== undefined) await (await this.#pool)?.end();
  }

  /** Once: the tables are there, and of a version that this program knows. */
  #requireReady(): Promise<number> {
    const { schema, prepares } = this;
    const answerMs = Math.min(this.answerMs, FIRST_ANSWER_MS);
    this.#ready ??= this.#retried((pool) =>
      requireSchema(new StatementsOf(cancelling(pool), { schema, prepares, answerMs }), {
        address: this.address,
        schema: this.schema,
        partitions: this.#partitions,
        transaction: (work) =>
          this.#transaction(pool, BEGIN.write, (_, client) => work(this.#upkeep(client))),
      }),
    ).catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /** For work that may take long. */
  #upkeep(asked: Asked): Statements {
    return new StatementsOf(asked, { schema: this.schema, answerMs: UPKEEP_MS, prepares: false });
  }

  async #transaction<Result>(
    pool: PostgresPool,
    begin: string,
    work: (statements: Statements, client: PostgresClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await pool.connect();
    // Without a listener, a connection that is lost between two statements would end the process.
    const listener = () => {};
    client.on?.("error", listener);
    let isUseless = false;
    let unanswered: { readonly number: string; readonly result: Result; readonly error: unknown };
    try {
      const limit = { query_timeout: this.answerMs };
      const began = await client.query({ text: begin, types: COLUMN_TYPES, ...limit });
      const result = await work(new StatementsOf(client, this), client);
      const error = await failureOf(client.query({ text: "commit", ...limit }));
      if (error === undefined) return result;
      const number = transactionNumber(began);
      if (number === undefined || whetherAgain(error) !== "reconnect") throw error;
      unanswered = { number, result, error };
      isUseless = true;
    } catch (error) {
      if (isUnanswered(error)) await cancelStatement(client);
      isUseless = isOfConnection(error) || !(await isRolledBack(client, this.answerMs));
      throw error;
    } finally {
      client.removeListener?.("error", listener);
      client.release(isUseless);
    }
    // The lost connection is given back first: the pool may have no other.
    if (await this.#isCommitted(pool, unanswered.number)) return unanswered.result;
    throw unanswered.error;
  }

  async #isCommitted(pool: PostgresPool, number: string): Promise<boolean> {
    const statements = new StatementsOf(pool, this);
    for (let asked = 0; asked < ASKED_MAX; asked += 1) {
      const sql = "select pg_xact_status($1::xid8) as status";
      const row = await this.#retried(() => statements.row<{ status: string | null }>(sql, number));
      if (row?.status === "committed") return true;
      if (row?.status === "aborted") return false;
      if (row?.status !== "in progress") break;
      // The server may not know for hours that the connection is gone.
      if (asked > 0) await statements.row(END_TRANSACTION, number);
      await sleep(ASK_AGAIN_MS);
    }
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: `${this.address} lost the connection during a commit, and does not say how it ended.`,
      hint: "What was stored last may be there. Read it before you try again.",
    });
  }

  /** The error for the caller, of anything thrown while working with rows of these tables. */
  failure(error: unknown): unknown {
    return postgresFailure(error, this.address, this.#password);
  }

  /** Tries again what the server says can be tried again. */
  async #retried<Result>(
    work: (pool: PostgresPool, isAgain: boolean) => Promise<Result>,
  ): Promise<Result> {
    let isAgain = false;
    const givesUpAt = this.#givesUpAt();
    for (let tries = 0; ; tries += 1) {
      if (this.#closed) throw storeClosed(this.address);
      try {
        const result = await work(await this.#openPool(), isAgain);
        this.#hasAnswered = true;
        return result;
      } catch (error) {
        const again = whetherAgain(error);
        // A server that never answered is more likely not there than failing over.
        const isHopeless = again === "reconnect" && !this.#hasAnswered && !isFromServer(error);
        if (again === undefined || isHopeless || performance.now() > givesUpAt) {
          if (isMissing(error)) await this.#requireUsable();
          throw this.failure(error);
        }
        isAgain ||= again === "reconnect";
        await sleep(pauseMs(again, tries));
      }
    }
  }

  /** Until a server has answered, all that is asked of it waits for the same time: it would add up. */
  #givesUpAt(): number {
    const at = performance.now() + this.#retryMs;
    if (this.#hasAnswered) return at;
    this.#firstGivesUpAt ??= at;
    return this.#firstGivesUpAt;
  }

  /** A newer rkat may have changed the tables since this program opened them. */
  async #requireUsable(): Promise<void> {
    await requireUsableTables(new StatementsOf(await this.#openPool(), this), this);
  }

  async #openPool(): Promise<PostgresPool> {
    this.#pool ??= openPool(this.#connectionString as string);
    this.#counts = (await this.#pool) as object;
    return await this.#pool;
  }
}

function pauseMs(again: "now" | "reconnect", tries: number): number {
  const longest = again === "now" ? 50 : 1000;
  return Math.min(longest, 5 * 2 ** tries) * (0.5 + Math.random());
}

/** The last of the results of the statements that began it. */
function transactionNumber(began: PostgresResult | readonly PostgresResult[]): string | undefined {
  const last = [began].flat().at(-1);
  return (last?.rows[0] as { readonly number: string } | undefined)?.number;
}

/** Waits for a commit, and returns why it failed. */
async function failureOf(commit: Promise<PostgresResult>): Promise<unknown> {
  try {
    const { command } = await commit;
    // A statement had failed.
    return command === "ROLLBACK" ? new Error("The transaction was rolled back.") : undefined;
  } catch (error) {
    return error;
  }
}

/** Ends a transaction that failed; false when the connection is of no more use. */
async function isRolledBack(client: PostgresClient, answerMs: number): Promise<boolean> {
  try {
    await client.query({ text: "rollback", query_timeout: answerMs });
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL cuts longer names. */
const NAME_BYTES_MAX = 63;

function requireSchemaName(name: string): string {
  if (/^pg_|^information_schema$/i.test(name)) {
    throw new SessionError("INVALID_PARAMS", {
      message: "PostgreSQL keeps information_schema, and names that begin with pg_, for itself.",
      hint: 'Name another schema, or leave it out: the default is "rkat".',
    });
  }
  if (/^[^\0.]+$/.test(name) && Buffer.byteLength(name) <= NAME_BYTES_MAX) return name;
  throw new SessionError("INVALID_PARAMS", {
    message: `The schema's name has to have 1 to ${NAME_BYTES_MAX} bytes, and no dot.`,
    hint: 'Leave it out: the default is "rkat".',
  });
}
