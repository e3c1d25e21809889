import type { KnowledgeEntry, KnowledgeKind, Likeness, NewKnowledge } from "./knowledge.ts";
import type { EarlierText, KeptBeside } from "./memory-store.ts";

/**
 * What a project has learned: facts, corrections, preferences and rules.
 *
 * A store belongs to one project and one namespace, and outlives its sessions.
 * Its texts are also entries of the memory store, where searches find them. This store knows which
 * changes memory does not have yet.
 *
 * Contract:
 * - What is recorded is listed, newest first, and read by its id.
 * - The same thing heard again is one entry with a higher count, and its newest text.
 * - Things that are nearly the same are one entry.
 * - A batch of the log is recorded once, however many record it.
 * - Beyond its limit the oldest entry of a kind is evicted: never a pinned one, and used ones last.
 * - What tools, models and transcripts say goes first, and evicts nothing of the user's.
 * - An edited text stays as it was edited.
 * - What was forgotten is not recorded again, unless it is added by hand.
 * - `unheard` lists everything new, changed or deleted until `heard` confirms it.
 * - Rules are saved only if their sources have not changed meanwhile.
 * - Facts of a deleted session go with it; what the user taught stays.
 * - What is restored is merged, evicted and kept out like what it was copied from.
 * - Restoring a copy again changes nothing.
 */
export interface KnowledgeStore {
  /** The log position up to which it was recorded. */
  position(): Promise<number>;
  /** Records a part of the log. Returns false, and does nothing, when another process was first. */
  record(batch: RecordedBatch): Promise<boolean>;
  /** Adds by hand, even what was forgotten. Returns the entries as they are now. */
  add(
    entries: readonly NewKnowledge[],
    limits: KnowledgeLimits,
  ): Promise<readonly KnowledgeEntry[]>;
  list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]>;
  /** The entries with these ids, in the order of the ids. Unknown ids are skipped. */
  read(ids: readonly string[]): Promise<readonly KnowledgeEntry[]>;
  /** Changes an entry. Returns `undefined` when there is none. */
  edit(id: string, change: KnowledgeChange): Promise<KnowledgeEntry | undefined>;
  /** Deletes entries for good: they are not recorded again. Returns how many there were. */
  forget(ids: readonly string[]): Promise<number>;
  /** Deletes the facts of a deleted session. */
  deleteSession(sessionId: string): Promise<void>;
  markUsed(ids: readonly string[], time: string): Promise<void>;
  counts(): Promise<Readonly<Record<KnowledgeKind, number>>>;

  /** A count of changes to the sources of rules, now and when rules were last saved. */
  revision(): Promise<{ readonly current: number; readonly distilled: number }>;
  /** Replaces all distilled rules. Returns false when the revision has changed. */
  saveRules(revision: number, rules: readonly NewKnowledge[]): Promise<boolean>;

  /** Changes that memory does not have yet, at most `limit` of each sort. */
  unheard(limit: number): Promise<Unheard>;
  /** Confirms that memory has these changes. */
  heard(unheard: Unheard): Promise<void>;

  /** All that it keeps, in one state. */
  copy(): Promise<KnowledgeCopy>;
  /**
   * Adds what a copy has, and takes its position. An entry that says the same as one of this store is
   * left out, unless it is the same entry: then the newer one stays. All that is new is unheard.
   */
  restore(copy: KnowledgeCopy): Promise<void>;
  close(): Promise<void>;
}

/** The content of a knowledge store, for another store. */
export interface KnowledgeCopy {
  readonly position: number;
  /** In the order in which they were added. */
  readonly entries: readonly CopiedKnowledge[];
  /** Hashes of what is not recorded again. */
  readonly forgotten: readonly string[];
}

export interface CopiedKnowledge {
  readonly entry: KnowledgeEntry;
  readonly keys: readonly string[];
  readonly likeness?: Likeness;
}

export interface RecordedBatch {
  /** The position of the store before and after the batch. */
  readonly from: number;
  readonly to: number;
  readonly entries: readonly NewKnowledge[];
  readonly limits: KnowledgeLimits;
}

export interface KnowledgeLimits {
  /** Entries of a kind at the most. */
  readonly max: Readonly<Record<KnowledgeKind, number>>;
  /** Which entry is evicted first: the oldest one, or the oldest one not used yet. */
  readonly eviction: "fifo" | "spare_used";
}

export interface KnowledgePage {
  readonly kind?: KnowledgeKind;
  readonly pinned?: boolean;
  readonly tag?: string;
  /** Entries whose text has all of these words. */
  readonly query?: string;
  readonly limit: number;
  /** The id of the last entry of the page before. */
  readonly after?: string;
}

export interface KnowledgeChange {
  readonly content?: string;
  /** The part of a correction's content that the user wanted done. */
  readonly goal?: string;
  readonly earlier?: readonly EarlierText[];
  readonly keeps?: readonly KeptBeside[];
  /** Hashes of the new content. */
  readonly keys?: readonly string[];
  readonly tags?: readonly string[];
  readonly pinned?: boolean;
}

export interface Unheard {
  readonly changed: readonly { readonly entry: KnowledgeEntry; readonly version: number }[];
  /** Ids of what is gone. */
  readonly gone: readonly string[];
}
