import type { StoredEvent } from "./event.ts";

/** The changes that made a history what it is, the last one first. */
interface InForce {
  readonly seq: number;
  readonly before: InForce | undefined;
}

/** What changed the history of a session as a whole: compactions, prunings, and what undid them. A fold of its log. */
export class HistoryChanges {
  /** By `seq` of each change: what was in force before it. */
  readonly #before = new Map<number, InForce | undefined>();
  readonly #undoing = new Set<number>();
  #inForce: InForce | undefined;
  #last = 0;

  note({ seq, event }: Pick<StoredEvent, "seq" | "event">): void {
    switch (event.type) {
      case "compaction_completed":
      case "tool_output_pruned":
        this.#before.set(seq, this.#inForce);
        this.#inForce = { seq, before: this.#inForce };
        this.#last = seq;
        return;
      case "compaction_undone":
        this.#before.set(seq, this.#inForce);
        this.#undoing.add(seq);
        this.#inForce = this.#before.get(event.undone);
        this.#last = seq;
        return;
    }
  }

  /** `seq` of the last compaction or pruning that was not undone. */
  get lastInForce(): number | undefined {
    return this.#inForce?.seq;
  }

  /** `seq` of the last change, if that undid another. */
  get lastUndo(): number | undefined {
    return this.#undoing.has(this.#last) ? this.#last : undefined;
  }

  /** Whether a change can be undone: it is in force, or it undid another. */
  canUndo(seq: number): boolean {
    return this.#undoing.has(seq) || this.inForce.includes(seq);
  }

  /** `seq` of the compactions and prunings that were not undone, in order. */
  get inForce(): readonly number[] {
    const all: number[] = [];
    for (let at = this.#inForce; at; at = at.before) all.push(at.seq);
    return all.reverse();
  }
}
