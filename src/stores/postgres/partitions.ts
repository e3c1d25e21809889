import { SessionError } from "../../core/errors.ts";
import type { Statements } from "./statements.ts";

/*
 * With partitions, PostgreSQL divides each large table by the hash of the namespace:
 *
 *     rkat.event        rkat.event_0   rkat.event_1   …      (or rkat.event alone, without partitions)
 *
 * A namespace is in one partition of a table. Statements about one namespace name that partition, so they
 * are planned, prepared and vacuumed as if the table were that small. Others name the table, and PostgreSQL
 * finds the partition of each row.
 */

/** What decides the partition: the name of a namespace, its number in memory, or the number of a vector space. */
const PARTITIONED = {
  events: { key: "namespace", type: 'text collate "C"', tables: ["event"] },
  memory: {
    key: "namespace",
    type: "integer",
    tables: ["memory_entry", "memory_segment", "memory_word_block", "memory_column_block"],
  },
  vectors: { key: "space", type: "integer", tables: ["memory_vector"] },
} as const;

type PartitionedPart = keyof typeof PARTITIONED;

/** A migration locks all of them, and a server has locks for so many. */
const PARTITIONS_MAX = 64;

/** @throws SessionError `INVALID_PARAMS` when it is no number of partitions */
export function requirePartitions(partitions: number | undefined): number | undefined {
  const isFine =
    partitions === undefined ||
    (Number.isInteger(partitions) && partitions >= 2 && partitions <= PARTITIONS_MAX);
  if (isFine) return partitions;
  throw new SessionError("INVALID_PARAMS", {
    message: `A PostgreSQL store has 2 to ${PARTITIONS_MAX} partitions.`,
    hint: "Leave the setting out for a store without partitions. 16 is enough for thousands of namespaces.",
  });
}

/** The statements that make the tables, with the large ones in partitions. */
export function withPartitions(
  statements: readonly string[],
  partitions: number,
): readonly string[] {
  if (partitions === 0) return statements;
  return statements.flatMap((statement) => {
    const [, name = ""] = /^create table rkat\.(\w+)/.exec(statement) ?? [];
    const part = Object.values(PARTITIONED).find(({ tables }) =>
      tables.some((one) => one === name),
    );
    if (!part) return [statement];
    const end = statement.lastIndexOf(") with (") + 1 || statement.length;
    const columns = statement.slice(0, end);
    const settings = statement.slice(end);
    // A primary key has to have the column that decides. Where it has not, the column comes last.
    const hasKey = new RegExp(`primary key \\([^)]*\\b${part.key}\\b`).test(columns);
    const keyed = hasKey ? columns : columns.replace(/primary key \(([^)]*)/, `$&, ${part.key}`);
    return [
      `${keyed} partition by hash (${part.key})`,
      ...Array.from(
        { length: partitions },
        (_, number) => `create table rkat.${name}_${number} partition of rkat.${name}
          for values with (modulus ${partitions}, remainder ${number})${settings}`,
      ),
    ];
  });
}

/** How many partitions the tables of a schema have. 0 without partitions. */
export const COUNT_PARTITIONS = `(
  select count(*)::integer from pg_inherits
  where inhparent = (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = 'event'))`;

/** Statements, or the names of tables, that name one partition instead of the large tables. */
export type InPartition = (sql: string) => string;

/** Without partitions, or when the partition is not known yet. */
export const IN_TABLES: InPartition = (sql) => sql;

/** One partition of the tables of a part. */
export function inPartition(part: PartitionedPart, number: number): InPartition {
  const names = new RegExp(`\\brkat\\.(${PARTITIONED[part].tables.join("|")})\\b`, "g");
  return (sql) => sql.replace(names, `rkat.$1_${number}`);
}

interface PartitionedDatabase extends Pick<Statements, "rows"> {
  readonly schema: string;
  /** 0 without partitions. */
  partitions(): Promise<number>;
}

/** The number of the partition of each of the keys that `keys` selects, whose first value is `$3`. */
export async function partitionsOf(
  database: PartitionedDatabase,
  part: PartitionedPart,
  keys: string,
  ...values: readonly unknown[]
): Promise<readonly number[]> {
  const partitions = await database.partitions();
  if (partitions === 0) return [];
  const { tables, type } = PARTITIONED[part];
  const rows = await database.rows<{ number: number }>(
    `select distinct number from (${keys}) as asked (key), generate_series(0, $2::integer - 1) as number
     where satisfies_hash_partition((
         select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = $1 and c.relname = '${tables[0]}'
       ), $2::integer, number, asked.key::${type})`,
    database.schema,
    partitions,
    ...values,
  );
  return rows.map(({ number }) => number);
}
