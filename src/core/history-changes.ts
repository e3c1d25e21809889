import type { StoredEvent } from "./event.ts";

/** A change of the history, or the undo of one. */
interface Change {
  readonly seq: number;
  /** `seq` of what it undid. */
  readonly undone?: number;
}

/**
 * What changed the history of a session as a whole: compactions, prunings, and what undid them. A fold of its log.
 *
 *     compaction 10   pruning 20   undone 30, of 20   pruning 40   undone 50, of 30
 *                     └───── not in force ─────┘
 *                                  └──────────── not in force ────────────┘
 *
 * An undo takes all changes since the undone one with it. So after 50, those in force are 10 and 20: the undo of 20
 * was undone.
 */
export class HistoryChanges {
  readonly #all: Change[] = [];
  /** Whether one of them undid another. */
  hasUndo = false;

  note({ seq, event }: Pick<StoredEvent, "seq" | "event">): void {
    switch (event.type) {
      case "compaction_completed":
      case "tool_output_pruned":
        this.#all.push({ seq });
        return;
      case "compaction_undone":
        this.#all.push({ seq, undone: event.undone });
        this.hasUndo = true;
        return;
    }
  }

  /**
   * `seq` of the last undo that was not undone itself. It is null if the history was compacted since, and undefined if an
   * earlier part of the log may have it.
   */
  get lastUndo(): number | null | undefined {
    let start = Number.POSITIVE_INFINITY;
    for (const { seq, undone } of this.#all.toReversed()) {
      if (seq >= start) continue;
      if (undone === undefined) return null;
      const target = this.#all.find((each) => each.seq === undone);
      if (!target) return undefined;
      if (target.undone === undefined) return seq;
      start = undone;
    }
    return undefined;
  }

  /** Whether a change can be undone: it is in force, or it undid another. */
  canUndo(seq: number): boolean {
    const change = this.#all.find((each) => each.seq === seq);
    return change?.undone !== undefined || this.inForce().includes(seq);
  }

  /** `seq` of the compactions and prunings that are not undone before `end`, in order. */
  inForce(end = Number.POSITIVE_INFINITY): readonly number[] {
    const undone = this.undoneBefore(end);
    const changes = this.#all.filter((each) => each.undone === undefined && each.seq < end);
    return changes.map(({ seq }) => seq).filter((seq) => !undone(seq));
  }

  /** Tells which events are undone before `end`: what they did to the history is taken back. */
  undoneBefore(end = Number.POSITIVE_INFINITY): (seq: number) => boolean {
    const spans: { readonly from: number; readonly to: number }[] = [];
    let start = end;
    for (const { seq, undone } of this.#all.toReversed()) {
      if (undone === undefined || seq >= start) continue;
      spans.push({ from: undone, to: seq });
      start = undone;
    }
    return (seq) => spans.some(({ from, to }) => from <= seq && seq < to);
  }
}
