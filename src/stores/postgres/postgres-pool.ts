import type { Socket } from "node:net";
import { errorText, SessionError } from "../../core/errors.ts";

/** A statement. Without values it may be several statements, separated by semicolons. */
export interface PostgresStatement {
  readonly text: string;
  readonly values?: unknown[];
  /** A name makes the server prepare the statement once per connection. Not every pooler allows that. */
  readonly name?: string;
  /** Milliseconds after which `pg` gives up waiting for the answer. */
  readonly query_timeout?: number;
  /** How columns are read, instead of the settings of the pool. */
  readonly types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown };
}

export interface PostgresResult {
  readonly rows: unknown[];
  readonly rowCount?: number | null;
  readonly command?: string;
}

/** The part of a connection that rkat needs. Those of `pg`, Neon's driver and PGlite fit. */
export interface PostgresClient {
  query(statement: PostgresStatement): Promise<PostgresResult>;
  /** With an error or `true`, the connection is closed instead of kept. */
  release(error?: Error | boolean): void;
  on?(event: "error", listener: (error: Error) => void): unknown;
  on?(event: "notification", listener: (notice: { readonly payload?: string }) => void): unknown;
  removeListener?(event: "error", listener: (error: Error) => void): unknown;
}

/** The part of a pool that rkat needs. */
export interface PostgresPool {
  /** Nothing can be written. */
  readonly onlyReads?: boolean;
  query(statement: PostgresStatement): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
}

/** The longest time for a connection. Behind a proxy that answers nothing, it would take for ever. */
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;

/** How often the server looks whether the process is still there that waits for a long statement. */
const STOPS_WITH_ITS_CLIENT = "-c client_connection_check_interval=2s";
/** The answers of poolers that take no such option. */
const NO_OPTIONS = /startup parameter|command-line options/i;

function refusesOptions(error: unknown): boolean {
  return error instanceof Error && NO_OPTIONS.test(error.message);
}

/**
 * A pool of our own, with the package `pg`.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when the package is not installed
 */
export async function openPool(
  connectionString: string,
  answerBytesMax?: number,
): Promise<PostgresPool> {
  const pg = await importPg();
  const pool = new pg.Pool({
    Client: guardedClient(pg.Client, answerBytesMax),
    connectionString: withCheckedCertificate(connectionString),
    fallback_application_name: "rkat",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    // A command ends although connections are open.
    allowExitOnIdle: true,
    options: `${process.env.PGOPTIONS ?? ""} ${STOPS_WITH_ITS_CLIENT}`.trim(),
  });
  const connect = pool.connect.bind(pool);
  pool.connect = (async (done?: (error?: Error) => void) => {
    if (done) return connect(done);
    return await connect().catch((error) =>
      refusesOptions(error) ? connect() : Promise.reject(error),
    );
  }) as typeof connect;
  // The pool replaces a connection that is lost while it is idle. Without a listener the process would end.
  pool.on("error", () => {});
  // It listens to no connection that it is giving out, and the server may end that in the same packet.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/**
 * `pg` 8 checks the certificate in all of these modes, and warns in five sentences that `pg` 9 will not. So they are
 * named after what they do.
 */
function withCheckedCertificate(connectionString: string): string {
  if (/[?&]uselibpqcompat=true\b/.test(connectionString)) return connectionString;
  return connectionString.replace(
    /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/,
    "$1verify-full",
  );
}

async function importPg() {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: "The PostgreSQL stores need the package pg, which cannot be loaded.",
      hint: "Install it: npm install pg. Or pass a pool of yours to postgresStores({ pool }).",
      cause,
    });
  }
}

/** The part of the classes of `pg` that rkat uses. */
interface PgClient {
  /** Missing in the client that is made of libpq. */
  readonly connection?: PgConnection;
  connect(done: (error?: Error) => void): unknown;
}
interface PgConnection {
  readonly stream: Socket;
  attachListeners(stream: Pick<Socket, "on">): void;
}
type PgClientClass = new (options: object) => PgClient;

/** Bytes of one answer. Statements read in pages, so answers are much smaller. */
const ANSWER_BYTES_MAX = 256_000_000;

/**
 * The client of `pg`, for a server that may answer wrongly. It ends the connection, and the statement fails, when
 *
 * - an answer is so large that the process would run out of memory,
 * - a message makes `pg` throw, which would end the process, or loop without an end,
 * - the server refuses the login and keeps the connection open, which would keep the process from ending.
 *
 * Once a pooler has refused options, later connections have none.
 */
function guardedClient(Client: PgClientClass, bytesMax = ANSWER_BYTES_MAX): PgClientClass {
  let takesOptions = true;
  return class extends Client {
    constructor(options: object) {
      super(takesOptions ? options : { ...options, options: undefined });
      const { connection } = this;
      if (!connection) return;
      const attach = connection.attachListeners.bind(connection);
      connection.attachListeners = (stream) => attach(guarded(stream as Socket, bytesMax));
    }

    override connect(done: (error?: Error) => void): unknown {
      return super.connect((error) => {
        if (error) this.connection?.stream.destroy();
        takesOptions &&= !refusesOptions(error);
        done(error);
      });
    }
  };
}

/** The stream, whose bytes are checked before a listener gets them. */
function guarded(stream: Socket, bytesMax: number): Pick<Socket, "on"> {
  const answers = new AnswerGuard(bytesMax);
  const checked = (listener: (bytes: Buffer) => void) => (bytes: Buffer) => {
    if (stream.destroyed) return;
    try {
      answers.check(bytes);
      listener(bytes);
    } catch (error) {
      stream.destroy(SessionError.is(error) ? error : wrongAnswer(errorText(error)));
    }
  };
  return {
    on: (event: string, listener: (bytes: Buffer) => void) =>
      stream.on(event, event === "data" ? checked(listener) : listener),
  } as Pick<Socket, "on">;
}

const HEAD_BYTES = 5;
/** A row as JavaScript keeps it takes more than its bytes. */
const ROW_BYTES = 200;

const [ERROR, NOTICE, ROW, READY] = ["E", "N", "D", "Z"].map((type) => type.charCodeAt(0));

/** Reads the heads of messages: a byte for the type, and four for the length of the rest with themselves. */
class AnswerGuard {
  readonly #bytesMax: number;
  /** Bytes of the answer so far. */
  #answer = 0;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  /** Bytes of the message that have not come yet. */
  #left = 0;
  /** The last two bytes of the message. */
  #end: readonly [number, number] = [0, 0];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** @throws SessionError `SESSION_STORE_ERROR` */
  check(bytes: Buffer): void {
    this.#answer += bytes.length;
    for (let at = 0; at < bytes.length; ) {
      if (this.#left === 0) {
        this.#head[this.#headBytes] = bytes[at] as number;
        this.#headBytes += 1;
        at += 1;
        if (this.#headBytes === HEAD_BYTES) this.#begin();
      } else {
        const end = Math.min(bytes.length, at + this.#left);
        this.#end = [
          end - at > 1 ? (bytes[end - 2] as number) : this.#end[1],
          bytes[end - 1] as number,
        ];
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#finish();
      }
      if (this.#answer > this.#bytesMax) throw tooLarge(this.#bytesMax);
    }
  }

  #begin(): void {
    const length = this.#head.readInt32BE(1);
    if (length < 4) throw wrongAnswer(`a message of ${length} bytes`);
    if (length > this.#bytesMax) throw tooLarge(this.#bytesMax);
    this.#left = length - 4;
    this.#end = [0, 0];
    if (this.#left === 0) this.#finish();
  }

  #finish(): void {
    const [type] = this.#head;
    this.#headBytes = 0;
    if (type === ROW) this.#answer += ROW_BYTES;
    if (type === READY) this.#answer = 0;
    // `pg` looks for the end of an error for ever.
    if ((type === ERROR || type === NOTICE) && this.#end.some((byte) => byte !== 0)) {
      throw wrongAnswer("an error without an end");
    }
  }
}

function tooLarge(bytesMax: number): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The PostgreSQL server sent an answer of more than ${bytesMax / 1_000_000} MB.`,
    hint: "It is no answer to what rkat asks for. Check that the address is that of your server.",
  });
}

function wrongAnswer(what: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The server does not speak PostgreSQL's protocol (${what}).`,
    hint: "Check that the address is that of your PostgreSQL server.",
  });
}
