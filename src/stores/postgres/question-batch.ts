/** Reads a row of a part: its fields, and up to two blobs. */
export type ReadRow<Row> = (
  fields: readonly never[],
  one: Uint8Array | null,
  other: Uint8Array | null,
) => Row;

/** A row of the answer. Every part has the same columns, so that all parts are one statement. */
export interface AnswerRow {
  readonly part: number;
  /** A JSON array. */
  readonly fields: string;
  readonly one: string | null;
  readonly other: string | null;
}

interface Part {
  readonly sql: string;
  take(row: AnswerRow): void;
}

/**
 * Questions that are one statement, so that they take one round trip and see one state:
 *
 *     with head as (…)
 *     select 0, …      the head of the namespace
 *     union all
 *     select 1, …      rows of the first question
 *
 * Blobs travel as base64: a third more bytes, where the driver's own way is twice as many.
 */
export class QuestionBatch {
  readonly #values: unknown[];
  readonly #tables: string[] = [];
  readonly #parts: Part[] = [];

  constructor(namespace: string) {
    this.#values = [namespace];
  }

  /** The place of a value in the SQL, with its type. */
  bind(value: unknown, type: string): string {
    this.#values.push(value);
    return `$${this.#values.length}::${type}`;
  }

  /** Rows as a table, with a column for each of the named fields, whose types are given. */
  unnest<Row>(
    rows: readonly Row[],
    types: { readonly [Field in keyof Row]?: "integer" | "bigint" | "bytea" },
  ): string {
    const columns = Object.entries(types).map(([field, type]) =>
      this.bind(
        rows.map((row) => row[field as keyof Row]),
        `${type}[]`,
      ),
    );
    return `unnest(${columns})`;
  }

  /** A table that several parts read. */
  with(name: string, sql: string): void {
    this.#tables.push(`${name} as materialized (${sql})`);
  }

  /** Adds a part. Its rows are there when the batch was answered. */
  rows<Row>({ fields, one = "null", other = "null", from }: PartSql, read: ReadRow<Row>): Row[] {
    const rows: Row[] = [];
    const number = this.#parts.length;
    this.#parts.push({
      sql: `(select ${number} as part, json_build_array(${fields})::text as fields,
        ${base64(one)} as one, ${base64(other)} as other ${from})`,
      take: (row) => rows.push(read(JSON.parse(row.fields), bytesOf(row.one), bytesOf(row.other))),
    });
    return rows;
  }

  get statement(): { readonly sql: string; readonly values: readonly unknown[] } {
    const tables = [HEAD, ...this.#tables].join(",\n");
    const parts = this.#parts.map(({ sql }) => sql).join("\nunion all\n");
    return { sql: `with ${tables}\n${parts}`, values: this.#values };
  }

  take(rows: readonly AnswerRow[]): void {
    for (const row of rows) this.#parts[row.part]?.take(row);
  }
}

/** Questions that are asked before the event loop goes on are one batch, which also answers `Head`. */
export class QuestionsTogether<Head> {
  readonly #namespace: string;
  readonly #begin: (batch: QuestionBatch) => () => Promise<Head>;
  /** The questions of this turn of the event loop. */
  #asked: { readonly batch: QuestionBatch; readonly head: Promise<Head> } | undefined;

  /** `begin` asks for the head, and returns what sends the batch. */
  constructor(namespace: string, begin: (batch: QuestionBatch) => () => Promise<Head>) {
    this.#namespace = namespace;
    this.#begin = begin;
  }

  async ask<Answer>(ask: (batch: QuestionBatch) => (head: Head) => Answer): Promise<Answer> {
    this.#asked ??= this.#newBatch();
    const { batch, head } = this.#asked;
    const answer = ask(batch);
    return answer(await head);
  }

  #newBatch() {
    const batch = new QuestionBatch(this.#namespace);
    const send = this.#begin(batch);
    const answered = async () => {
      // Until then, others join.
      await undefined;
      this.#asked = undefined;
      return send();
    };
    return { batch, head: answered() };
  }
}

const HEAD = `head as materialized (select * from rkat.memory_namespace where name = $1::text)`;

/** The SQL of one part. */
export interface PartSql {
  /** Expressions, separated by commas. */
  readonly fields: string;
  readonly one?: string;
  readonly other?: string;
  /** Everything from `from` on. */
  readonly from: string;
}

function base64(blob: string): string {
  return blob === "null" ? "null::text" : `encode(${blob}, 'base64')`;
}

function bytesOf(text: string | null): Uint8Array | null {
  if (text === undefined) throw new TypeError("a block of the index has no bytes");
  return text === null ? null : Buffer.from(text, "base64");
}
