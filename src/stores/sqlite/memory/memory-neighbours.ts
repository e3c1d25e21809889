import type { MemoryEntry } from "../../../core/memory-store.ts";
import type { Connection } from "../connection.ts";
import { entryOf, type MemoryRow, SELECT_MEMORY } from "./memory-row.ts";
import { runsOf } from "./memory-slots.ts";

/** So many entries of a session before and after one of them, in the order of the session. */
export function neighboursOf(
  db: Connection,
  namespace: number,
  row: Pick<MemoryRow, "session" | "slot">,
  count: number,
): { readonly before: readonly MemoryEntry[]; readonly after: readonly MemoryEntry[] } {
  const runs = runsOf(db, namespace, row.session);
  const own = runs.findIndex(({ first, size }) => first <= row.slot && row.slot < first + size);
  const before: MemoryRow[] = [];
  for (let at = own; at >= 0 && before.length < count; at -= 1) {
    const { first = 0, used = 0 } = runs[at] ?? {};
    const last = at === own ? row.slot - 1 : first + used - 1;
    before.push(...db.all<MemoryRow>(BEFORE, namespace, first, last, count - before.length));
  }
  const after: MemoryRow[] = [];
  for (let at = own; at >= 0 && at < runs.length && after.length < count; at += 1) {
    const { first = 0, used = 0 } = runs[at] ?? {};
    const start = at === own ? row.slot + 1 : first;
    after.push(
      ...db.all<MemoryRow>(AFTER, namespace, start, first + used - 1, count - after.length),
    );
  }
  return { before: before.reverse().map(entryOf), after: after.map(entryOf) };
}

const BETWEEN = `${SELECT_MEMORY} WHERE entry.namespace = ? AND slot BETWEEN ? AND ? ORDER BY slot`;
const BEFORE = `${BETWEEN} DESC LIMIT ?`;
const AFTER = `${BETWEEN} LIMIT ?`;
