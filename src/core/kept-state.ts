import type { ContentBlock } from "./message.ts";

/** The task record as the model sees it, and its place in the history. */
export interface ShownTask {
  /** Id of the message before it; 0 when it comes first. */
  readonly after: number;
  readonly text: string;
}

/** A call that the user denied in this session, and why. */
export interface DeniedCall {
  readonly tool: string;
  /** Its arguments as JSON, shortened. */
  readonly args: string;
  /** The user's own words; empty when there are none. */
  readonly reason: string;
}

/** A standing instruction that holds in this session. */
export interface HeldInstruction {
  readonly id: number;
  /** Id of the message that gave it. */
  readonly message: number;
  /** The user's words. */
  readonly text: string;
  /** The name of who said it, if the log has it. */
  readonly by?: string;
}

/** Records of memory as the model sees them, and their place in the history. */
export interface ShownRecords {
  /** Id of the prompt that they stand before. */
  readonly before: number;
  readonly text: string;
  /** Ids of the records in memory. */
  readonly ids: readonly string[];
}

/** Records of memory, as an event of the log has them. */
export interface PlacedRecords {
  /** Its `seq`. */
  readonly event: number;
  /** Id of the prompt that they stand before. */
  readonly before: number;
  /** Ids of those that are shown. */
  readonly ids: readonly string[];
}

/** A message that was brought back, as the model sees it, and its place in the history. */
export interface ShownMessage {
  /** Its id; 0 in an event of a fork, for one that is only in the other session's log. */
  readonly message: number;
  /** Id of the message before it; 0 when it comes first. */
  readonly after: number;
  readonly text: string;
  readonly images?: readonly ContentBlock[];
  /** Compactions keep it. */
  readonly pinned?: true;
}

/** Where a message was said that a fork began with. */
export interface SaidIn {
  readonly session: string;
  /** Its id there. */
  readonly message: number;
}

/** A summary that another session wrote. When its log loses a text, the summary is written again here too. */
export interface InheritedSummary {
  readonly session: string;
  /** `seq` of the compaction there. */
  readonly event: number;
  /** Without its prefix. */
  readonly text: string;
  /** Its place in the history. */
  readonly index: number;
}

/** A session that began with the history of this one, as a session's state and its snapshot have it. */
export interface KnownFork {
  readonly session: string;
  readonly event: number;
}

/**
 * The lines that a coding agent's next window is told of a session, made of the log up to `seq`. The log may have moved
 * since.
 */
export interface NextWindow {
  readonly seq: number;
  readonly lines: readonly string[];
}
