import { DatabaseSync } from "node:sqlite";
import { errorText, SessionError } from "../../core/errors.ts";
import { earlierIndexes, renewalNote } from "../earlier-indexes.ts";
import { isChangedSnapshot } from "../sql/sql-session-store.ts";
import { CHECKED_COLUMNS, type CheckedEntry, changedEntries, lostEntries } from "../stored-json.ts";
import { changedEvents } from "./event-commands.ts";
import { requireSqlite, sqliteVersion, versionOf } from "./open-connection.ts";
import { knownFailure } from "./store-failure.ts";

interface SnapshotRow {
  readonly session_id: string;
  readonly snapshot: string;
}

/** The log has all that a snapshot has, so a session with a damaged one goes on. Lists show what the snapshot says. */
function changedSnapshots(rows: Iterable<SnapshotRow>): readonly string[] {
  const problems: string[] = [];
  for (const { session_id: id, snapshot } of rows) {
    if (!isChangedSnapshot(snapshot)) continue;
    problems.push(
      `The snapshot of session ${id} has changed since it was stored. Its log is not affected. \`rkat repair\` makes it again, and so does the next change of the session.`,
    );
    if (problems.length === PROBLEMS_MAX) break;
  }
  return problems;
}

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

const PROBLEMS_MAX = 10;

/** What is to be known of the indexes in a sound file: that they are made again. */
export function examineIndexes(file: string): string | undefined {
  return reading(file, (db) => renewalNote(db.prepare(earlierIndexes()).get() as never));
}

function reading<Result>(file: string, look: (db: DatabaseSync) => Result): Result {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return look(db);
  } finally {
    db.close();
  }
}

/** The problems of a store's file; empty when it is sound. Changes nothing in it. */
export function examineStore(file: string): readonly string[] {
  try {
    return reading(file, (db) => problemsOf(db, file));
  } catch (error) {
    const known = knownFailure(error);
    return [known ? `it ${known.what} (${errorText(error)})` : errorText(error)];
  }
}

function problemsOf(db: DatabaseSync, path: string): readonly string[] {
  const get = <Row>(sql: string) => db.prepare(sql).get() as Row | undefined;
  if (versionOf({ path, get }) === 0) {
    return ["It is empty: it was never used, or it has lost what was in it."];
  }
  const rows = db.prepare(`PRAGMA integrity_check(${PROBLEMS_MAX})`).all();
  const damage = rows.map((row) => String(row.integrity_check)).filter((line) => line !== "ok");
  if (damage.length > 0) return damage;
  const iterate = <Row>(sql: string) => db.prepare(sql).iterate() as Iterable<Row>;
  const changed = [
    ...changedEvents({ iterate }, PROBLEMS_MAX),
    ...changedSnapshots(iterate("SELECT session_id, snapshot FROM snapshot ORDER BY session_id")),
  ];
  // An older store has no checksums yet.
  const has = get("SELECT 1 FROM pragma_table_info('knowledge_entry') WHERE name = 'checksum'");
  if (!has) return changed;
  const entries = iterate<CheckedEntry>(`SELECT ${CHECKED_COLUMNS} FROM knowledge_entry`);
  const { lost = 0 } = get<{ lost: number }>(lostEntries()) ?? {};
  return [...changed, ...changedEntries(entries, lost, PROBLEMS_MAX)];
}
