import type { Connection } from "./connection.ts";

/** Pages that are moved at a time. Other writers wait meanwhile. */
const STEP_PAGES = 256;
/** Fewer free ones are left for what is added next. */
const FREE_SHARE_MAX = 0.04;
const FREE_PAGES_MIN = 64;

/**
 * Makes the file a little smaller when much of it is free, as it is when a large segment has taken the
 * place of several; returns whether there is more to do. Files of a rkat that did not set
 * `auto_vacuum` stay as large as they are.
 */
export function giveFreePagesBack(db: Connection): boolean {
  if (pragma(db, "auto_vacuum") !== INCREMENTAL) return false;
  const free = pragma(db, "freelist_count");
  if (free < FREE_PAGES_MIN || free < FREE_SHARE_MAX * pragma(db, "page_count")) return false;
  db.write(() => db.exec(`PRAGMA incremental_vacuum(${STEP_PAGES})`));
  return true;
}

/** A file of so many bytes is written in a fifth of a second. */
const REWRITTEN_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Writes a small file anew. SQLite leaves copies of rows that it moves in unused parts of pages, also with
 * `secure_delete`, and deleting the row leaves the copy.
 */
export function rewriteSmallFile(db: Connection): void {
  const bytes = pragma(db, "page_count") * pragma(db, "page_size");
  if (bytes <= REWRITTEN_BYTES_MAX) db.exec("VACUUM");
}

const INCREMENTAL = 2;

function pragma(
  db: Connection,
  name: "auto_vacuum" | "freelist_count" | "page_count" | "page_size",
): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}
