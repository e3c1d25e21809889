import type { MemoryHit, MemoryQuery } from "../../../core/memory-store.ts";
import type { FoundEntry } from "../../../search/find-entries.ts";
import { textKey } from "../../../search/text-key.ts";
import { memoryFilter } from "../../memory-filter.ts";
import type { Connection } from "../connection.ts";
import { passageIndex } from "./memory-indexes.ts";
import { type MemoryNamespace, openNamespace } from "./memory-namespace.ts";
import { neighboursOf } from "./memory-neighbours.ts";
import type { MemoryPassageIndex } from "./memory-passage-index.ts";
import {
  entryOf,
  labelledRow,
  type MemoryRow,
  type NumberedRow,
  SELECT_NUMBERED,
} from "./memory-row.ts";
import { textMark } from "./memory-text-mark.ts";
import { type EmbeddedSearch, findByMeaning } from "./memory-vector-search.ts";

/**
 * Finds entries, best first. Those whose text is the query come before all others.
 *
 *     query ─► findEntries ─► slots and scores ─► entries ─► their neighbours
 *                  │
 *              the index: postings of the query's words, columns of all slots
 *
 * No text is read but that of results.
 */
export function searchMemories(
  db: Connection,
  namespace: string,
  query: MemoryQuery,
  cacheBytes?: number,
  embedded?: EmbeddedSearch,
): readonly MemoryHit[] {
  const texts = [query.query].flat().filter((text) => text.trim() !== "");
  if (query.limit <= 0 || texts.length === 0) return [];
  return db.read(() => {
    const opened = openNamespace(db, namespace);
    if (!opened) return [];
    const index = passageIndex(db, opened, cacheBytes);
    const same = sameTexts(db, opened, index, query, texts);
    const slots = new Set(same.map(({ slot }) => slot));
    const asked = { ...query, texts, limit: query.limit };
    const others = findByMeaning(db, opened.number, index, asked, embedded, cacheBytes)
      .filter(({ slot }) => !slots.has(slot))
      .slice(0, query.limit - same.length);
    const rows = rowsAt(
      db,
      index,
      opened,
      others.map(({ slot }) => slot),
    );
    const explanation = query.explain ? SAME_TEXT : {};
    return [
      ...same.map((row) =>
        hitOf(db, opened, row, { slot: row.slot, score: 1, ...explanation }, query),
      ),
      ...others.flatMap((found) => {
        const row = rows.get(found.slot);
        return row ? [hitOf(db, opened, row, found, query)] : [];
      }),
    ];
  });
}

const SAME_TEXT = { explanation: { parts: [{ name: "same text", adds: 1 }] } };

function hitOf(
  db: Connection,
  namespace: MemoryNamespace,
  row: MemoryRow,
  { score, explanation }: FoundEntry,
  { neighbours = 0 }: MemoryQuery,
): MemoryHit {
  return {
    ...entryOf(row),
    score,
    ...(neighbours > 0 ? { neighbours: neighboursOf(db, namespace.number, row, neighbours) } : {}),
    ...(explanation === undefined ? {} : { explanation }),
  };
}

/** Entries by their first slots. */
function rowsAt(
  db: Connection,
  index: MemoryPassageIndex,
  namespace: MemoryNamespace,
  slots: readonly number[],
): ReadonlyMap<number, MemoryRow> {
  if (slots.length === 0) return new Map();
  // The index knows what labels say: nobody has to look that up row by row.
  const label = (number: number) => index.label(number);
  const rows = new Map<number, MemoryRow>();
  for (const numbered of db.arrays(AT_SLOTS, namespace.number, JSON.stringify(slots))) {
    const row = labelledRow(numbered as unknown as NumberedRow, label);
    rows.set(row.slot, row);
  }
  return rows;
}

const AT_SLOTS = `${SELECT_NUMBERED}
  WHERE entry.namespace = ? AND slot IN (SELECT value FROM json_each(?))`;

/** Rows that are read at once of those that may have the text of a query. */
const PAGE = 100;

/** The entries whose text is one of the queries. */
function sameTexts(
  db: Connection,
  namespace: MemoryNamespace,
  index: MemoryPassageIndex,
  query: MemoryQuery,
  texts: readonly string[],
): MemoryRow[] {
  const wanted = memoryFilter(query);
  const found = new Map<number, MemoryRow>();
  for (const text of texts) {
    const mark = textMark(text);
    const { slots, hits } = index.postings(mark.word);
    const marked = [...slots.filter((_, at) => hits[at] === mark.hits)];
    const key = textKey(text);
    for (let at = 0; at < marked.length && found.size < query.limit; at += PAGE) {
      for (const row of rowsAt(db, index, namespace, marked.slice(at, at + PAGE)).values()) {
        if (wanted(entryOf(row)) && textKey(row.content) === key) found.set(row.key, row);
      }
    }
  }
  return [...found.values()].sort((one, other) => one.key - other.key).slice(0, query.limit);
}
