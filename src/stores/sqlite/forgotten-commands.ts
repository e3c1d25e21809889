import type { Connection } from "./connection.ts";

/**
 * Table of the texts that were forgotten, and the key of their marks. Without the key, a guessed text
 * cannot be tested.
 */
export const forgottenSchema = `
  CREATE TABLE forgotten_text (
    namespace TEXT NOT NULL,
    mark TEXT NOT NULL,
    PRIMARY KEY (namespace, mark)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE forgetting_key (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    key BLOB NOT NULL
  ) STRICT;
`;

export interface ForgottenKeys {
  readonly own: Uint8Array | undefined;
  readonly others: readonly string[];
}

/** What `SqliteForgottenTexts` asks of the database. */
export const forgottenCommands = {
  /** The key of the store. It gets `fresh` at its first use. */
  forgettingKey(db: Connection, fresh: Uint8Array): Uint8Array {
    return (
      keyOf(db) ??
      db.write(() => {
        db.run("INSERT OR IGNORE INTO forgetting_key VALUES (1, ?)", fresh);
        return keyOf(db) as Uint8Array;
      })
    );
  },

  /** The key of the store, and those that came from others; undefined when nothing was forgotten in the namespace. */
  keysOfForgotten(db: Connection, namespace: string): ForgottenKeys | undefined {
    const any = db.get("SELECT 1 FROM forgotten_text WHERE namespace = ? LIMIT 1", namespace);
    if (any === undefined) return undefined;
    const others = db.all<{ mark: string }>(
      "SELECT mark FROM forgotten_text WHERE namespace = ? AND mark >= 'key ' AND mark < 'key!'",
      namespace,
    );
    return { own: keyOf(db), others: others.map(({ mark }) => mark) };
  },

  allForgotten(db: Connection, namespace: string): readonly string[] {
    return db
      .all<{ mark: string }>("SELECT mark FROM forgotten_text WHERE namespace = ?", namespace)
      .map(({ mark }) => mark);
  },

  addForgotten(db: Connection, namespace: string, marks: readonly string[]): void {
    db.write(() =>
      db.run(
        "INSERT OR IGNORE INTO forgotten_text SELECT ?, value FROM json_each(?)",
        namespace,
        JSON.stringify(marks),
      ),
    );
  },

  knownForgotten(db: Connection, namespace: string, marks: readonly string[]): readonly string[] {
    return db
      .all<{ mark: string }>(
        `SELECT mark FROM forgotten_text
         WHERE namespace = ? AND mark IN (SELECT value FROM json_each(?))`,
        namespace,
        JSON.stringify(marks),
      )
      .map(({ mark }) => mark);
  },
};

function keyOf(db: Connection): Uint8Array | undefined {
  return db.get<{ key: Uint8Array }>("SELECT key FROM forgetting_key")?.key;
}
