import { COLUMN_TYPES } from "./column-types.ts";
import type { PostgresResult, PostgresStatement } from "./postgres-pool.ts";

/** Runs statements, one at a time. SQL names tables as `rkat.event`. */
export interface Statements {
  rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** The first row. */
  row<Row>(sql: string, ...values: readonly unknown[]): Promise<Row | undefined>;
  /** Returns how many rows the statement changed. */
  change(sql: string, ...values: readonly unknown[]): Promise<number>;
}

interface Asked {
  query(statement: PostgresStatement): Promise<PostgresResult>;
}

export class StatementsOf implements Statements {
  readonly #asked: Asked;
  readonly #schema: string;
  /** A connection does one statement at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(asked: Asked, { schema }: { readonly schema: string }) {
    this.#asked = asked;
    this.#schema = schema;
  }

  async rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#query(sql, values)).rows as Row[];
  }

  async row<Row>(sql: string, ...values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows<Row>(sql, ...values))[0];
  }

  async change(sql: string, ...values: readonly unknown[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  #query(sql: string, values: readonly unknown[]): Promise<PostgresResult> {
    const text = inSchema(sql, this.#schema);
    const query = () => this.#asked.query({ text, values: [...values], types: COLUMN_TYPES });
    const result = this.#last.then(query, query);
    this.#last = result;
    return result;
  }
}

/** Texts are constants with no data in them, so a name that looks like a table is one. */
function inSchema(sql: string, schema: string): string {
  return sql.replaceAll("rkat.", `${quoted(schema)}.`);
}

/** A name in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
