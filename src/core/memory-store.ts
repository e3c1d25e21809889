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
 * - `list` gives every entry once, in the order in which they were stored.
 * - An index that was built anew finds what the one before found.
 */
export interface MemoryStore {
  /** Stores entries whose ids are new; returns how many those were. Blank content is never stored. */
  add(entries: readonly MemoryEntry[]): Promise<number>;
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  /** The entries with these ids that there are, in the order of the ids. */
  read(ids: readonly string[]): Promise<readonly MemoryEntry[]>;
  /** Entries page by page, in the order in which they were stored. */
  list(page: MemoryPage): Promise<readonly MemoryEntry[]>;
  /** Of the whole store, or of one session. */
  stats(of?: { readonly sessionId: string }): Promise<MemoryStats>;
  /** Deletes by id or by session; returns how many entries went. */
  delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number>;
  /** Compares the index with the entries, and says what is wrong. */
  verify(watch?: Watch): Promise<MemoryCheck>;
  /** Builds the index anew from the entries; search goes on meanwhile. */
  reindex(watch?: Watch): Promise<void>;
  close(): Promise<void>;
}

export const MEMORY_KINDS = ["message", "fact", "correction", "preference", "rule"] as const;

export type MemoryKind = (typeof MEMORY_KINDS)[number];

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

/** Which entries are meant, whatever they say. */
export interface MemoryFilter {
  readonly sessionId?: string;
  readonly role?: string;
  readonly kind?: MemoryKind;
  /** ISO 8601, both included; entries without a time are left out when either is given. */
  readonly since?: string;
  readonly until?: string;
}

export interface MemoryQuery extends MemoryFilter {
  /** Several are asked together: an entry scores what it scores best, and is one result. */
  readonly query: string | readonly string[];
  /** Results at the most. */
  readonly limit: number;
  /** Results score at least this; a store has a floor of its own when it is not given. */
  readonly minScore?: number;
  /** So many entries before and after each result, of the same session. Default 0. */
  readonly neighbours?: number;
  /** Says of each result how its score came about. */
  readonly explain?: boolean;
}

export interface MemoryPage extends MemoryFilter {
  readonly limit: number;
  /** The id of the last entry of the page before. */
  readonly after?: string;
}

export interface MemoryHit extends MemoryEntry {
  readonly score: number;
  /** What was said around it, in order; there when it was asked for. */
  readonly neighbours?: {
    readonly before: readonly MemoryEntry[];
    readonly after: readonly MemoryEntry[];
  };
  readonly explanation?: ScoreExplanation;
}

/** How a score came about: each part by its name, and what it gave. */
export interface ScoreExplanation {
  readonly parts: readonly ScorePart[];
}

export interface ScorePart {
  /** Such as `word`, `speaker`, `date`, `neighbour`, `session`, `role`, `vector`, `same text`. */
  readonly name: string;
  /** What it is about: the word, the speaker, the field. */
  readonly of?: string;
  /** What is added to the relevance, or what it is multiplied by. */
  readonly adds?: number;
  readonly times?: number;
}

export interface MemoryStats {
  readonly entries: number;
  readonly sessions: number;
  /** UTF-8 bytes of all content. */
  readonly textBytes: number;
  /** What searches it, in words a person understands. */
  readonly index: string;
  /** Bytes that text and index take, where they are on disk. */
  readonly diskBytes?: number;
  /** Of a store whose embedder is a trained model: who makes vectors, and how many passages have and lack one. */
  readonly vectors?: {
    readonly embedder: string;
    readonly embedded: number;
    readonly pending: number;
  };
}

export interface MemoryCheck {
  /** Entries that were looked at. */
  readonly entries: number;
  /** What is wrong, in words, the first hundred; empty when all is well. */
  readonly problems: readonly string[];
}

/** How long work is watched and stopped. */
export interface Watch {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
}
