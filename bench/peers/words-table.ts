import type { DatabaseSync } from "node:sqlite";
import type { MemoryEntry } from "rkat";
import { contentWords } from "../data/vocabulary.ts";
import { CANDIDATES } from "./fuse.ts";

/** Texts with FTS5 beside them, as the keyword half of what only knows vectors. */
export class WordsTable {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    db.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      CREATE TABLE IF NOT EXISTS entry (
        row INTEGER PRIMARY KEY, id TEXT UNIQUE, session_id TEXT, turn INTEGER, speaker TEXT,
        time TEXT, content TEXT
      );
      CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
        content, content = 'entry', content_rowid = 'row', tokenize = 'porter unicode61'
      );
    `);
  }

  /** In one transaction with what `beside` does for each row. */
  add(entries: readonly MemoryEntry[], beside: (row: bigint, content: string) => void): void {
    const entry = this.#db.prepare("INSERT INTO entry VALUES (NULL, ?, ?, ?, ?, ?, ?)");
    const words = this.#db.prepare("INSERT INTO words (rowid, content) VALUES (?, ?)");
    this.#db.exec("BEGIN IMMEDIATE");
    for (const { id, sessionId, turn, speaker, time, content } of entries) {
      const inserted = entry.run(id, sessionId, turn, speaker ?? null, time ?? null, content);
      const row = BigInt(inserted.lastInsertRowid);
      words.run(row, content);
      beside(row, content);
    }
    this.#db.exec("COMMIT");
  }

  /** The rows with any of the words, best first. */
  search(question: string): number[] {
    const words = [...new Set(contentWords(question))].map((word) => `"${word}"`);
    if (words.length === 0) return [];
    return this.#db
      .prepare("SELECT rowid AS row FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?")
      .all(words.join(" OR "), CANDIDATES)
      .map(({ row }) => Number(row));
  }

  /** How many of the rows could be read. */
  read(rows: readonly number[]): number {
    const entry = this.#db.prepare("SELECT * FROM entry WHERE row = ?");
    return rows.filter((row) => entry.get(row) !== undefined).length;
  }
}
