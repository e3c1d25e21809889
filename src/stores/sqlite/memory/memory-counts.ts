import type { Connection } from "../connection.ts";

/** What is counted on the side, and is wrong, with what it should be. */
export interface WrongCounts {
  readonly sessions: readonly {
    readonly number: number;
    readonly id: string;
    readonly entries: number;
    readonly text_bytes: number;
  }[];
  readonly labels: readonly {
    readonly number: number;
    readonly text: string;
    readonly uses: number;
  }[];
}

/** Counts again what is stored, which reads all of it. */
export function wrongCounts(db: Connection, namespace: number): WrongCounts {
  return {
    sessions: db.all(
      `SELECT session.number, session.id, coalesce(counted.entries, 0) AS entries,
              coalesce(counted.text_bytes, 0) AS text_bytes
       FROM memory_session AS session
       LEFT JOIN (
         SELECT session, count(*) AS entries, sum(length(CAST(content AS BLOB))) AS text_bytes
         FROM memory_entry WHERE namespace = ?1 GROUP BY session
       ) AS counted ON counted.session = session.number
       WHERE session.namespace = ?1 AND (
         session.entries IS NOT counted.entries OR session.text_bytes IS NOT counted.text_bytes)`,
      namespace,
    ),
    labels: db.all(
      `SELECT label.number, label.text, count(used.number) AS uses
       FROM memory_label AS label
       LEFT JOIN (
         SELECT role AS number FROM memory_entry WHERE namespace = ?1 AND role IS NOT NULL
         UNION ALL
         SELECT speaker FROM memory_entry WHERE namespace = ?1 AND speaker IS NOT NULL
       ) AS used ON used.number = label.number
       WHERE label.namespace = ?1 GROUP BY label.number HAVING count(used.number) <> label.uses`,
      namespace,
    ),
  };
}

/** Puts the right counts in the place of the wrong ones; in a transaction. */
export function mendCounts(db: Connection, namespace: number, counts: WrongCounts): void {
  for (const { number, entries, text_bytes } of counts.sessions) {
    const sql =
      "UPDATE memory_session SET entries = ?, text_bytes = ? WHERE namespace = ? AND number = ?";
    db.run(sql, entries, text_bytes, namespace, number);
  }
  for (const { number, uses } of counts.labels) {
    const sql = "UPDATE memory_label SET uses = ? WHERE namespace = ? AND number = ?";
    db.run(sql, uses, namespace, number);
  }
}
