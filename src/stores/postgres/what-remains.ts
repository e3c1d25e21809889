import type { NotCleaned } from "../../core/operations/memory.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

interface Server {
  /** Whether the write-ahead log is copied before it is recycled. */
  readonly archives: boolean;
  /** Servers that follow this one, or that it keeps its log for. */
  readonly followers: number;
  /** Seconds since the oldest transaction began that this role may see. */
  readonly oldest_s: number | null;
  readonly may_not_vacuum: number;
}

/** A transaction that is older was there before the text was deleted. */
const OLD_S = 5;

/** Where the texts of deleted rows may still be on this server. rkat cannot delete them there. */
export async function whatRemains(database: PostgresDatabase): Promise<readonly NotCleaned[]> {
  const server = await database.row<Server>(SERVER, database.schema);
  if (!server) return [];
  const { archives, followers, oldest_s } = server;
  const archived = archives ? " Its archive keeps the text until you delete that." : "";
  return [
    {
      place: "write_ahead_log",
      why: `The server's write-ahead log keeps the text until it is recycled.${archived}`,
    },
    ...(followers > 0
      ? [
          {
            place: "replicas" as const,
            why: `${followers} that follow the server have the text until they have read the deletion, and vacuumed.`,
          },
        ]
      : []),
    { place: "dead_rows", why: deadRows(server, database) },
    ...((oldest_s ?? 0) > OLD_S
      ? [
          {
            place: "dead_rows" as const,
            why: `A transaction that began ${oldest_s} s ago may still see the deleted rows. A later vacuum takes them.`,
          },
        ]
      : []),
  ];
}

function deadRows(
  { may_not_vacuum }: Pick<Server, "may_not_vacuum">,
  { schema, cancelsVacuum }: Pick<PostgresDatabase, "schema" | "cancelsVacuum">,
): string {
  if (may_not_vacuum === 0 && !cancelsVacuum) {
    return "The server marks the room of deleted rows as free, and writes over it later. No query shows it. `vacuum full` writes the tables anew.";
  }
  const why = cancelsVacuum
    ? "The server cancelled the vacuum (statement_timeout)"
    : `This role may not vacuum ${may_not_vacuum} of rkat's tables`;
  return `${why}, so deleted rows, and texts that it sampled (pg_stats), stay there until autovacuum comes. Let the owner of schema ${schema} run \`vacuum analyze\`.`;
}

/** Tables of a schema that the role may not vacuum: it owns neither them nor the database. From PostgreSQL 17 on there is a right for it. */
export const MAY_NOT_VACUUM = `
  select count(*) from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
  where n.nspname = $1 and c.relkind in ('r', 'p')
    and not pg_has_role(c.relowner, 'USAGE')
    and not (select pg_has_role(datdba, 'USAGE') from pg_database where datname = current_database())
    and not case when current_setting('server_version_num')::integer >= 170000
      then has_table_privilege(c.oid, 'MAINTAIN') else false end`;

const SERVER = `
  select current_setting('archive_mode') <> 'off' as archives,
    greatest((select count(*) from pg_stat_replication), (select count(*) from pg_replication_slots))
      as followers,
    (select max(extract(epoch from clock_timestamp() - xact_start))::integer from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid()) as oldest_s,
    (${MAY_NOT_VACUUM}) as may_not_vacuum`;
