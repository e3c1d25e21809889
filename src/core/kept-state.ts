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
}

/** Records of memory as the model sees them, and their place in the history. */
export interface ShownRecords {
  /** Id of the prompt that they stand before. */
  readonly before: number;
  readonly text: string;
  /** Ids of the records in memory. */
  readonly ids: readonly string[];
}

/** A message that was brought back, as the model sees it, and its place in the history. */
export interface ShownMessage {
  /** Its id. */
  readonly message: number;
  /** Id of the message before it; 0 when it comes first. */
  readonly after: number;
  readonly text: string;
  readonly images?: readonly ContentBlock[];
  /** Compactions keep it. */
  readonly pinned?: true;
}
