import type { KnowledgeEntry, KnowledgeKind, Likeness } from "../../core/knowledge.ts";

/** An entry as a store keeps it. */
export interface KnowledgeRow {
  /** Grows with every entry that is added. */
  readonly key: number;
  readonly entry: KnowledgeEntry;
  /** Grows with every change that memory needs to know. */
  readonly version: number;
  /** The version that memory has; 0 for none. */
  readonly heard: number;
  readonly signature?: readonly number[];
}

/** Rows, and hashes to find them. Every method is a lookup, not a scan. */
export interface KnowledgeRows {
  byId(id: string): KnowledgeRow | undefined;
  /** The row with this hash; `"forgotten"` when that row was forgotten and must not come back. */
  byHash(hash: string): KnowledgeRow | "forgotten" | undefined;
  /** Some rows that share a band. */
  byBands(bands: readonly string[]): readonly KnowledgeRow[];
  insert(entry: KnowledgeEntry, hashes: Hashes): void;
  /** Saves a changed row. New hashes replace the old ones. */
  save(row: KnowledgeRow, hashes?: Hashes): void;
  /** Removes a row. With `forget`, its hashes stay, so that it does not come back. */
  remove(row: KnowledgeRow, options?: { readonly forget?: boolean }): void;
  /** Keeps out what has this hash, although no row had it. */
  forgetHash(hash: string): void;
  /** Lets forgotten rows with these hashes come back. */
  allow(hashes: readonly string[]): void;
  count(kind: KnowledgeKind): number;
  /** The oldest of a kind that is not pinned. With `unused`, one that was never used. */
  oldest(kind: KnowledgeKind, options: { readonly unused: boolean }): KnowledgeRow | undefined;
  /** Notes for memory that an entry was deleted. */
  gone(id: string): void;
  /** Notes that sources of rules have changed. */
  revise(): void;
}

export interface Hashes {
  readonly keys: readonly string[];
  readonly likeness?: Likeness;
}
