import type { SlotRow } from "../../../vectors/nearest-vectors.ts";
import type { RowCache } from "../../../vectors/row-cache.ts";
import type { Connection } from "../connection.ts";
import { slotOfKey, vectorKey } from "./memory-vector-space.ts";

/** The rows of vectors by their slots, of those that have one. What is not in the cache comes to it. */
export function readVectorRows(
  db: Connection,
  space: number,
  slots: readonly number[],
  cache: RowCache,
): readonly SlotRow[] {
  const found: SlotRow[] = [];
  const unread: number[] = [];
  for (const slot of slots) {
    const row = cache.get(slot);
    if (row) found.push({ slot, row });
    else unread.push(slot);
  }
  if (unread.length === 0) return found;
  // One statement for all takes a third of the time of one for each.
  const read = db.arrays(
    `SELECT key, row FROM memory_vector
     WHERE key IN (SELECT value FROM json_each(?)) AND row IS NOT NULL`,
    JSON.stringify(unread.map((slot) => vectorKey(space, slot))),
  );
  for (const [key, row] of read as [number, Uint8Array][]) {
    const slot = slotOfKey(key);
    found.push({ slot, row });
    cache.set(slot, row);
  }
  return found;
}
