import type { MemoryEntry, MemoryPage } from "../../../core/memory-store.ts";
import { memoryFilter } from "../../memory-filter.ts";
import type { Connection } from "../connection.ts";
import { keysOf, openNamespace } from "./memory-namespace.ts";
import { entryOf, type MemoryRow, SELECT_MEMORY } from "./memory-row.ts";
import { sessionNumber } from "./memory-session.ts";
import { runsOf } from "./memory-slots.ts";

const BY_ID = `${SELECT_MEMORY} WHERE entry.namespace = ? AND entry.id = ?`;
const AFTER = `${SELECT_MEMORY} WHERE key > ? AND key <= ? ORDER BY key`;
const OF_SESSION = `${SELECT_MEMORY}
  WHERE entry.namespace = ? AND slot BETWEEN ? AND ? AND key > ? ORDER BY slot`;

/** The entries with these ids that there are, in the order of the ids. */
export function readMemories(
  db: Connection,
  namespace: string,
  ids: readonly string[],
): readonly MemoryEntry[] {
  const number = openNamespace(db, namespace)?.number ?? -1;
  return ids.flatMap((id) => db.all<MemoryRow>(BY_ID, number, id)).map(entryOf);
}

export function listMemories(
  db: Connection,
  name: string,
  page: MemoryPage,
): readonly MemoryEntry[] {
  return db.read(() => {
    const namespace = openNamespace(db, name);
    if (!namespace) return [];
    const { first, last } = keysOf(namespace);
    const before =
      page.after === undefined
        ? first - 1
        : db.get<MemoryRow>(BY_ID, namespace.number, page.after)?.key;
    // What came after an entry that is no more is not known.
    if (before === undefined) return [];
    const wanted = memoryFilter(page);
    const found: MemoryEntry[] = [];
    const rows =
      page.sessionId === undefined
        ? db.iterate<MemoryRow>(AFTER, before, last)
        : sessionRows(db, namespace.number, page.sessionId, before);
    for (const row of rows) {
      if (found.length >= page.limit) break;
      const entry = entryOf(row);
      if (wanted(entry)) found.push(entry);
    }
    return found;
  });
}

/** A session's slots are in the order in which its entries were stored, run after run. */
function* sessionRows(
  db: Connection,
  namespace: number,
  sessionId: string,
  before: number,
): Generator<MemoryRow> {
  const session = sessionNumber(db, namespace, sessionId);
  if (session === undefined) return;
  for (const { first, used } of runsOf(db, namespace, session)) {
    yield* db.iterate<MemoryRow>(OF_SESSION, namespace, first, first + used - 1, before);
  }
}
