import type { DurableEvent } from "../../core/event.ts";
import type { HistoryHit, HistoryQuery } from "../../core/event-store.ts";
import { type FoundRow, hitIn, timeRange } from "../history/search-history.ts";
import { type SearchWord, searchWords } from "../history/search-words.ts";
import { eventIn } from "../history/stored-event.ts";
import type { Connection } from "./connection.ts";

/** Finds events by the words of their text, in the order of SQLite's word index. */
export function searchEvents(
  db: Connection,
  namespace: string,
  query: HistoryQuery,
): readonly HistoryHit[] {
  const words = searchWords(query.query);
  if (words.length === 0 || query.limit <= 0) return [];
  const { sinceMs, untilMs } = timeRange(query);
  const { only, except } = { only: undefined, except: undefined, ...query.sessions };
  return db.read(() => {
    const found = db.iterate<{ position: number }>(
      `SELECT position FROM event_text
       CROSS JOIN event ON position = event_text.rowid
       CROSS JOIN log ON key = log
       WHERE event_text MATCH ?1 AND namespace = ?2 AND (?3 IS NULL OR session_id = ?3)
         AND max(turns - 1, 0) BETWEEN ?4 AND ?5 AND timestamp_ms BETWEEN ?6 AND ?7
         AND (?8 IS NULL OR session_id IN (SELECT value FROM json_each(?8)))
         AND (?9 IS NULL OR session_id NOT IN (SELECT value FROM json_each(?9)))
       ORDER BY rank`,
      matchExpression(words),
      namespace,
      query.sessionId ?? null,
      query.fromTurn ?? 0,
      query.toTurn ?? Number.MAX_SAFE_INTEGER,
      sinceMs,
      untilMs,
      only ? JSON.stringify(only) : null,
      except ? JSON.stringify(except) : null,
    );
    const hits: HistoryHit[] = [];
    for (const { position } of found) {
      const hit = hitAt(db, position, words);
      if (hit) hits.push(hit);
      if (hits.length >= query.limit) break;
    }
    return hits;
  });
}

/** Any of the words, each as a string: nothing in it is an operator. */
function matchExpression(words: readonly SearchWord[]): string {
  return words.map(({ word, whole }) => `"${word}"${whole ? "" : "*"}`).join(" OR ");
}

function hitAt(
  db: Connection,
  position: number,
  words: readonly SearchWord[],
): HistoryHit | undefined {
  const row = db.get<FoundRow & { readonly log: number }>(
    `SELECT log, session_id, seq, turns, timestamp_ms, event_id, event
     FROM event JOIN log ON key = log WHERE position = ?`,
    position,
  );
  return row && hitIn(row, words, () => eventAt(db, row.log, row.seq - 1));
}

function eventAt(db: Connection, log: number, seq: number): DurableEvent | undefined {
  const row = db.get<{ event: string }>(
    "SELECT event FROM event WHERE log = ? AND seq = ?",
    log,
    seq,
  );
  return row && eventIn(row.event, seq);
}
