import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import type { PostgresDatabase } from "./postgres-database.ts";

/** Keeps the marks of forgotten texts in PostgreSQL, with a key that the schema was given for it. */
export class PostgresForgottenTexts implements ForgottenTexts, ForgottenMarks {
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
    await this.restore(marks.filter((mark) => mark !== undefined));
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    const kept = await this.#database.rows<{ key: Uint8Array | null; other: string | null }>(
      `select (select key from rkat.forgetting_key) as key, other.mark as other
       from (select from rkat.forgotten_text where namespace = $1 limit 1) as any_text
       left join rkat.forgotten_text as other
         on namespace = $1 and mark >= 'key ' and mark < 'key!'`,
      this.#namespace,
    );
    if (kept.length === 0) return texts.map(() => false);
    const others = kept.flatMap(({ other }) => other ?? []);
    const each = await marksOfEach(kept[0]?.key ?? undefined, others, sessionId, texts);
    const rows = await this.#database.rows<{ mark: string }>(
      "select mark from rkat.forgotten_text where namespace = $1 and mark = any($2::text[])",
      this.#namespace,
      each.flat(),
    );
    const known = new Set(rows.map(({ mark }) => mark));
    return each.map((marks) => marks.some((mark) => known.has(mark)));
  }

  async copy(): Promise<readonly string[]> {
    const rows = await this.#database.rows<{ mark: string }>(
      "select mark from rkat.forgotten_text where namespace = $1",
      this.#namespace,
    );
    if (rows.length === 0) return [];
    return forgottenCopy(
      await this.#key(),
      rows.map(({ mark }) => mark),
    );
  }

  async restore(copy: readonly string[]): Promise<void> {
    await this.#database.change(
      `insert into rkat.forgotten_text select $1, mark from unnest($2::text[]) mark
       on conflict do nothing`,
      this.#namespace,
      copy,
    );
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
