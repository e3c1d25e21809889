import type { AllowedCalls } from "./approval.ts";
import type { CostSnapshot } from "./cost-totals.ts";
import type { PrunedOutput, SessionSettings, StoredEvent } from "./event.ts";
import type { HistoryRun } from "./history-entry.ts";
import type {
  DeniedCall,
  HeldInstruction,
  KnownFork,
  NextWindow,
  PlacedRecords,
  ShownMessage,
  ShownRecords,
  ShownTask,
} from "./kept-state.ts";
import type { CachedCall, Pace } from "./prompt-cache.ts";
import type { MeasuredBar } from "./recalled.ts";
import type { TaskRecord } from "./task.ts";
import type { TokenCountsSnapshot } from "./token-counts.ts";
import type { Usage } from "./usage.ts";

/** The state of a session, as a store keeps it. Its size does not grow with the session. */
export interface SessionSnapshot {
  readonly version: 1;
  readonly id: string;
  /** The last event in it. */
  readonly seq: number;
  readonly created_at_ms: number;
  readonly updated_at_ms: number;
  readonly archived: boolean;
  readonly running: boolean;
  readonly settings: SessionSettings;
  readonly usage: Usage;
  readonly model_calls: number;
  readonly last_compaction_call: number | null;
  readonly compactions: number;
  readonly last_input_tokens: number;
  readonly turns: number;
  readonly message_count: number;
  readonly last_assistant_text: string | null;
  readonly history_tokens: number;
  /** Where the messages of the history are in the log, in order, without the summary. */
  readonly history: readonly HistoryRun[];
  readonly summary: { readonly seq: number; readonly index: number } | null;
  readonly pruned: readonly PrunedOutput[];
  /** Missing in snapshots of earlier versions, like all that follow. */
  readonly token_counts?: TokenCountsSnapshot;
  readonly recorded_compactions?: number;
  readonly allowed?: readonly AllowedCalls[];
  readonly appended?: readonly AppendedBatch[];
  readonly forks?: readonly KnownFork[];
  readonly task?: TaskRecord;
  readonly denied?: readonly DeniedCall[];
  readonly shown_task?: ShownTask | null;
  readonly instructions?: readonly HeldInstruction[];
  readonly instructions_left_out?: readonly number[];
  /** Records that this log has no event of: a fork began with them. */
  readonly recalled?: readonly ShownRecords[];
  readonly recalled_in?: readonly PlacedRecords[];
  readonly recall_bar?: MeasuredBar;
  readonly recall_refused?: readonly string[];
  readonly brought_back?: readonly ShownMessage[];
  readonly cached_call?: CachedCall;
  readonly pace?: Pace;
  readonly cost?: CostSnapshot;
  /** Ids of pinned messages. */
  readonly pins?: readonly number[];
  /** Kept by an import. A process that works on the session leaves it out. */
  readonly next_window?: NextWindow;
}

/** Messages that were appended with a key. Each is one event, `from` to `to`. */
interface AppendedBatch {
  /** A hash of the key. */
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

/** Older keys are forgotten, so that a session's snapshot stays small. */
const KEPT_MAX = 256;

/** The last batches of a session that have a key. A retry finds its batch here and adds nothing. */
export class AppendedBatches {
  #batches: readonly AppendedBatch[] = [];

  get all(): readonly AppendedBatch[] {
    return this.#batches;
  }

  find(key: string): AppendedBatch | undefined {
    return this.#batches.find((batch) => batch.key === key);
  }

  note({ seq, event }: StoredEvent): void {
    if (event.type !== "message_added" || !event.batch) return;
    const { key, messages } = event.batch;
    const batch = { key, from: seq, to: seq + messages - 1 };
    this.#batches = [...this.#batches, batch].slice(-KEPT_MAX);
  }

  restore(batches: readonly AppendedBatch[]): void {
    this.#batches = batches;
  }
}
