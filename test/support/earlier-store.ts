import { DatabaseSync } from "node:sqlite";

/** Makes a store of today, whose words are all in their index, one of schema 14. */
export function becomeSchema14(file: string): void {
  const db = new DatabaseSync(file, { defensive: false });
  db.exec(`
    INSERT INTO sqlite_sequence SELECT 'event', position FROM words_end;
    DROP TABLE words_end;
    ALTER TABLE event_words RENAME TO event_text;
    CREATE INDEX snapshot_by_update ON snapshot (namespace, updated_at_ms DESC, session_id DESC);
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = replace(sql, 'position INTEGER PRIMARY KEY,', 'position INTEGER PRIMARY KEY AUTOINCREMENT,')
      WHERE name = 'event';
    PRAGMA writable_schema = RESET;
    PRAGMA user_version = 14;
  `);
  db.close();
}
