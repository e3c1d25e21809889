import type { HistoryHit, HistoryQuery } from "../../core/event-store.ts";
import { eventText } from "../history/event-text.ts";
import { passage } from "../history/passage.ts";
import { timeRange } from "../history/search-history.ts";
import { type SearchWord, searchWords } from "../history/search-words.ts";
import type { Connection } from "./connection.ts";

/** How the database is searched for what was said. */
export const historyCommands = {
  searchEvents(db: Connection, namespace: string, query: HistoryQuery): readonly HistoryHit[] {
    const words = searchWords(query.query);
    if (words.length === 0 || query.limit <= 0) return [];
    const { sinceMs, untilMs } = timeRange(query);
    return db.read(() =>
      db
        .all<{ position: number }>(
          `SELECT position FROM event_text
           CROSS JOIN event ON position = event_text.rowid
           CROSS JOIN log ON key = log
           WHERE event_text MATCH ?1 AND namespace = ?2 AND (?3 IS NULL OR session_id = ?3)
             AND max(turns - 1, 0) BETWEEN ?4 AND ?5 AND timestamp_ms BETWEEN ?6 AND ?7
           ORDER BY rank LIMIT ?8`,
          matchExpression(words),
          namespace,
          query.sessionId ?? null,
          query.fromTurn ?? 0,
          query.toTurn ?? Number.MAX_SAFE_INTEGER,
          sinceMs,
          untilMs,
          query.limit,
        )
        .flatMap(({ position }) => hitAt(db, position, words)),
    );
  },
};

/** Any of the words, each as a string: nothing in it is an operator. */
function matchExpression(words: readonly SearchWord[]): string {
  return words.map(({ word, whole }) => `"${word}"${whole ? "" : "*"}`).join(" OR ");
}

function hitAt(db: Connection, position: number, words: readonly SearchWord[]): HistoryHit[] {
  const row = db.get<{
    session_id: string;
    seq: number;
    turns: number;
    timestamp_ms: number;
    event: string;
  }>(
    `SELECT session_id, seq, turns, timestamp_ms, event
     FROM event JOIN log ON key = log WHERE position = ?`,
    position,
  );
  const said = row && eventText(JSON.parse(row.event));
  if (!said) return [];
  return [
    {
      sessionId: row.session_id,
      seq: row.seq,
      turn: Math.max(0, row.turns - 1),
      role: said.role,
      ...(said.speaker === undefined ? {} : { speaker: said.speaker }),
      time: new Date(row.timestamp_ms).toISOString(),
      content: passage(said.text, words),
    },
  ];
}
