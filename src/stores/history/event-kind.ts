import { INDEXED_KINDS, type IndexedKind } from "../../core/event-store.ts";

/**
 * The beginning of a kind's name, by which databases index the events of few kinds:
 *
 *     {"type":"compaction_completed", …
 *              └────────┘ twelve characters, which tell all kinds apart
 */
export function kindMark(kind: IndexedKind): string {
  return kind.slice(0, MARK_LENGTH);
}

const MARK_LENGTH = 12;

/** The mark of an event in a column of JSON, in SQL. An event of a kind that is not indexed may have any. */
export const KIND_MARK = `substr(event, ${'{"type":"'.length + 1}, ${MARK_LENGTH})`;

/** The condition of the index, which a statement that uses it repeats. */
export const HAS_KIND_MARK = `${KIND_MARK} in (${INDEXED_KINDS.map((kind) => `'${kindMark(kind)}'`).join(", ")})`;
