import type { AnchorReport, CompactionCompleted, CompactionFailure } from "../core/event.ts";
import type { CompactedNow, RecordedCompaction } from "./recorded-compactions.ts";

/** The result of a replay, as `rkat replay --json` prints it. */
export interface ReplayReport {
  readonly file: string;
  readonly session_id: string;
  /** Replayed turns. */
  readonly turns: number;
  /** All messages, those that left the history included. */
  readonly messages: number;
  /** Messages that compactions removed from the history. */
  readonly discarded_messages: number;
  /** Those of them that have text, so that memory can find them. */
  readonly discarded_with_text: number;
  /** Estimated tokens of all messages, and of the remaining history. */
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly compactions: readonly ReplayedCompaction[];
  /** Failed compactions. They left the history as it was. */
  readonly failures: readonly ReplayedFailure[];
  /** Memory entries of this session. */
  readonly indexed_messages: number;
  readonly duration_ms: number;
  /** True when it was stopped before the end of the recording. */
  readonly interrupted: boolean;
  /** Compactions that the transcript recorded, beside rkat's of the same messages. */
  readonly recorded?: readonly RecordedCompaction[];
  /** What a compaction now would make of a transcript that neither compacted. */
  readonly compacted_now?: CompactedNow;
}

export interface ReplayedCompaction {
  /** Model calls of the session before it. */
  readonly call: number;
  /** The turn in which it happened, from 0. */
  readonly turn: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly discarded: number;
  /** Tool results that were shortened. */
  readonly pruned: number;
  readonly summarised_by: CompactionCompleted["summarised_by"];
  /** Where the names of the discarded messages are now; `null` without a summary. */
  readonly anchors: AnchorReport | null;
}

export interface ReplayedFailure {
  readonly turn: number;
  readonly reason: CompactionFailure;
  readonly error: string;
}
