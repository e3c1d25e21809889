import { messageAndHint, SessionError } from "../../core/errors.ts";
import { earlierIndexes, renewalNote } from "../earlier-indexes.ts";
import {
  type CheckedEventRow,
  eventProblem,
  ifReadable,
  type PositionedEventRow,
  storedEvent,
} from "../history/stored-event.ts";
import {
  CHECKED_COLUMNS,
  type CheckedEntry,
  changedEntries,
  isIntact,
  lostEntries,
} from "../stored-json.ts";
import { PostgresDatabase } from "./postgres-database.ts";
import type { PostgresAddress } from "./server-address.ts";
import { MAY_NOT_VACUUM } from "./what-remains.ts";

/** A check of the server, and what it found. Only `wrong` is in the way of work. */
export interface ServerFinding {
  readonly name: string;
  readonly state: "good" | "note" | "wrong";
  readonly detail: string;
}

interface Server {
  readonly version: string;
  readonly replica: boolean;
  readonly connections: number;
  readonly max_connections: number;
  readonly autovacuum: boolean;
  readonly may_not_vacuum: number;
}

interface Tables {
  readonly oldest_s: number | null;
  readonly hidden: number;
  readonly dead: number;
  readonly live: number;
  readonly backlog_s: number | null;
}

/** A writing transaction that is older holds back what projections see. */
const OLD_S = 60;
/** A busy server's memory is some seconds behind. An older event waits for a process that fills memory. */
const BEHIND_S = 60;
/** Dead rows beside the live ones, from which on tables are larger and slower than they need be. */
const DEAD_SHARE = 0.5;
const DEAD_MIN = 10_000;
/** From this share of the server's connections on, others may get none. */
const FULL_SHARE = 0.9;

/**
 * Looks at a server and at rkat's tables on it. Makes the tables if they are not there yet. `projection` is
 * the one that fills memory.
 */
export async function examinePostgres(
  address: PostgresAddress,
  projection: string,
): Promise<readonly ServerFinding[]> {
  const { namespace = "default", ...where } = address;
  let database: PostgresDatabase | undefined;
  try {
    database = new PostgresDatabase(where);
    const server = await database.row<Server>(SERVER, database.schema);
    const tables = await database.row<Tables>(TABLES, database.schema, namespace, projection);
    if (!server || !tables) return [];
    const entries = await changedRows(database);
    const renewal = renewalNote(await database.row(earlierIndexes("rkat.")));
    const counted = await database.row<{ lost: number }>(lostEntries("rkat."));
    return [
      { name: "store", state: "good", detail: `${database.address}, schema ${database.schema}` },
      ...serverFindings(server),
      layoutFinding(await database.partitions()),
      ...tableFindings(tables),
      ...(renewal === undefined
        ? []
        : [{ name: "memory index", state: "note", detail: renewal } as const]),
      ...changedEntries(entries, Number(counted?.lost ?? 0), PROBLEMS_MAX).map(
        (detail): ServerFinding => ({ name: "knowledge", state: "wrong", detail }),
      ),
      ...(await eventFindings(database, namespace)),
    ];
  } catch (error) {
    const detail = messageAndHint(SessionError.from(error, "SESSION_STORE_ERROR"));
    return [{ name: "store", state: "wrong", detail }];
  } finally {
    await database?.close();
  }
}

function serverFindings(server: Server): readonly ServerFinding[] {
  const { version, replica, connections, max_connections, autovacuum, may_not_vacuum } = server;
  const isFull = connections >= FULL_SHARE * max_connections;
  return [
    replica
      ? { name: "postgres", state: "wrong", detail: `${version}, a read-only replica` }
      : { name: "postgres", state: "good", detail: version },
    {
      name: "connections",
      state: isFull ? "note" : "good",
      detail: `${connections} of ${max_connections} in use${isFull ? ". Use a pooler, or raise max_connections" : ""}`,
    },
    autovacuum
      ? { name: "autovacuum", state: "good", detail: "on" }
      : { name: "autovacuum", state: "wrong", detail: "off: the tables grow without bound" },
    may_not_vacuum === 0
      ? { name: "vacuum", state: "good", detail: "this role may do it, as forgetting does" }
      : {
          name: "vacuum",
          state: "note",
          detail: `this role may not vacuum ${may_not_vacuum} of rkat's tables. What is forgotten stays in deleted rows and in pg_stats until autovacuum comes, or until the owner runs vacuum analyze`,
        },
  ];
}

function layoutFinding(partitions: number): ServerFinding {
  const detail = partitions === 0 ? "none" : `${partitions} of each large table, by namespace`;
  return { name: "partitions", state: "good", detail };
}

function tableFindings({
  oldest_s,
  hidden,
  dead,
  live,
  backlog_s,
}: Tables): readonly ServerFinding[] {
  const isOld = (oldest_s ?? 0) > OLD_S;
  const isBehind = (backlog_s ?? 0) > BEHIND_S;
  const isBloated = dead > DEAD_MIN && dead > DEAD_SHARE * live;
  return [
    {
      name: "transactions",
      state: isOld ? "wrong" : hidden > 0 ? "note" : "good",
      detail: isOld
        ? `one has been writing for ${oldest_s} s, and projections wait for it (pg_stat_activity or pg_prepared_xacts shows it)`
        : hidden > 0
          ? `${hidden} of other roles are writing, and this role may not see since when. Grant it pg_read_all_stats`
          : "none has been writing for long",
    },
    {
      name: "tables",
      state: isBloated ? "note" : "good",
      detail: `${live} rows, ${dead} dead${isBloated ? ". Let autovacuum come more often" : ""}`,
    },
    {
      name: "backlog",
      state: isBehind ? "note" : "good",
      detail:
        backlog_s === null
          ? "memory has everything"
          : `the oldest event that memory does not have is ${backlog_s} s old${isBehind ? ". A process that has the store open fills memory" : ""}`,
    },
  ];
}

const PROBLEMS_MAX = 10;

/** The entries of what all namespaces have learned that are not what was stored. */
async function changedRows(database: PostgresDatabase): Promise<readonly CheckedEntry[]> {
  const changed: CheckedEntry[] = [];
  for (let after = 0, more = true; more && changed.length < PROBLEMS_MAX; ) {
    const rows = await database.rows<CheckedEntry & { key: number }>(ENTRIES, after, PAGE);
    changed.push(...rows.filter((row) => !isIntact(row)));
    after = rows.at(-1)?.key ?? after;
    more = rows.length === PAGE;
  }
  return changed;
}

/** The events of a namespace, and of its users, that are not what was stored, cannot be read or are missing. */
async function eventFindings(
  database: PostgresDatabase,
  namespace: string,
): Promise<readonly ServerFinding[]> {
  const found: ServerFinding[] = [];
  for (let log = 0, seq = 0; found.length < PROBLEMS_MAX; ) {
    const rows = await database.rows<EventOfLog>(
      EVENTS,
      namespace,
      log,
      seq,
      PAGE,
      PAGE_CHARACTERS,
    );
    for (const row of rows) {
      const detail = problemOf(row, row.log === log ? seq : 0);
      ({ log, seq } = row);
      if (detail !== undefined) found.push({ name: "events", state: "wrong", detail });
    }
    if (rows.length === 0) break;
  }
  return found.slice(0, PROBLEMS_MAX);
}

type EventOfLog = PositionedEventRow & CheckedEventRow & { readonly log: number };

function problemOf(row: EventOfLog, before: number): string | undefined {
  const problem = eventProblem(row, before);
  if (problem !== undefined || ifReadable(() => storedEvent(row))) return problem;
  return `Event ${row.seq} of session ${row.session_id} cannot be read. \`rkat repair\` makes it readable.`;
}

const PAGE = 1000;
const PAGE_CHARACTERS = 4_000_000;

const ENTRIES = `select key, ${CHECKED_COLUMNS} from rkat.knowledge_entry where key > $1 order by key limit $2`;

/** In the order of the primary key: each page goes on where the last one ended. */
const EVENTS = `
  select * from (
    select *, sum(length(event)) over (order by log, seq) - length(event) as before from (
      select log, position, session_id, seq, event.turns, event_id, timestamp_ms, event, checksum
      from rkat.event as event join rkat.log on key = log
      where (log.namespace = $1 or starts_with(log.namespace, $1 || chr(10)))
        and (log, seq) > ($2::bigint, $3::integer)
      order by log, seq limit $4
    ) as page
  ) as sized
  where before < $5 order by log, seq`;

const SERVER = `
  select current_setting('server_version') as version, pg_is_in_recovery() as replica,
    (select sum(numbackends) from pg_stat_database) as connections,
    current_setting('max_connections')::integer as max_connections,
    current_setting('autovacuum')::boolean as autovacuum, (${MAY_NOT_VACUUM}) as may_not_vacuum`;

const TABLES = `
  select
    (select max(extract(epoch from clock_timestamp() - since))::integer from (
      select xact_start as since from pg_stat_activity where backend_xid is not null
      union all select prepared from pg_prepared_xacts) as writing) as oldest_s,
    (select count(*) from pg_stat_activity where backend_xid is not null and xact_start is null) as hidden,
    (select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables where schemaname = $1) as dead,
    (select coalesce(sum(n_live_tup), 0) from pg_stat_user_tables where schemaname = $1) as live,
    (select greatest(0, extract(epoch from clock_timestamp())::bigint - timestamp_ms / 1000)
      from rkat.event where namespace = $2 and position > (
        select coalesce(max(position), 0) from rkat.projection_checkpoint
        where namespace = $2 and projection = $3)
      order by position limit 1) as backlog_s`;
