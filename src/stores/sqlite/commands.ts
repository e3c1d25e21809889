import type { DurableEvent } from "../../core/event.ts";
import type { HistoryHit, HistoryQuery } from "../../core/event-store.ts";
import { type FoundRow, hitIn, searchHistory, timeRange } from "../history/search-history.ts";
import { type SearchWord, searchWords } from "../history/search-words.ts";
import { eventIn, type PositionedEventRow, readableEvents } from "../history/stored-event.ts";
import { type Connection, rewriteSmallFile } from "./connection.ts";
import { eventCommands, page } from "./event-commands.ts";
import {
  addAllWords,
  addWaitingWords,
  changeWords,
  deleteWordsAtOnce,
  wordsEnd,
} from "./event-words.ts";
import { indexCommands } from "./index-commands.ts";
import { plainCommands } from "./sqlite-tables.ts";

/** Pages of the word index that one step rewrites. */
const MERGE_PAGES = 200;

/**
 * The deletion of a session's events: hidden at once, then deleted
 * little by little, so that no other writer waits long.
 */
const deletionCommands = {
  /** Hides a session's log from all readers, in one step however long it is; returns whether there was one. */
  hideEvents(db: Connection, namespace: string, sessionId: string): boolean {
    return db.write(
      () =>
        db.run(
          "UPDATE log SET namespace = NULL, session_id = '' WHERE namespace = ? AND session_id = ?",
          namespace,
          sessionId,
        ) > 0,
    );
  },

  /**
   * Deletes some of what is hidden, be it from a deletion that was killed;
   * returns whether there is more.
   */
  purgeEvents(db: Connection): boolean {
    return db.write(() => {
      const hidden = db.get<{ key: number }>("SELECT key FROM log WHERE namespace IS NULL LIMIT 1");
      if (!hidden) return false;
      // The end of the words then remembers the positions that are deleted.
      if (addWaitingWords(db)) return true;
      deleteWordsAtOnce(db);
      const { events, more } = page(
        db.iterate<{ position: number; event: string }>(
          "SELECT position, event FROM event WHERE log = ? ORDER BY seq",
          hidden.key,
        ),
      );
      for (const { position, event } of events) {
        changeWords(db, position, event);
        db.run("DELETE FROM event WHERE position = ?", position);
      }
      if (!more) db.run("DELETE FROM log WHERE key = ?", hidden.key);
      return true;
    });
  },

  /**
   * Rewrites some of the word index, so that words leave it that are deleted;
   * returns whether there is more. The first of several steps begins with all of it.
   */
  mergeEventText(db: Connection, first: boolean): boolean {
    const before = db.totalChanges();
    db.write(() =>
      db.run(
        "INSERT INTO event_words (event_words, rank) VALUES ('merge', ?)",
        first ? -MERGE_PAGES : MERGE_PAGES,
      ),
    );
    // SQLite says with this that nothing was left to merge.
    return db.totalChanges() - before >= 2;
  },

  rewriteSmallFile,

  /** Empties the write-ahead log, where deleted text can still be read. Returns false when another connection was reading it. */
  forgetDeleted(db: Connection): boolean {
    return db.emptyLog();
  },
};

/**
 * Every command that the database runs, by name.
 *
 * A command is a synchronous function of a connection. Its arguments and its
 * result can be cloned, so that it runs here or in another thread. It writes in
 * one transaction (`db.write`), so that it can be run again when another
 * connection held the lock.
 */
export const commands = {
  ...plainCommands,
  ...deletionCommands,
  ...indexCommands,
  searchEvents,

  /** @throws SessionError `SESSION_STORE_ERROR` when the store's files were removed or replaced */
  requireInPlace(db: Connection): void {
    db.files?.requireInPlace();
  },
};

type Commands = typeof commands;
export type CommandName = keyof Commands & string;

export type CommandArguments<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: infer Values
) => unknown
  ? Values
  : never;

export type CommandResult<Name extends CommandName> = Commands[Name] extends (
  db: Connection,
  ...values: never[]
) => infer Result
  ? Result
  : never;

/** Finds events by the words of their text, in the order of SQLite's word index. */
function searchEvents(
  db: Connection,
  namespace: string,
  asked: HistoryQuery,
): readonly HistoryHit[] {
  const query = withStoredIds(asked);
  const words = searchWords(query.query);
  if (words.length === 0 || query.limit <= 0) return [];
  const { sinceMs, untilMs } = timeRange(query);
  const { only, except } = { only: undefined, except: undefined, ...query.sessions };
  const areAdded = addAllWords(db);
  return db.read(() => {
    const found = db.iterate<{ position: number }>(
      `SELECT position FROM event_words
       CROSS JOIN event ON position = event_words.rowid
       CROSS JOIN log ON key = log
       WHERE event_words MATCH ?1 AND namespace = ?2 AND (?3 IS NULL OR session_id = ?3)
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
    return areAdded ? hits : withWaiting(hits, searchWaiting(db, namespace, query), query.limit);
  });
}

/** Ids as SQLite keeps them: well formed. */
function withStoredIds(query: HistoryQuery): HistoryQuery {
  const { sessionId, sessions } = query;
  const all = (ids: readonly string[]) => ids.map((id) => id.toWellFormed());
  return {
    ...query,
    ...(sessionId === undefined ? {} : { sessionId: sessionId.toWellFormed() }),
    ...(sessions && {
      sessions:
        "only" in sessions ? { only: all(sessions.only) } : { except: all(sessions.except) },
    }),
  };
}

/** Finds events whose words cannot be added to the index now. */
function searchWaiting(db: Connection, namespace: string, query: HistoryQuery): HistoryHit[] {
  const waiting: PositionedEventRow[] = [];
  for (let after = wordsEnd(db); ; ) {
    const rows = eventCommands.readAllEvents(db, namespace, after, Number.MAX_SAFE_INTEGER);
    waiting.push(...rows);
    const last = rows.at(-1);
    if (!last) return searchHistory(readableEvents(waiting), query);
    after = last.position;
  }
}

/** Hits of the index and others by turns, because their scores cannot be compared. */
function withWaiting(
  hits: readonly HistoryHit[],
  waiting: readonly HistoryHit[],
  limit: number,
): readonly HistoryHit[] {
  const longer = hits.length > waiting.length ? hits : waiting;
  return longer.flatMap((_, at) => [hits[at] ?? [], waiting[at] ?? []].flat()).slice(0, limit);
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
