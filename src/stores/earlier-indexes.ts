import { INDEX_VERSION } from "../indexing/port/asking.ts";

/** The entries of indexes that an earlier rkat made, and how many of them are indexed again. */
export interface EarlierIndexes {
  readonly entries: number | null;
  readonly renewed: number | null;
}

/** Asks for those of all namespaces. `schema` is put in front of the table. */
export function earlierIndexes(schema = ""): string {
  return `SELECT sum(stored) AS entries, sum(coalesce(rebuilt + 1, 0)) AS renewed
    FROM ${schema}memory_namespace WHERE version < ${INDEX_VERSION}`;
}

/** What a person is told of them; `undefined` when there are none. */
export function renewalNote(found: EarlierIndexes | undefined): string | undefined {
  const entries = Number(found?.entries ?? 0);
  if (entries === 0) return undefined;
  return `an earlier rkat made it. ${Number(found?.renewed ?? 0)} of ${entries} entries are indexed again, in the background of what has the store open; until then they are found as before. \`rkat memory reindex\` does it now`;
}
