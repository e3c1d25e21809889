import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { MemoryEntry } from "rkat";
import { contentWords } from "./data/vocabulary.ts";

/**
 * The baseline, which needs no installation: entries in a SQLite table, indexed by
 * FTS5 with Porter's stemmer, as durable as ours (WAL, `synchronous=FULL`). A search
 * is for any of the question's content words, because stop words cost FTS5 most.
 */
export class Fts5Store {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #search: StatementSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS entry (
        row INTEGER PRIMARY KEY, id TEXT UNIQUE, session_id TEXT, turn INTEGER, role TEXT,
        speaker TEXT, time TEXT, content TEXT
      );
      CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        content, content = 'entry', content_rowid = 'row', tokenize = 'porter unicode61'
      );
      CREATE TRIGGER IF NOT EXISTS entry_words AFTER INSERT ON entry BEGIN
        INSERT INTO words (rowid, content) VALUES (new.row, new.content);
      END;
    `);
    this.#insert = this.#db.prepare(
      "INSERT INTO entry (id, session_id, turn, role, speaker, time, content) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#search = this.#db.prepare(
      "SELECT entry.* FROM words JOIN entry ON entry.row = words.rowid WHERE words MATCH ? ORDER BY rank LIMIT ?",
    );
  }

  /** In one durable transaction. */
  add(entries: readonly MemoryEntry[]): void {
    this.#db.exec("BEGIN IMMEDIATE");
    for (const { id, sessionId, turn, role, speaker, time, content } of entries) {
      this.#insert.run(id, sessionId, turn, role ?? null, speaker ?? null, time ?? null, content);
    }
    this.#db.exec("COMMIT");
  }

  /** The ids of the best entries. Their whole rows are read. */
  search(question: string, limit: number): string[] {
    const words = [...new Set(contentWords(question))].map((word) => `"${word}"`);
    if (words.length === 0) return [];
    return this.#search.all(words.join(" OR "), limit).map(({ id }) => String(id));
  }

  close(): void {
    this.#db.close();
  }
}
