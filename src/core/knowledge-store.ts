import type { KnowledgeEntry, KnowledgeKind, NewKnowledge } from "./knowledge.ts";

/**
 * What a project has learned: facts, corrections, preferences and rules.
 *
 * A store belongs to one project and one namespace, and outlives its sessions.
 * Its texts are also entries of the memory store, so that they are found; the
 * store knows which of them memory has yet to hear of.
 *
 * Contract:
 * - What is recorded is listed, newest first, and read by its id.
 * - The same thing heard again is one entry with a higher count, and its newest text.
 * - Things that are nearly the same are one entry.
 * - A batch of the log is recorded once, however many record it.
 * - Beyond its limit the oldest of a kind goes, but nothing pinned, and nothing used while there is other.
 * - An edited text stays as it was edited.
 * - What was forgotten is not recorded again, unless somebody adds it by hand.
 * - Memory is told of everything that is new, changed or gone, until it has heard of it.
 * - Rules are saved only if nothing they rest on has changed meanwhile.
 * - Facts of a deleted session go with it; what the user taught stays.
 */
export interface KnowledgeStore {
  /** Place in the log of all sessions up to which this was recorded. */
  position(): Promise<number>;
  /** Records what a part of the log teaches; false, and nothing done, when another was first. */
  record(batch: RecordedBatch): Promise<boolean>;
  /** Adds by hand, forgotten or not; returns the entries as they are now. */
  add(
    entries: readonly NewKnowledge[],
    limits: KnowledgeLimits,
  ): Promise<readonly KnowledgeEntry[]>;
  list(page: KnowledgePage): Promise<readonly KnowledgeEntry[]>;
  /** The entries with these ids that there are, in the order of the ids. */
  read(ids: readonly string[]): Promise<readonly KnowledgeEntry[]>;
  /** Changes an entry; `undefined` when there is none. */
  edit(id: string, change: KnowledgeChange): Promise<KnowledgeEntry | undefined>;
  /** Removes entries, and what says that they must not come back. Returns how many there were. */
  forget(ids: readonly string[]): Promise<number>;
  /** Removes the facts of a session that is deleted. */
  deleteSession(sessionId: string): Promise<void>;
  markUsed(ids: readonly string[], time: string): Promise<void>;
  counts(): Promise<Readonly<Record<KnowledgeKind, number>>>;

  /** Grows with every change to what rules are made of; and what it was when rules were last saved. */
  revision(): Promise<{ readonly current: number; readonly distilled: number }>;
  /** Puts these in the place of all rules that were distilled; false when the revision is another by now. */
  saveRules(revision: number, rules: readonly NewKnowledge[]): Promise<boolean>;

  /** What memory has yet to hear of, at most so many of each. */
  unheard(limit: number): Promise<Unheard>;
  /** Memory has heard of it. */
  heard(unheard: Unheard): Promise<void>;
  close(): Promise<void>;
}

export interface RecordedBatch {
  /** The position that the store has to be at, and where it is afterwards. */
  readonly from: number;
  readonly to: number;
  readonly entries: readonly NewKnowledge[];
  readonly limits: KnowledgeLimits;
}

export interface KnowledgeLimits {
  /** Entries of a kind at the most. */
  readonly max: Readonly<Record<KnowledgeKind, number>>;
  /** Which goes first: the oldest, or the oldest that nobody has used. */
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
  /** Of a correction: what the content says that the user wanted done. */
  readonly goal?: string;
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
