import type { KnowledgeEntry, KnowledgeKind, Likeness } from "../../core/knowledge.ts";

/** An entry as a store keeps it. */
export interface KnowledgeRow {
  /** Grows with every entry that is added. */
  readonly key: number;
  readonly entry: KnowledgeEntry;
  /** Grows with every change that memory has to hear of. */
  readonly version: number;
  /** The version that memory has heard of; 0 for none. */
  readonly heard: number;
  readonly signature?: readonly number[];
}

/** Rows, and the hashes by which they are found. Everything is looked up; nothing is scanned. */
export interface KnowledgeRows {
  byId(id: string): KnowledgeRow | undefined;
  /** The row that has this hash; `"forgotten"` when the one that had it must not come back. */
  byHash(hash: string): KnowledgeRow | "forgotten" | undefined;
  /** Some rows that share a band. */
  byBands(bands: readonly string[]): readonly KnowledgeRow[];
  insert(entry: KnowledgeEntry, hashes: Hashes): void;
  /** Saves a changed row; with hashes, they replace those that it had. */
  save(row: KnowledgeRow, hashes?: Hashes): void;
  /** Removes a row; the hashes that are to be forgotten stay without it. */
  remove(row: KnowledgeRow, options?: { readonly forget?: boolean }): void;
  /** Nothing with one of these hashes was forgotten any more. */
  allow(hashes: readonly string[]): void;
  count(kind: KnowledgeKind): number;
  /** The first of a kind that is not pinned and, if so wanted, that nobody used. */
  oldest(kind: KnowledgeKind, options: { readonly unused: boolean }): KnowledgeRow | undefined;
  /** Memory has to hear that this is gone. */
  gone(id: string): void;
  /** What rules are made of has changed. */
  revise(): void;
}

export interface Hashes {
  readonly keys: readonly string[];
  readonly likeness?: Likeness;
}
