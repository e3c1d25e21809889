import {
  type ForgottenMarks,
  type ForgottenTexts,
  forgottenCopy,
  forgottenMarks,
  marksOfEach,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import type { Database } from "./database.ts";

/** Keeps the marks of forgotten texts in a SQLite file, with a key that the file was given for it. */
export class SqliteForgottenTexts implements ForgottenTexts, ForgottenMarks {
  readonly #database: Database;
  readonly #namespace: string;

  /** Who closes the database also closes this. */
  constructor(database: Database, { namespace }: { readonly namespace: string }) {
    this.#database = database;
    this.#namespace = namespace;
  }

  async add(sessionId: string, texts: readonly string[]): Promise<void> {
    if (texts.length === 0) return;
    const key = await this.#database.run("forgettingKey", newForgettingKey());
    const marks = await forgottenMarks(key, sessionId, texts);
    const known = marks.filter((mark) => mark !== undefined);
    await this.#database.run("addForgotten", this.#namespace, known);
  }

  async has(sessionId: string, texts: readonly string[]): Promise<readonly boolean[]> {
    const keys = await this.#database.run("keysOfForgotten", this.#namespace);
    if (!keys) return texts.map(() => false);
    const each = await marksOfEach(keys.own, keys.others, sessionId, texts);
    const known = new Set(await this.#database.run("knownForgotten", this.#namespace, each.flat()));
    return each.map((marks) => marks.some((mark) => known.has(mark)));
  }

  async copy(): Promise<readonly string[]> {
    const kept = await this.#database.run("allForgotten", this.#namespace);
    if (kept.length === 0) return [];
    return forgottenCopy(await this.#database.run("forgettingKey", newForgettingKey()), kept);
  }

  async restore(copy: readonly string[]): Promise<void> {
    if (copy.length > 0) await this.#database.run("addForgotten", this.#namespace, copy);
  }
}
