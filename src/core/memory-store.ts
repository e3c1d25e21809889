/**
 * Semantic memory: texts of past conversations, found by what they say.
 *
 * A store belongs to one project and one namespace; it never shows entries of
 * another namespace.
 *
 * Contract:
 * - What is added is found by its own words.
 * - An id is stored once, however often and by however many it is added.
 * - A batch is stored whole or not at all.
 * - Scores run from 0 (unrelated) to 1 (the same text), best first.
 * - Unrelated text is not a result.
 * - A blank query, or a limit of 0, finds nothing.
 * - Filters hold.
 * - What is deleted is found no more.
 * - Any text can be stored and asked for: every script, operators, quotes, nothing but punctuation.
 */
export interface MemoryStore {
  /** Stores entries whose ids are new; returns how many those were. Blank content is never stored. */
  add(entries: readonly MemoryEntry[]): Promise<number>;
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  /** Of the whole store, or of one session. */
  stats(of?: { readonly sessionId: string }): Promise<MemoryStats>;
  /** Deletes by id or by session; returns how many entries went. */
  delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number>;
  close(): Promise<void>;
}

export type MemoryKind = "message" | "fact" | "correction" | "rule";

export interface MemoryEntry {
  /** Up to 200 characters, unique in the store. */
  readonly id: string;
  readonly content: string;
  /** Any text up to 200 characters. */
  readonly sessionId: string;
  /** The turn of the session that the text belongs to, from 0; `null` when it belongs to none. */
  readonly turn: number | null;
  readonly kind: MemoryKind;
  /** When it was said, ISO 8601. */
  readonly time?: string;
  readonly role?: string;
  readonly speaker?: string;
  /** The events of the session's log that it came from. */
  readonly source?: { readonly from: number; readonly to: number };
}

export interface MemoryQuery {
  readonly query: string;
  /** Results at the most. */
  readonly limit: number;
  readonly sessionId?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  /** ISO 8601, both included; entries without a time are left out when either is given. */
  readonly since?: string;
  readonly until?: string;
  /** Results score at least this; a store has a floor of its own when it is not given. */
  readonly minScore?: number;
}

export interface MemoryHit extends MemoryEntry {
  readonly score: number;
}

export interface MemoryStats {
  readonly entries: number;
  readonly sessions: number;
  /** UTF-8 bytes of all content. */
  readonly textBytes: number;
  /** What searches it, in words a person understands. */
  readonly index: string;
}
