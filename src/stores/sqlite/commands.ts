import { plainCommands } from "./command-runner.ts";
import { type Connection, rewriteSmallFile } from "./connection.ts";
import { deleteWordsAtOnce, page, unindexWhatIsKnown } from "./event-commands.ts";
import { indexCommands } from "./index-commands.ts";
import { searchEvents } from "./search-events.ts";

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
      deleteWordsAtOnce(db);
      const { events, more } = page(
        db.iterate<{ position: number; event: string }>(
          "SELECT position, event FROM event WHERE log = ? ORDER BY seq",
          hidden.key,
        ),
      );
      for (const { position, event } of events) {
        unindexWhatIsKnown(db, position, event);
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
        "INSERT INTO event_text (event_text, rank) VALUES ('merge', ?)",
        first ? -MERGE_PAGES : MERGE_PAGES,
      ),
    );
    // So SQLite says that there was nothing left to merge.
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
