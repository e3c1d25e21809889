import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { PostgresDatabase } from "../../src/stores/postgres/postgres-database.ts";
import { openPool, type PostgresPool } from "../../src/stores/postgres/postgres-pool.ts";
import { freePort } from "./free-port.ts";
import { note, timed } from "./running-test.ts";
import { type ChildProcess, execFileSync, spawn } from "./start-process.ts";
import { LONG } from "./trials.ts";

/** Where `initdb` and `postgres` are: in the folder that you name, or where Debian puts them. */
const PROGRAMS =
  process.env.RKAT_TEST_POSTGRES_PROGRAMS ?? globSync("/usr/lib/postgresql/*/bin").sort().at(-1);
const GIVEN = process.env.RKAT_TEST_POSTGRES;

/** Whether the tests have a PostgreSQL: one of yours (`RKAT_TEST_POSTGRES`), or the machine's programs. */
export const hasPostgres = GIVEN !== undefined || PROGRAMS !== undefined;

if (!hasPostgres) {
  if (process.env.REQUIRE_POSTGRES) throw new Error("PostgreSQL is not installed.");
  note(
    "Tests on PostgreSQL are skipped: install PostgreSQL, or set RKAT_TEST_POSTGRES to the address of a database.",
  );
}

/** The reason for skipping a test or a group of them without it. */
export const NEEDS_POSTGRES = { meta: { skipReason: "PostgreSQL is not installed" } };

/** A server of the tests. */
export interface TestCluster {
  readonly url: string;
  readonly folder: string;
  readonly port: number;
  /** The process that holds it. When its standard input ends, the server stops. */
  readonly keeper: ChildProcess;
  /** Stops the server as `pg_ctl stop -m immediate` does, and starts it again. */
  crash(): Promise<void>;
}

let shared: Promise<string> | undefined;

/** The address of a database for tests, whose server starts at the first call in this process. */
export function postgresUrl(): Promise<string> {
  shared ??= GIVEN === undefined ? startCluster().then(({ url }) => url) : Promise.resolve(GIVEN);
  return shared;
}

/** A pool on that database, closed when the test ends. */
export async function postgresPool(url?: string): Promise<InstanceType<typeof pg.Pool>> {
  const pool = new pg.Pool({ connectionString: url ?? (await postgresUrl()), max: 10 });
  pool.on("error", () => {});
  onTestFinished(() => pool.end());
  return pool;
}

const SCHEMA = `tests of ${process.pid}`;

let warm: Promise<PostgresPool> | undefined;

/**
 * A pool that the stores of this process share, one made as rkat makes its own. A connection costs the server
 * over 10 ms: it starts a process, which reads its catalogues. In the long form stores open their own.
 */
function warmPool(): Promise<PostgresPool> {
  warm ??= postgresUrl().then((url) => openPool(url));
  return warm;
}

/** How stores reach the place of this process. */
export async function postgresAccess() {
  if (LONG) return await postgresPlace();
  return { pool: await warmPool(), schema: SCHEMA };
}

/** How stores reach the tables with partitions. */
export async function partitionedAccess() {
  const { connectionString, ...place } = await partitionedPlace();
  return LONG ? { connectionString, ...place } : { pool: await warmPool(), ...place };
}

/** Where rkat's tables of this process are. Tests keep apart by their namespaces. */
export async function postgresPlace() {
  return { connectionString: await postgresUrl(), schema: SCHEMA };
}

/** Tables with partitions. The first test that opens them makes them. */
async function partitionedPlace() {
  return {
    connectionString: await postgresUrl(),
    schema: `${SCHEMA} in partitions`,
    partitions: 4,
  };
}

/** They, open until the test ends. */
export async function postgresDatabase(): Promise<PostgresDatabase> {
  const database = new PostgresDatabase(await postgresAccess());
  onTestFinished(() => database.close());
  return database;
}

let schemas = 0;

/** A schema that no other test uses, dropped when the test ends. */
export async function freshSchema(): Promise<string> {
  schemas += 1;
  const schema = `test ${process.pid} ${schemas}`;
  onTestFinished(async () => {
    const client = new pg.Client({ connectionString: await postgresUrl() });
    await client.connect();
    await client.query(`drop schema if exists "${schema}" cascade`);
    await client.end();
  });
  return schema;
}

/** Settings for the daily tests: nothing of theirs outlives the machine. */
const FAST = ["fsync=off", "synchronous_commit=on", "full_page_writes=off"];

/**
 * Starts a server of its own. It ends with this process, whatever kills that, and its files with it. `standbyOf` is the address
 * of a server that it follows until it is promoted.
 */
export function startCluster(
  settings: readonly string[] = FAST,
  standbyOf?: string,
): Promise<TestCluster> {
  return timed("servers", () => startedCluster(settings, standbyOf));
}

async function startedCluster(
  settings: readonly string[],
  standbyOf: string | undefined,
): Promise<TestCluster> {
  if (PROGRAMS === undefined) throw new Error("PostgreSQL is not installed.");
  const run = serverFolder("rkat-postgres-");
  const folder = run.cwd;
  const data = join(folder, "data");
  if (standbyOf === undefined) await copyInitialised(data);
  else {
    const copy = ["-D", data, "-d", standbyOf, "--write-recovery-conf", "--checkpoint=fast"];
    execFileSync(join(PROGRAMS, "pg_basebackup"), copy, { ...run, stdio: "ignore" });
  }
  const rules = join(data, "pg_hba.conf");
  // Everybody is trusted but this one.
  writeFileSync(rules, `host all guarded all scram-sha-256\n${readFileSync(rules, "utf8")}`);
  const port = await freePort();
  const all = [`port=${port}`, `unix_socket_directories=${folder}`, "listen_addresses=127.0.0.1"];
  const options = [...all, "max_connections=200", ...settings].flatMap((set) => ["-c", set]);
  const keeper = startServer(run, [join(PROGRAMS, "postgres"), "-D", data, ...options]);
  const url = `postgres://rkat@127.0.0.1:${port}/postgres`;
  await answers(url);
  const crash = async () => {
    const since = await startedAt(url);
    keeper.stdin?.write("again\n");
    await expect.poll(() => startedAt(url).catch(() => since)).not.toBe(since);
  };
  return { url, folder, port, keeper, crash };
}

/** An empty database cluster, which the workers of a run share. */
const INITIALISED = join(tmpdir(), "postgres-data");

/** The definitions of a schema's tables, as `pg_dump` writes them for another server. */
export function dumpedSchema(url: string, schema: string): string {
  const args = ["--schema-only", "--no-owner", `--schema="${schema}"`, "-d", url];
  const dump = execFileSync(join(PROGRAMS ?? "", "pg_dump"), args, { encoding: "utf8" });
  // Lines that only psql understands.
  return dump.replaceAll(/^\\.*$/gm, "");
}

/** Puts an empty database cluster there. `initdb` takes over a second of a core, so one worker runs it for all. */
async function copyInitialised(data: string): Promise<void> {
  const isFirst = mkdirSync(`${INITIALISED}.lock`, { recursive: true }) !== undefined;
  if (isFirst) initialise();
  else while (!existsSync(INITIALISED)) await sleep(50);
  execFileSync("cp", ["-a", INITIALISED, data]);
}

function initialise(): void {
  if (PROGRAMS === undefined) throw new Error("PostgreSQL is not installed.");
  const run = serverFolder("rkat-initdb-");
  const data = join(run.cwd, "data");
  // Names sort otherwise than by their bytes, as in a database of a user.
  const locale = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US"];
  const initdb = ["-D", data, "-U", "rkat", "-A", "trust", "-E", "UTF8", "--no-sync", ...locale];
  try {
    execFileSync(join(PROGRAMS, "initdb"), initdb, { ...run, stdio: "ignore" });
    execFileSync("cp", ["-a", data, `${INITIALISED}.part`]);
    // The others see it when it is whole.
    renameSync(`${INITIALISED}.part`, INITIALISED);
  } finally {
    rmSync(run.cwd, { recursive: true, force: true });
  }
}

/** How a server runs: in a folder of its own, as a user that may run one. */
export interface ServerFolder {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

export function serverFolder(prefix: string): ServerFolder {
  const owner = serverOwner();
  // Not below the folder of the tests, which only their user may enter.
  const cwd = mkdtempSync(join("/tmp", prefix));
  if (owner) chownSync(cwd, owner.uid, owner.gid);
  return { ...owner, cwd, env: { TZ: "UTC" } };
}

/** Starts a server, and returns the process that holds it. Its files go with it. */
export function startServer(run: ServerFolder, command: readonly string[]): ChildProcess {
  const keeper = spawn("sh", ["-c", KEEP, "keeper", run.cwd, ...command], {
    ...run,
    stdio: ["pipe", "ignore", "ignore"],
  });
  keeper.unref();
  process.once("exit", () => rmSync(run.cwd, { recursive: true, force: true }));
  return keeper;
}

/**
 * Holds a server until the standard input ends, which it does when the process at its other end is gone.
 * A line stops the server and starts it again.
 */
const KEEP = `
  folder=$1; shift
  while "$@" & server=$!; read -r line; do
    kill -QUIT $server
    wait $server
  done
  kill -QUIT $server
  # A shell makes what it starts in the background ignore QUIT, and PgBouncer leaves it so.
  kill -TERM $server 2>/dev/null
  wait $server
  rm -rf "$folder"
`;

/** PostgreSQL and PgBouncer refuse to run as root: there, as the user whom PostgreSQL's package made. */
function serverOwner(): { readonly uid: number; readonly gid: number } | undefined {
  if (userInfo().uid !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

async function startedAt(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query("select pg_postmaster_start_time()::text as at");
    return (rows[0] as { readonly at: string }).at;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits until a server takes connections. */
export async function answers(url: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (tries === 200) throw error;
      await sleep(50);
    }
  }
}
