import { SessionError } from "../../core/errors.ts";
import { followServer, IS_FOLLOWED } from "./event-positions.ts";
import { ENTRIES_THAT_WAIT, indexSchema, MARKS_OF_ENTRIES } from "./index-schema.ts";
import { COUNT_PARTITIONS, withPartitions } from "./partitions.ts";
import {
  CHECKSUM_OF_EVENTS,
  CHECKSUM_OF_KNOWLEDGE,
  FEWER_INDEXES,
  FOUND_BY_KIND,
  FOUND_BY_OWN_WORD,
  FOUND_BY_RARER_WORD,
  KNOWLEDGE_TABLES,
  LOG_TABLES,
} from "./plain-schema.ts";
import { isMissing } from "./postgres-failure.ts";
import { quoted, type Statements } from "./statements.ts";

/**
 * A change of the tables. In a rolling upgrade, programs that know it and programs that do not run side by side:
 *
 * - One that adds tables, indexes, or columns with a default keeps `usableFrom`. Old programs go on.
 * - One that old programs cannot use sets `usableFrom` to its own version, and renames a table or column that
 *   they use. So a program that is running fails at its next statement, and says that it is too old.
 * - The form of a value in a column counts too: what old programs read of it has to stay readable for them.
 */
interface Migration {
  readonly version: number;
  /** The oldest version of this list whose programs can go on using the tables. */
  readonly usableFrom: number;
  /** Statements that hold no lock for long on a table that is in use. They work with partitions and without. */
  readonly statements: readonly string[];
}

/** The steps that made the tables, in order. A released row is never changed. */
const MIGRATIONS: readonly Migration[] = [
  { version: 1, usableFrom: 1, statements: [...LOG_TABLES, ...KNOWLEDGE_TABLES, ...indexSchema] },
  { version: 2, usableFrom: 2, statements: CHECKSUM_OF_KNOWLEDGE },
  { version: 3, usableFrom: 3, statements: CHECKSUM_OF_EVENTS },
  { version: 4, usableFrom: 3, statements: FOUND_BY_KIND },
  { version: 5, usableFrom: 3, statements: MARKS_OF_ENTRIES },
  { version: 6, usableFrom: 3, statements: FOUND_BY_OWN_WORD },
  { version: 7, usableFrom: 7, statements: ENTRIES_THAT_WAIT },
  { version: 8, usableFrom: 7, statements: FEWER_INDEXES },
  { version: 9, usableFrom: 7, statements: FOUND_BY_RARER_WORD },
];

/** The version of the tables that this rkat makes. */
export const CURRENT_TABLES = MIGRATIONS.length;

/** PostgreSQL 15, as `server_version_num` has it. */
const OLDEST_SERVER = 150_000;

const MIGRATION_TABLE = `
  create table if not exists rkat.migration (
    version integer primary key,
    usable_from integer not null,
    done_at timestamptz not null default now()
  )`;

interface Server {
  readonly address: string;
  readonly schema: string;
  /** The number of partitions that new tables get and existing tables must have. */
  readonly partitions: number | undefined;
  transaction<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result>;
}

/**
 * Makes rkat's tables, or brings them up to date. Any number of processes may start at once: one
 * works, the others wait for it and find everything done. Returns how many partitions the tables have, or 0.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when the tables are of a newer rkat, the server cannot have them, or
 *   they have other partitions
 */
export async function requireSchema(statements: Statements, server: Server): Promise<number> {
  const before = await stateOf(statements, server);
  if (before) requireUsable(before, server);
  if (before && before.version >= CURRENT_TABLES && before.isFollowed) {
    return requireLayout(before.partitions, server);
  }
  await requireServer(statements, server, before === undefined);
  return await server.transaction(async (within) => {
    await within.row(
      "select pg_advisory_xact_lock(hashtextextended($1, 0))",
      `${LOCK} ${server.schema}`,
    );
    await createSchema(within, server.schema);
    await within.change(MIGRATION_TABLE);
    const done = await within.row<{ version: number }>(
      "select coalesce(max(version), 0) as version from rkat.migration",
    );
    for (const { version, usableFrom, statements } of MIGRATIONS.slice(done?.version)) {
      const all = version === 1 ? withPartitions(statements, server.partitions ?? 0) : statements;
      for (const statement of all) await within.change(statement);
      const sql = "insert into rkat.migration (version, usable_from) values ($1, $2)";
      await within.change(sql, version, usableFrom);
    }
    await followServer(within);
    const sql = `select ${COUNT_PARTITIONS} as partitions`;
    const made = await within.row<Pick<State, "partitions">>(sql, server.schema);
    return requireLayout(made?.partitions ?? 0, server);
  });
}

function requireLayout(found: number, { address, schema, partitions: asked }: Server): number {
  if (asked === undefined || asked === found) return found;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `The tables in schema ${schema} of ${address} have ${found === 0 ? "no" : found} partitions, not ${asked}.`,
    hint: "Leave the number out: it is set when the tables are made. To change it, move to another schema with `rkat move`.",
  });
}

/** Others that use the same server for other things have locks of their own. */
const LOCK = "rkat migrations of";

interface State {
  readonly version: number;
  readonly usable: number;
  /** Whether the server is the one that it was at the last start of a process. */
  readonly isFollowed: boolean;
  readonly partitions: number;
}

/** The state of the tables; `undefined` when there are none. */
async function stateOf(
  statements: Statements,
  { schema }: Pick<Server, "schema">,
): Promise<State | undefined> {
  try {
    const row = await statements.row<State & { version: number | null }>(
      `select max(version) as version, max(usable_from) as usable, ${IS_FOLLOWED} as "isFollowed",
         ${COUNT_PARTITIONS} as partitions
       from rkat.migration`,
      schema,
    );
    return row?.version === null ? undefined : row;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** @throws SessionError `SESSION_STORE_ERROR` when a newer rkat has changed the tables so that this one cannot use them */
export async function requireUsableTables(
  statements: Statements,
  server: Pick<Server, "address" | "schema">,
): Promise<void> {
  const state = await stateOf(statements, server);
  if (state) requireUsable(state, server);
}

function requireUsable(
  { version, usable }: State,
  { address, schema }: Pick<Server, "address" | "schema">,
): void {
  if (usable <= CURRENT_TABLES) return;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `The tables in schema ${schema} of ${address} were made by a newer rkat (version ${version}; this one knows ${CURRENT_TABLES}).`,
    hint: "Update rkat here, or name another schema.",
  });
}

async function requireServer(
  statements: Statements,
  { address }: Server,
  isNew: boolean,
): Promise<void> {
  const server = await statements.row<{
    number: number;
    version: string;
    encoding: string;
    replica: boolean;
  }>(
    `select current_setting('server_version_num')::integer as number, pg_is_in_recovery() as replica,
       current_setting('server_version') as version, current_setting('server_encoding') as encoding`,
  );
  if (!server?.version) return;
  if (server.number < OLDEST_SERVER) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} is PostgreSQL ${server.version}; rkat needs 15 or newer.`,
      hint: "Upgrade the server, or use another one.",
    });
  }
  if (server.replica) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: `${address} is a replica, which is read-only, and rkat's tables are not there yet.`,
      hint: "Connect to the primary server.",
    });
  }
  // SQL_ASCII stores all bytes as they come.
  if (!isNew || ["UTF8", "SQL_ASCII"].includes(server.encoding)) return;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `${address} has the encoding ${server.encoding}, which lacks characters; rkat needs UTF8.`,
    hint: "Create a database with encoding UTF8.",
  });
}

/** `create schema if not exists` asks for the right to create one even where it exists. */
async function createSchema(statements: Statements, schema: string): Promise<void> {
  const found = await statements.row("select 1 from pg_namespace where nspname = $1", schema);
  if (!found) await statements.change(`create schema ${quoted(schema)}`);
}
