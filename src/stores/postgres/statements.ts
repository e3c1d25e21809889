import { hash } from "node:crypto";
import { isNotPrepared } from "./postgres-failure.ts";
import type { PostgresResult, PostgresStatement } from "./postgres-pool.ts";

/** Runs statements, one at a time. SQL names tables as `rkat.event`. */
export interface Statements {
  rows<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** The first row. */
  row<Row>(sql: string, ...values: readonly unknown[]): Promise<Row | undefined>;
  /** Returns how many rows the statement changed. */
  change(sql: string, ...values: readonly unknown[]): Promise<number>;
  /** Like `rows`, for statements that take longer to plan than to run: each connection plans them once. */
  prepared<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]>;
  /** Like `change`, for such statements. */
  changePrepared(sql: string, ...values: readonly unknown[]): Promise<number>;
}

/** Whom statements are sent to: a connection, or a pool. */
export interface Asked {
  query(statement: PostgresStatement): Promise<PostgresResult>;
}

/** The facts about the server that statements need. */
interface Server {
  readonly schema: string;
  /** The longest time for an answer. */
  readonly answerMs: number;
  /** False once a pooler has given a prepared statement to a connection that does not know it. */
  prepares: boolean;
}

export class StatementsOf implements Statements {
  readonly #asked: Asked;
  readonly #server: Server;
  /** A connection does one statement at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(asked: Asked, server: Server) {
    this.#asked = asked;
    this.#server = server;
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

  async prepared<Row>(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return (await this.#prepared(sql, values)).rows as Row[];
  }

  async changePrepared(sql: string, ...values: readonly unknown[]): Promise<number> {
    return (await this.#prepared(sql, values)).rowCount ?? 0;
  }

  async #prepared(sql: string, values: readonly unknown[]): Promise<PostgresResult> {
    try {
      return await this.#query(sql, values, this.#server.prepares);
    } catch (error) {
      if (isNotPrepared(error)) this.#server.prepares = false;
      throw error;
    }
  }

  #query(sql: string, values: readonly unknown[], isPrepared = false): Promise<PostgresResult> {
    const { schema, answerMs: query_timeout } = this.#server;
    const statement = isPrepared ? preparedIn(schema, sql) : { text: inSchema(sql, schema) };
    const query = () =>
      this.#asked.query({
        ...statement,
        values: values.map(toPostgres),
        types: COLUMN_TYPES,
        query_timeout,
      });
    const result = this.#last.then(query, query);
    this.#last = result;
    return result;
  }
}

interface Prepared {
  readonly name: string;
  readonly text: string;
}

/** The name is the same for the same text only, in every process: through a pooler, they share connections. */
function preparedIn(schema: string, sql: string): Prepared {
  const known = PREPARED.get(schema)?.get(sql);
  if (known) return known;
  const text = inSchema(sql, schema);
  const prepared = { name: `rkat_${hash("sha256", text).slice(0, 32)}`, text };
  PREPARED.set(schema, (PREPARED.get(schema) ?? new Map()).set(sql, prepared));
  return prepared;
}

/** By schema and SQL. Few texts are prepared. */
const PREPARED = new Map<string, Map<string, Prepared>>();

/** Texts are constants with no data in them, so a name that looks like a table is one. */
function inSchema(sql: string, schema: string): string {
  return sql.replaceAll("rkat.", () => `${quoted(schema)}.`);
}

/** A name in SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * How rkat reads PostgreSQL's columns, whatever the parsers of the pool's owner are: numbers as
 * numbers, bytes as bytes, everything else as text. rkat stores no integer beyond 2^53.
 */
export const COLUMN_TYPES = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? fromPostgres,
};

/** By the number of the type in `pg_type`, which is the same on every server. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t", // bool
  17: bytesOf, // bytea
  20: Number, // int8
  21: Number, // int2
  23: Number, // int4
  26: Number, // oid
  700: Number, // float4
  701: Number, // float8
  1700: Number, // numeric
};

/** `\x` and hexadecimal digits; with `bytea_output = escape` a character for each byte, or `\` and octal digits. */
function bytesOf(text: string): Uint8Array {
  if (text.startsWith("\\x")) return Buffer.from(text.slice(2), "hex");
  const byte = (_: string, digits?: string) =>
    digits === undefined ? "\\" : String.fromCharCode(Number.parseInt(digits, 8));
  return Buffer.from(text.replaceAll(/\\(?:\\|(\d{3}))/g, byte), "latin1");
}

/**
 * PostgreSQL's texts cannot have the character U+0000. It is stored as two characters, U+0001 and "0",
 * and U+0001 as U+0001 and "1".
 */
function toPostgres(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPostgres);
  if (typeof value !== "string") return value;
  return value.includes(NONE) || value.includes(ESCAPE)
    ? value.replaceAll(ESCAPE, `${ESCAPE}1`).replaceAll(NONE, `${ESCAPE}0`)
    : value;
}

/** The opposite. */
export function fromPostgres(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  return text.replaceAll(`${ESCAPE}0`, NONE).replaceAll(`${ESCAPE}1`, ESCAPE);
}

const NONE = "\0";
const ESCAPE = "\u0001";
