import type { Draft } from "../head.ts";
import type { FreeRun, Head, LabelRow, Run, SessionRow } from "../index-store.ts";
import { type Link, linksOf, PADS } from "./runs.ts";

const FIRST_SIZE = 4;
const SIZE_MAX = 4096;

/** A session that gets more entries. */
export class GrowingSession {
  readonly number: number;
  readonly #before: SessionRow;
  readonly #runs: Run[];
  #entries = 0;
  #textBytes = 0;

  constructor(before: SessionRow) {
    this.number = before.number;
    this.#before = before;
    this.#runs = [...before.runs];
  }

  /**
   * The run that it needs for entries with so many passages; `undefined` when its last run has room for all
   * of them. The entry at `at` opens the run, which has room for all that follow.
   */
  wantedRun(
    passages: readonly number[],
  ): { readonly at: number; readonly size: number } | undefined {
    const last = this.#runs.at(-1);
    let room = last ? last.size - last.used : 0;
    const at = passages.findIndex((count) => {
      room -= count;
      return room < 0;
    });
    if (at < 0) return undefined;
    const needed = passages.slice(at).reduce((sum, count) => sum + count, 0);
    const usual = last ? Math.min(SIZE_MAX, 2 * last.size) : FIRST_SIZE;
    return { at, size: Math.max(needed, usual) };
  }

  /** The first slot of the next entry. `next` is the run that it wanted. */
  place(passages: number, textBytes: number, next: FreeRun | undefined): number {
    let run = this.#runs.at(-1);
    if (!run || run.used + passages > run.size) {
      if (!next) throw new Error("A session has no run for its next entry.");
      run = { first: next.first, size: next.size, used: 0 };
      this.#runs.push(run);
    }
    this.#runs[this.#runs.length - 1] = { ...run, used: run.used + passages };
    this.#entries += 1;
    this.#textBytes += textBytes;
    return run.first + run.used;
  }

  /** Puts the session into the draft, and returns the links that a new run brings. */
  save(draft: Draft): Link[] {
    const { entries, textBytes, runs } = this.#before;
    draft.put("sessions", {
      ...this.#before,
      entries: entries + this.#entries,
      textBytes: textBytes + this.#textBytes,
      runs: this.#runs,
    });
    if (runs.length === 0 || this.#runs.length === runs.length) return [];
    // A new run changes the links of the two runs before it, and no others.
    return linksOf(this.#runs.slice(Math.max(0, runs.length - 3)));
  }
}

/** Takes a free run for each size, or else slots behind all others. */
export function takeRuns(
  draft: Draft,
  sizes: readonly number[],
  free: readonly FreeRun[],
): readonly FreeRun[] {
  const left = free.toSorted((one, other) => one.size - other.size || one.first - other.first);
  return sizes.map((size) => {
    const at = left.findIndex((run) => size <= run.size && run.size <= 2 * size);
    const [run] = at < 0 ? [] : left.splice(at, 1);
    if (!run) return nextRun(draft.head, size);
    draft.remove("freeRuns", run);
    return run;
  });
}

function nextRun(head: { -readonly [Name in keyof Head]: Head[Name] }, size: number): FreeRun {
  const first = head.slots + PADS;
  head.slots = first + size + PADS;
  return { first, size };
}

/** Gives roles and speakers their numbers, and counts the entries that have them. */
export class LabelUses {
  readonly #rows: Map<string, LabelRow>;
  #last: number;

  constructor(rows: readonly LabelRow[], last = 0) {
    this.#rows = new Map(rows.map((row) => [row.text, row]));
    this.#last = last;
  }

  /** Counts an entry that has the label, and returns its number; 0 for no label. */
  use(text: string | undefined): number {
    if (text === undefined) return 0;
    const row = this.#rows.get(text) ?? { number: ++this.#last, text, uses: 0 };
    this.#rows.set(text, { ...row, uses: row.uses + 1 });
    return row.number;
  }

  /** One entry less has it. */
  leave(text: string | null): void {
    const row = text === null ? undefined : this.#rows.get(text);
    if (row) this.#rows.set(row.text, { ...row, uses: row.uses - 1 });
  }

  save(draft: Draft): void {
    for (const row of this.#rows.values()) {
      if (row.uses > 0) draft.put("labels", row);
      else draft.remove("labels", row);
    }
  }
}
