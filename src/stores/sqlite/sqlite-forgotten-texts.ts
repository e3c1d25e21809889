import {
  type ForgottenTexts,
  forgottenMarks,
  newForgettingKey,
} from "../../core/forgotten-texts.ts";
import type { Database } from "./database.ts";

/** Keeps the marks of forgotten texts in a SQLite file, with a key that the file was given for it. */
export class SqliteForgottenTexts implements ForgottenTexts {
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
    const key = await this.#database.run("keyOfForgotten", this.#namespace);
    if (!key) return texts.map(() => false);
    const marks = await forgottenMarks(key, sessionId, texts);
    const asked = marks.filter((mark) => mark !== undefined);
    const known = new Set(await this.#database.run("knownForgotten", this.#namespace, asked));
    return marks.map((mark) => mark !== undefined && known.has(mark));
  }
}
