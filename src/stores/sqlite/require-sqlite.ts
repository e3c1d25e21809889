import { DatabaseSync } from "node:sqlite";
import { SessionError } from "../../core/errors.ts";

/** Older libraries may corrupt a WAL file that several processes use: https://sqlite.org/wal.html#walresetbug */
const OLDEST = "3.51.3";

/**
 * Makes sure that Node's SQLite library can be trusted with a store.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when it is too old.
 */
export function requireSqlite(version: string = sqliteVersion()): void {
  if (compareVersions(version, OLDEST) >= 0) return;
  throw new SessionError("SESSION_STORE_ERROR", {
    detail: `This Node brings SQLite ${version}, whose WAL reset bug corrupts stores that several processes use; install a Node that brings SQLite ${OLDEST} or newer, such as the latest 22, 24 or 26.`,
    hint: "Install the latest Node 22, 24 or 26.",
  });
}

/** The version of Node's SQLite library. */
export function sqliteVersion(): string {
  const db = new DatabaseSync(":memory:");
  try {
    return String(db.prepare("SELECT sqlite_version() AS version").get()?.version);
  } finally {
    db.close();
  }
}

function compareVersions(one: string, other: string): number {
  const [left, right] = [one, other].map((version) => version.split(".").map(Number));
  const differing = left?.findIndex((part, index) => part !== right?.[index]) ?? -1;
  return differing < 0 ? 0 : (left?.[differing] ?? 0) - (right?.[differing] ?? 0);
}
