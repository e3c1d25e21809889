import {
  type ForgottenTexts,
  forgottenMarks,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** Keeps the marks of forgotten texts in PostgreSQL, with a key that the schema was given for it. */
export class PostgresForgottenTexts implements ForgottenTexts {
  readonly #database: PostgresDatabase;
  readonly #namespace: string;

  /** Who closes the database also closes this. */
  constructor(database: PostgresDatabase, { namespace }: { readonly namespace: string }) {
    this.#database = database;
    this.#namespace = namespace;
  }

  async add(sessionId: string, texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return;
    const marks = await forgottenMarks(await this.#key(), sessionId, texts);
    await this.#database.change(
      `insert into rkat.forgotten_text select $1, mark from unnest($2::text[]) mark
       on conflict do nothing`,
      this.#namespace,
      marks.filter((mark) => mark !== undefined),
    );
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    const row = await this.#database.row<{ key: Uint8Array }>(
      `select key from rkat.forgetting_key
       where exists (select from rkat.forgotten_text where namespace = $1)`,
      this.#namespace,
    );
    if (!row) return texts.map(() => false);
    const marks = await forgottenMarks(row.key, sessionId, texts);
    const rows = await this.#database.rows<{ mark: string }>(
      "select mark from rkat.forgotten_text where namespace = $1 and mark = any($2::text[])",
      this.#namespace,
      marks.filter((mark) => mark !== undefined),
    );
    const known = new Set(rows.map(({ mark }) => mark));
    return marks.map((mark) => mark !== undefined && known.has(mark));
  }

  /** The key of the schema. It gets one at its first use. */
  async #key(): Promise<Uint8Array> {
    await this.#database.change(
      "insert into rkat.forgetting_key (key) values ($1) on conflict do nothing",
      newForgettingKey(),
    );
    const row = await this.#database.row<{ key: Uint8Array }>(
      "select key from rkat.forgetting_key",
    );
    return row?.key as Uint8Array;
  }
}
