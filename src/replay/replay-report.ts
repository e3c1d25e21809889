import type { CompactionCompleted, CompactionFailure } from "../core/event.ts";

/** What a replay came to, as `rkat replay --json` prints it. */
export interface ReplayReport {
  readonly file: string;
  readonly session_id: string;
  /** User turns that were replayed. */
  readonly turns: number;
  /** Messages that were said, those that left the history included. */
  readonly messages: number;
  /** Messages that left the history. */
  readonly discarded_messages: number;
  /** Those of them that have text to be found by. */
  readonly discarded_with_text: number;
  /** Estimated tokens of all that was said, and of the history that is left. */
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly compactions: readonly ReplayedCompaction[];
  /** Compactions that did not come about; the history stayed as it was. */
  readonly failures: readonly ReplayedFailure[];
  /** Entries of this session in memory. */
  readonly indexed_messages: number;
  readonly duration_ms: number;
  /** Whether it was stopped before the end of the recording. */
  readonly interrupted: boolean;
}

export interface ReplayedCompaction {
  /** Model calls of the session until then. */
  readonly call: number;
  /** The turn that it came in, from 0. */
  readonly turn: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly discarded: number;
  /** Tool results that it shortened. */
  readonly pruned: number;
  readonly summarised_by: CompactionCompleted["summarised_by"];
}

export interface ReplayedFailure {
  readonly turn: number;
  readonly reason: CompactionFailure;
  readonly error: string;
}
