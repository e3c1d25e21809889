import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { answers, postgresUrl, serverFolder, startServer } from "./postgres.ts";
import { note, timed } from "./running-test.ts";
import { execFileSync } from "./start-process.ts";

/** Where PgBouncer is: what you name, or where Debian puts it. */
const PROGRAM = process.env.RKAT_TEST_PGBOUNCER ?? "/usr/sbin/pgbouncer";
const VERSION = existsSync(PROGRAM) ? versionOf(PROGRAM) : undefined;

/** How many prepared statements of a client the poolers of this machine carry along: 0 is none. */
export const PREPARED_STATEMENTS: readonly number[] =
  VERSION === undefined ? [] : VERSION < 1.21 ? [0] : [0, 200];

if (VERSION === undefined) {
  if (process.env.REQUIRE_PGBOUNCER) throw new Error("PgBouncer is not installed.");
  note("Tests through PgBouncer are skipped: it is not installed.");
}

/** Fewer than a test has clients, so that each transaction may get another connection. */
const SERVER_CONNECTIONS = 3;

/**
 * Starts PgBouncer in transaction mode in front of the database of the tests, until this process ends, and returns its
 * address.
 */
export async function startPooler(preparedStatements: number): Promise<string> {
  const url = new URL(await postgresUrl());
  return await timed("servers", () => startedPooler(url, preparedStatements));
}

async function startedPooler(url: URL, preparedStatements: number): Promise<string> {
  const run = serverFolder("rkat-pooler-");
  const port = await freePort();
  const settings = [
    "[databases]",
    `* = host=${url.hostname} port=${url.port || 5432} user=${url.username}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
    `default_pool_size = ${SERVER_CONNECTIONS}`,
    ...(preparedStatements > 0 ? [`max_prepared_statements = ${preparedStatements}`] : []),
  ];
  const file = join(run.cwd, "pgbouncer.ini");
  writeFileSync(file, settings.join("\n"));
  startServer(run, [PROGRAM, file]);
  url.port = String(port);
  await answers(url.href);
  return url.href;
}

function versionOf(program: string): number {
  const printed = execFileSync(program, ["--version"], { encoding: "utf8" });
  return Number(/\d+\.\d+/.exec(printed)?.[0]);
}
