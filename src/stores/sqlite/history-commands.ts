import type { DurableEvent } from "../../core/event.ts";
import type { HistoryHit, HistoryQuery } from "../../core/event-store.ts";
import { eventText, shownText } from "../history/event-text.ts";
import { hasWord, passage } from "../history/passage.ts";
import { timeRange } from "../history/search-history.ts";
import { type SearchWord, searchWords } from "../history/search-words.ts";
import { eventIn, ifReadable, storedEvent } from "../history/stored-event.ts";
import type { Connection } from "./connection.ts";

/** The search of the log. */
export const historyCommands = {
  searchEvents(db: Connection, namespace: string, query: HistoryQuery): readonly HistoryHit[] {
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
        hits.push(...(ifReadable(() => hitAt(db, position, words)) ?? []));
        if (hits.length >= query.limit) break;
      }
      return hits;
    });
  },
};

/** Any of the words, each as a string: nothing in it is an operator. */
function matchExpression(words: readonly SearchWord[]): string {
  return words.map(({ word, whole }) => `"${word}"${whole ? "" : "*"}`).join(" OR ");
}

function hitAt(db: Connection, position: number, words: readonly SearchWord[]): HistoryHit[] {
  const row = db.get<{
    log: number;
    session_id: string;
    seq: number;
    turns: number;
    timestamp_ms: number;
    event_id: string;
    event: string;
  }>(
    `SELECT log, session_id, seq, turns, timestamp_ms, event_id, event
     FROM event JOIN log ON key = log WHERE position = ?`,
    position,
  );
  if (!row) return [];
  const { event } = storedEvent(row);
  const said = shownText(event, () => eventAt(db, row.log, row.seq - 1));
  // The words that were found may be those of a search that the message also calls.
  if (!said || (said.text !== eventText(event)?.text && !hasWord(said.text, words))) return [];
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

function eventAt(db: Connection, log: number, seq: number): DurableEvent | undefined {
  const row = db.get<{ event: string }>(
    "SELECT event FROM event WHERE log = ? AND seq = ?",
    log,
    seq,
  );
  return row && eventIn(row.event, seq);
}
