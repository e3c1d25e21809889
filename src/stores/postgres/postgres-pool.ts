import { SessionError } from "../../core/errors.ts";
import { guardedClient } from "./guarded-client.ts";

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
  query(statement: PostgresStatement): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  end(): Promise<void>;
}

/** How long a connection may take. Behind a proxy that answers nothing, it would take for ever. */
const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 10_000;

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
  });
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
