import { DatabaseSync } from "node:sqlite";
import { errorText, SessionError } from "../../core/errors.ts";
import { requireSqlite, sqliteVersion } from "./require-sqlite.ts";

/** The version of Node's SQLite, and the problem when rkat cannot use it. */
export function examineSqlite(): { readonly version: string; readonly problem?: string } {
  const version = sqliteVersion();
  try {
    requireSqlite(version);
    return { version };
  } catch (error) {
    return { version, problem: SessionError.from(error).message };
  }
}

/** The problems of a store's file; empty when it is sound. */
export function examineStore(file: string): readonly string[] {
  try {
    const db = new DatabaseSync(file, { readOnly: true });
    try {
      const rows = db.prepare("PRAGMA integrity_check(10)").all();
      return rows.map((row) => String(row.integrity_check)).filter((line) => line !== "ok");
    } finally {
      db.close();
    }
  } catch (error) {
    return [errorText(error)];
  }
}
