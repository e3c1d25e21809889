import { closeSync, openSync } from "node:fs";
import { backup, DatabaseSync } from "node:sqlite";
import { SessionError } from "../../core/errors.ts";
import { versionOf } from "./open-connection.ts";
import { isAboutSource, storeFailure } from "./store-failure.ts";

/** Pages that are copied between two looks at the signal. */
const STEP_PAGES = 512;
const BUSY_MS = 10_000;

/**
 * Copies a store, as it is at one moment, into a new file that only you can read. Others may write meanwhile: a
 * transaction that reads keeps the moment, and SQLite's writers do not wait for it.
 */
export async function copyStore(
  path: string,
  to: string,
  {
    signal,
    onProgress,
  }: { readonly signal: AbortSignal; readonly onProgress: (done: number, total: number) => void },
): Promise<void> {
  closeSync(openSync(to, "wx", 0o600));
  try {
    await copyPages(path, to, { signal, onProgress });
  } catch (error) {
    if (signal.aborted) throw error;
    // A bad page and a lock are faults of the store. All others are faults of the copy.
    throw storeFailure(error, isAboutSource(error) ? path : to);
  }
}

async function copyPages(
  path: string,
  to: string,
  { signal, onProgress }: Parameters<typeof copyStore>[2],
): Promise<void> {
  const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
  try {
    db.exec("BEGIN");
    // The first read fixes the moment.
    const get = <Row>(sql: string) => db.prepare(sql).get() as Row | undefined;
    if (versionOf({ path, get }) === 0) throw isEmpty(path);
    await backup(db, to, {
      rate: STEP_PAGES,
      progress({ totalPages, remainingPages }) {
        signal.throwIfAborted();
        onProgress(totalPages - remainingPages, totalPages);
      },
    });
  } finally {
    db.close();
  }
}

function isEmpty(path: string): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    message: `${path} is empty: it was never used, or it has lost what was in it. It was not copied.`,
    hint: "If something is missing, restore a backup that is older.",
  });
}

/** Makes a store that no process has open one file, without the leases of those that had it open. */
export function settleStore(path: string): void {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  try {
    db.exec("DELETE FROM lease; PRAGMA journal_mode = DELETE;");
  } finally {
    db.close();
  }
}
