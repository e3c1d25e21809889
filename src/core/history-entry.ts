import type { DiscardedSpan } from "./event.ts";
import type { LoggedMessage } from "./message-assembler.ts";
import { startsTurn } from "./turn.ts";

/** A message of the history, with its size counted once. */
export interface HistoryEntry extends LoggedMessage {
  /** Its place among all messages of the session, from 0; -1 for the summary of a compaction, which is no message of the log. */
  readonly ordinal: number;
  /** The turn that it belongs to, from 0; -1 before the first. */
  readonly turn: number;
  /** Its share of the history's size, in quarter tokens. */
  readonly weight: number;
}

/** Messages that follow each other in the log and in the history. */
export interface HistoryRun extends DiscardedSpan {
  /** Place of the first of them among all messages. */
  readonly ordinal: number;
}

/** A run that may grow by the message with the ordinal `next`. */
export interface OpenRun extends HistoryRun {
  to: number;
  next: number;
}

/** Whether a compaction of this session wrote it. A history that was given may have the summary of another. */
export function isOwnSummary({ ordinal }: HistoryEntry): boolean {
  return ordinal < 0;
}

export function runsOf(entries: readonly HistoryEntry[]): OpenRun[] {
  const runs: OpenRun[] = [];
  for (const entry of entries) extendRuns(runs, entry);
  return runs;
}

/** Adds the next message of the history. */
export function extendRuns(runs: OpenRun[], entry: HistoryEntry): void {
  if (isOwnSummary(entry)) return;
  const last = runs.at(-1);
  if (last?.next === entry.ordinal) {
    last.to = entry.id;
    last.next += 1;
    return;
  }
  const turns_before = entry.turn + (startsTurn(entry.message) ? 0 : 1);
  const { from, id: to, ordinal } = entry;
  runs.push({ from, to, ordinal, turns_before, next: ordinal + 1 });
}

/** The log spans of messages. Neighbours share one. */
export function spansOf(entries: readonly HistoryEntry[]): DiscardedSpan[] {
  return runsOf(entries).map(({ from, to, turns_before }) => ({ from, to, turns_before }));
}
