import type { StoredEvent } from "./event.ts";

/** Messages that were appended with a key. Each is one event, `from` to `to`. */
export interface AppendedBatch {
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
