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

/** The key that decides the partition: the name of a namespace, its number in memory, or the number of a vector space. */
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

/** The number of partitions of a schema's tables. 0 without partitions. */
export const COUNT_PARTITIONS = `(
  select count(*)::integer from pg_inherits
  where inhparent = (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = 'event'))`;

/** Statements, or the names of tables, that name one partition instead of the large tables. */
export type InPartition = (sql: string) => string;

/** Without partitions, or when the partition is not known yet. */
const IN_TABLES: InPartition = (sql) => sql;

/** One partition of the tables of a part. */
function inPartition(part: PartitionedPart, number: number): InPartition {
  const names = new RegExp(`\\brkat\\.(${PARTITIONED[part].tables.join("|")})\\b`, "g");
  return (sql) => sql.replace(names, `rkat.$1_${number}`);
}

interface PartitionedDatabase extends Pick<Statements, "rows"> {
  readonly schema: string;
  /** 0 without partitions. */
  partitions(): Promise<number>;
}

/** The number of the partition of each of the keys that `keys` selects, whose first value is `$3`. */
async function partitionsOf(
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

/** The partitions of the events of namespaces. Stores of one database share what was found. */
export class EventPartitions {
  readonly #database: PartitionedDatabase;
  /** The number of the partition of each namespace. */
  readonly #found = new Map<string, number>();

  constructor(database: PartitionedDatabase) {
    this.#database = database;
  }

  async of(namespace: string): Promise<InPartition> {
    if ((await this.#database.partitions()) === 0) return IN_TABLES;
    const known = this.#found.get(namespace);
    if (known !== undefined) return inPartition("events", known);
    const keys = "select $3::text";
    const [number = 0] = await partitionsOf(this.#database, "events", keys, namespace);
    this.#found.set(namespace, number);
    return inPartition("events", number);
  }
}

const NUMBER = "select number from rkat.memory_namespace where name = $3";

const SPACES = `
  select v.number from rkat.memory_vector_space v join rkat.memory_namespace n on n.number = v.namespace
  where n.name = $3`;

/** The partitions of the memory of a namespace. Without partitions, it costs nothing. */
export class MemoryPartition {
  readonly #db: PartitionedDatabase;
  readonly #namespace: string;
  #found: InPartition | undefined;

  constructor(db: PartitionedDatabase, namespace: string) {
    this.#db = db;
    this.#namespace = namespace;
  }

  /** Looks where it is, outside of a transaction: a pool may have one connection only. */
  async find(): Promise<void> {
    if (this.#found) return;
    if ((await this.#db.partitions()) === 0) {
      this.#found = IN_TABLES;
      return;
    }
    const [number] = await partitionsOf(this.#db, "memory", NUMBER, this.#namespace);
    // Before its first save, a namespace has no number.
    if (number !== undefined) this.#found = inPartition("memory", number);
  }

  /** A statement about the namespace, with the names of its partitions once they were found. */
  of(sql: string): string {
    return this.#found?.(sql) ?? sql;
  }

  /** The parts of these tables that have something of the namespace. */
  async ofTables(tables: readonly string[]): Promise<readonly string[]> {
    await this.find();
    const spaces = await partitionsOf(this.#db, "vectors", SPACES, this.#namespace);
    const own = tables.map((table) => this.of(table));
    if (spaces.length === 0) return own;
    const each = spaces.flatMap((number) => own.map(inPartition("vectors", number)));
    return [...new Set(each)];
  }
}
