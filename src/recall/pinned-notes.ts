import type { MemoryRecalled } from "../core/event.ts";
import { type MemoryEntry, type MemoryStore, NO_SESSION } from "../core/memory-store.ts";

/** Marked entries that are looked at for those that are pinned. They have to fit a window, so there are few. */
const MARKED_MAX = 200;

/** The notes that a person wants each session to begin with, asked for or not. */
export async function pinnedNotes(
  memory: Pick<MemoryStore, "list">,
): Promise<readonly MemoryEntry[]> {
  const page = { marked: true, sessionId: NO_SESSION.added, limit: MARKED_MAX } as const;
  return (await memory.list(page)).filter(({ pinned }) => pinned);
}

/** Pinned notes, and after them what was found, each once. */
export function withPinned(
  pinned: MemoryRecalled | undefined,
  found: MemoryRecalled | undefined,
): MemoryRecalled | undefined {
  if (!pinned || !found) return found ?? pinned;
  const ids = new Set(pinned.records.map(({ id }) => id));
  const others = found.records.filter(({ id }) => !ids.has(id));
  return {
    ...found,
    records: [...pinned.records, ...others],
    tokens: pinned.tokens + found.tokens,
  };
}
