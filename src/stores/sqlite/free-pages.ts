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

const INCREMENTAL = 2;

function pragma(db: Connection, name: "auto_vacuum" | "freelist_count" | "page_count"): number {
  return db.get<Record<string, number>>(`PRAGMA ${name}`)?.[name] ?? 0;
}
