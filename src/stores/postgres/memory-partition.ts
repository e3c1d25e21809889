import { IN_TABLES, type InPartition, inPartition, partitionsOf } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

const NUMBER = "select number from rkat.memory_namespace where name = $3";

const SPACES = `
  select v.number from rkat.memory_vector_space v join rkat.memory_namespace n on n.number = v.namespace
  where n.name = $3`;

/** Where the memory of a namespace is in the tables. Without partitions, it costs nothing. */
export class MemoryPartition {
  readonly #db: PostgresDatabase;
  readonly #namespace: string;
  #found: InPartition | undefined;

  constructor(db: PostgresDatabase, namespace: string) {
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

  /** Of these tables those parts that have something of the namespace. */
  async ofTables(tables: readonly string[]): Promise<readonly string[]> {
    await this.find();
    const spaces = await partitionsOf(this.#db, "vectors", SPACES, this.#namespace);
    const own = tables.map((table) => this.of(table));
    if (spaces.length === 0) return own;
    const each = spaces.flatMap((number) => own.map(inPartition("vectors", number)));
    return [...new Set(each)];
  }
}
