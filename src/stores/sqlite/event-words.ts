import type { DurableEvent } from "../../core/event.ts";
import { eventText } from "../history/event-text.ts";
import { indexedText } from "../history/search-words.ts";
import type { Connection } from "./connection.ts";
import { isOfSqlite } from "./store-failure.ts";

// The words of an event wait before they come into their index, `event_words`: an append writes the event alone.
// `words_end` has the position up to which all are there. A search adds what waits, and so does an append when much does.

/** Events whose words wait for a search. With that many, the next append adds them. */
const WAITING_MAX = 128;

/** Characters of JSON whose words one step adds, so that no other writer waits long. */
const STEP_MAX = 1_000_000;

/** The position up to which words are in the index. None up to it is given again, also when its event was deleted. */
export function wordsEnd(db: Connection): number {
  return db.get<{ position: number }>("SELECT position FROM words_end")?.position ?? 0;
}

/** The last position that was given. */
export function lastPosition(db: Connection): number {
  const last = db.get<{ position: number | null }>("SELECT max(position) AS position FROM event");
  return Math.max(last?.position ?? 0, wordsEnd(db));
}

/** Adds words of events that wait, up to a step; returns whether more wait. Part of a transaction. */
export function addWaitingWords(db: Connection): boolean {
  const rows = db.iterate<{ position: number; event: string }>(
    "SELECT position, event FROM event WHERE position > ? ORDER BY position",
    wordsEnd(db),
  );
  let end: number | undefined;
  let size = 0;
  let more = false;
  for (const { position, event } of rows) {
    more = size >= STEP_MAX;
    if (more) break;
    const text = knownText(event);
    if (text !== undefined) insertText(db, position, text);
    end = position;
    size += event.length;
  }
  if (end !== undefined) db.run("UPDATE words_end SET position = ?", end);
  return more;
}

/** Adds words when those of many events wait. Part of a transaction. */
export function addManyWaitingWords(db: Connection): void {
  if (lastPosition(db) - wordsEnd(db) >= WAITING_MAX) addWaitingWords(db);
}

/** Adds all that waits for a search. Returns false when nothing can be written now: others write, or the disk is full. */
export function addAllWords(db: Connection): boolean {
  try {
    // The index follows from the log, so a power failure may undo it.
    for (let more = lastPosition(db) > wordsEnd(db); more; ) {
      more = db.writeUnsynced(() => addWaitingWords(db));
    }
    return true;
  } catch (error) {
    if (isOfSqlite(error)) return false;
    throw error;
  }
}

/**
 * Lets an event that has changed be found by its words. `before` is its JSON of before, which may be no event any more.
 * Words that nobody knows stay, and find nothing.
 */
export function changeWords(
  db: Connection,
  position: number,
  before: string,
  event?: DurableEvent,
): void {
  if (position > wordsEnd(db)) return;
  const gone = knownText(before);
  // The index has no text of its own and must be told the words again.
  if (gone !== undefined) {
    db.run(
      "INSERT INTO event_words (event_words, rowid, text) VALUES ('delete', ?, ?)",
      position,
      gone,
    );
  }
  const text = event && textOf(event);
  if (text !== undefined) insertText(db, position, text);
}

function insertText(db: Connection, position: number, text: string): void {
  db.run("INSERT INTO event_words (rowid, text) VALUES (?, ?)", position, text);
}

/** The words of an event that was stored; `undefined` when it has none, or is none any more. */
function knownText(json: string): string | undefined {
  try {
    return textOf(JSON.parse(json));
  } catch {
    return undefined;
  }
}

function textOf(event: DurableEvent): string | undefined {
  const said = eventText(event);
  return said && indexedText(said.text);
}

/**
 * Makes the word index merge its parts 16 at a time instead of 4, and hold a whole batch in memory until its commit.
 * The index keeps that. A search reads a few more parts.
 */
export function expectManyWords(db: Connection): void {
  const isSet = db.get("SELECT 1 FROM event_words_config WHERE k = 'automerge'") !== undefined;
  if (isSet) return;
  db.run("INSERT INTO event_words (event_words, rank) VALUES ('automerge', 16)");
  db.run("INSERT INTO event_words (event_words, rank) VALUES ('hashsize', 16000000)");
}

/**
 * Makes deletions from the word index take words out of it. FTS5 only marks them by default, and
 * some marks, which have the word, outlast every merge.
 */
export function deleteWordsAtOnce(db: Connection): void {
  db.run("INSERT INTO event_words (event_words, rank) VALUES ('secure-delete', 1)");
}
