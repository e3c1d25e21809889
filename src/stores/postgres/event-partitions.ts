import { IN_TABLES, type InPartition, inPartition, partitionsOf } from "./partitions.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** Where the events of namespaces are. Stores of one database share what was found. */
export class EventPartitions {
  readonly #database: PostgresDatabase;
  /** The number of the partition of each namespace. */
  readonly #found = new Map<string, number>();

  constructor(database: PostgresDatabase) {
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
