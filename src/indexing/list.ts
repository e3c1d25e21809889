import {
  type EntryMarks,
  type MemoryEntry,
  type MemoryPage,
  type MemoryStats,
  memoryFilter,
} from "../core/memory-store.ts";
import { wellFormed } from "../text/well-formed.ts";
import {
  type Asking,
  ask,
  checked,
  Draft,
  openHead,
  question,
  together,
  transaction,
} from "./port/asking.ts";
import type { EntryRow } from "./port/index-store.ts";
import { entryOf, storedMarks } from "./segments/entries.ts";

/** The entries with these ids, in the order of the ids. */
export function* readEntries(ids: readonly string[]): Asking<readonly MemoryEntry[]> {
  const [head, rows] = yield* together(question("head"), question("entries", { ids }));
  return checked(head) ? rows.map(entryOf) : [];
}

/** Entries that are read at once when a filter leaves some out. */
const PAGE = 500;

/** Entries in the order in which they were stored. */
export function listEntries(asked: MemoryPage): Asking<readonly MemoryEntry[]> {
  const page = wellFormed(asked);
  return transaction("read", function* () {
    if (!(yield* openHead())) return [];
    const [last] = page.after === undefined ? [] : yield* ask("entries", { ids: [page.after] });
    // The place of a deleted entry is not known.
    if (page.after !== undefined && !last) return [];
    const after = last?.key ?? -1;
    const { sessionId: of, limit, after: _, marked, ...rest } = page;
    // There are few of them, so they are not looked for session by session.
    const sessionId = marked ? undefined : of;
    const isWanted = memoryFilter(marked && of !== undefined ? { ...rest, sessionId: of } : rest);
    const isFiltered = marked === true || Object.values(rest).some((value) => value !== undefined);
    const pages = sessionId === undefined ? [ALL] : behind(last, yield* rangesOf(sessionId));
    const found: MemoryEntry[] = [];
    for (const range of pages) {
      for (let seen = after, first = range.first; found.length < limit; ) {
        const size = isFiltered ? PAGE : Math.min(PAGE, limit - found.length);
        const rows: readonly EntryRow[] = yield* ask(
          "entries",
          range === ALL
            ? { after: seen, limit: size, ...(marked ? { marked } : {}) }
            : { first, last: range.last, after, limit: size },
        );
        const wanted = rows.map(entryOf).filter(isWanted);
        found.push(...wanted.slice(0, limit - found.length));
        const end = rows.at(-1);
        if (!end || rows.length < size) break;
        seen = end.key;
        first = end.slot + 1;
      }
    }
    return found;
  });
}

const ALL = { first: 0, last: Number.MAX_SAFE_INTEGER };

interface Range {
  readonly first: number;
  readonly last: number;
}

/** The part of a session's ranges behind an entry. All of it, if the entry is of another session. */
function behind(entry: EntryRow | undefined, ranges: readonly Range[]): readonly Range[] {
  if (!entry) return ranges;
  const { slot, passages } = entry;
  const own = ranges.findIndex(({ first, last }) => first <= slot && slot <= last);
  return ranges
    .slice(Math.max(0, own))
    .map((range, at) => (own >= 0 && at === 0 ? { ...range, first: slot + passages } : range));
}

/** The slots of a session, in the order in which its entries were stored. */
export function* rangesOf(sessionId: string): Asking<readonly Range[]> {
  const [session] = yield* ask("sessions", { ids: [sessionId] });
  return (session?.runs ?? []).map(({ first, used }) => ({ first, last: first + used - 1 }));
}

/** Gives an entry marks. Nothing is searched by them, so its words stay as they are. */
export function markEntry(id: string, marks: EntryMarks): Asking<boolean> {
  return transaction("write", function* () {
    const head = yield* openHead();
    const [row] = head ? yield* ask("entries", { ids: [id] }) : [];
    if (!head || !row) return false;
    const { sessionId: _, roleText: __, speakerText: ___, ...entry } = row;
    const draft = new Draft(head);
    draft.put("entries", { ...entry, marks: storedMarks(marks) });
    yield* draft.save();
    return true;
  });
}

/** Bytes of an entry's row and its keys besides the text, about. */
const ENTRY_BYTES = 120;

/** The statistics of one session, or of all with `null`. */
export function* memoryStats(sessionId: string | null): Asking<Omit<MemoryStats, "vectors">> {
  const [head, found] = yield* together(question("head"), question("stats", sessionId));
  const { entries, sessions, textBytes, segments, postings, passages, bytes } = found;
  const stats = { entries, sessions, textBytes };
  if (!checked(head) || sessionId !== null) return { ...stats, index: "words" };
  return {
    ...stats,
    index: `places of words: ${postings}, passages: ${passages}, segments: ${segments}`,
    diskBytes: textBytes + bytes + ENTRY_BYTES * entries,
  };
}
