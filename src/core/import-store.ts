import type { NewEvent } from "./event.ts";
import type { SessionSnapshot } from "./session-snapshot.ts";

/**
 * The imports from other programs: which messages, and how far each file was read.
 *
 * Contract:
 * - A commit is stored whole or not at all, in the log too.
 * - Commits are done in the order in which they are asked for. The next one need not wait for the one before.
 * - A message is stored once: a batch with one that is known is refused.
 * - What is forgotten or deleted stays known, so it is not imported again.
 * - The state of a file is read as it was saved.
 */
export interface ImportStore {
  /** The messages among these that were imported, by their ids in the source. */
  known(ids: readonly string[]): Promise<ReadonlySet<string>>;

  /**
   * Appends to the logs of sessions, one batch for each, and saves their snapshots and the states of files. A power
   * failure may undo the last commits that have ids or files, so that these are imported again, unless `durable` is
   * set: then it and all commits before are on the disk.
   *
   * Returns the position of the first event in the log of all sessions, when the others have the positions behind it.
   *
   * @throws SessionError `SESSION_CONFLICT` when a log has grown, or a message is known: another
   *   import was faster.
   */
  commit(
    batches: readonly ImportBatch[],
    files?: ReadonlyMap<string, ImportedFile>,
    options?: { readonly durable?: boolean },
  ): Promise<number | undefined>;

  /** The state of each file, by its path. */
  files(): Promise<ReadonlyMap<string, ImportedFile>>;
}

/** The imports, for a copy of them in another store. A message whose key was restored is known. */
export interface ImportKeys {
  /** Up to `limit` keys of imported messages (`importKey`), in order. */
  keys(after: string, limit: number): Promise<readonly string[]>;
  /** Makes the messages with these keys known. */
  restore(keys: readonly string[]): Promise<void>;
}

/**
 * The part of a message's id that a store keeps, as hexadecimal digits. Ids are of any length, and the chance
 * that two share 16 bytes is nil.
 */
export function importKey(id: string): string {
  // Loaded here: a search loads this file, and Node's crypto takes as long as a search.
  const { hash } = process.getBuiltinModule("node:crypto");
  return hash("sha256", id, "hex").slice(0, 32);
}

export interface ImportBatch {
  readonly sessionId: string;
  /** The last event of the session's log; 0 for a new session. */
  readonly lastSeq: number;
  readonly events: readonly NewEvent[];
  /** The session after these events. */
  readonly snapshot: SessionSnapshot;
  /** Ids in the source of the messages in the events. */
  readonly ids: readonly string[];
}

/** A file that was read. */
export interface ImportedFile {
  readonly agent: string;
  /** Says whether the file has changed: its size, time and place on the disk. */
  readonly stamp: string;
  readonly sessions: number;
  readonly messages: number;
  /** Whether the words of subagents in it are for memory. */
  readonly subagents?: true;
  /** The other stores that have sessions of it. Without one of them, the file is read again. */
  readonly places?: readonly string[];
  /** Where the next reading can begin, if the file has only grown. */
  readonly readOn?: {
    readonly offset: number;
    readonly line: number;
    /** How many messages are before it. */
    readonly messages: number;
    /** A hash of the last bytes before `offset`. Other bytes there mean that the file was written again. */
    readonly hash: string;
    readonly state?: unknown;
  };
}
