import type {
  CompactionCompleted,
  CompactionUndone,
  HistoryInherited,
  PrunedOutput,
  StoredEvent,
} from "./event.ts";
import { given } from "./fields.ts";
import {
  extendRuns,
  type HistoryEntry,
  isOwnSummary,
  type OpenRun,
  runsOf,
} from "./history-entry.ts";
import { isSummary, type Message, summaryMessage } from "./message.ts";
import type { SessionSnapshot } from "./session-snapshot.ts";
import { messageWeight, tokensOfWeight, withShortenedOutput } from "./tokens.ts";

/** The messages of a session that its next request has: a fold of its messages and of what changed them. */
export class SessionHistory {
  #entries: HistoryEntry[] = [];
  #messages: Message[] = [];
  #ids = new Set<number>();
  #runs: OpenRun[] = [];
  /** Position of the last compaction's summary, or -1. */
  #summaryAt = -1;
  #weight = 0;
  #systemWeight = 0;
  #pruned: PrunedOutput[] = [];

  get entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  /** The array changes with the history; copy it to keep it. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  holds(id: number): boolean {
    return this.#ids.has(id);
  }

  /** Estimated tokens, from a running sum. */
  get tokens(): number {
    return tokensOfWeight(this.#weight, this.#entries.length);
  }

  /** Estimated tokens of the system messages, which no compaction removes. */
  get systemTokens(): number {
    return Math.floor(this.#systemWeight / 4);
  }

  append(entry: HistoryEntry): void {
    this.#entries.push(entry);
    this.#messages.push(entry.message);
    this.#ids.add(entry.id);
    this.#weight += entry.weight;
    if (entry.message.role === "system") this.#systemWeight += entry.weight;
    extendRuns(this.#runs, entry);
  }

  /** Takes an event that changes the history, if it is one. An undo takes out what it leaves out; the rest is undone before. */
  change({ seq, timestamp_ms, event }: StoredEvent, model: string): void {
    switch (event.type) {
      case "tool_output_pruned":
        this.prune(event.pruned, model);
        return;
      case "compaction_completed":
        this.prune(event.pruned, model);
        this.#compact(seq, timestamp_ms, event);
        return;
      case "compaction_undone":
        this.#leaveOut(event);
        return;
      case "history_inherited":
        this.#inherit(seq, timestamp_ms, event, model);
        return;
    }
  }

  prune(pruned: readonly PrunedOutput[], model: string): void {
    if (pruned.length === 0) return;
    const byMessage = Map.groupBy(pruned, (item) => item.message);
    this.#replace(
      this.#entries.map((entry) => {
        const items = byMessage.get(entry.id);
        if (!items) return entry;
        const message = prunedMessage(entry.message, items);
        return { ...entry, message, weight: messageWeight(message, model) };
      }),
    );
    this.#pruned.push(...pruned);
  }

  #compact(seq: number, timestampMs: number, event: CompactionCompleted): void {
    const leaves = leavingBy(event);
    const place = this.#entries.findIndex(leaves);
    const retained = this.#entries.filter((entry) => !leaves(entry));
    if (event.summary !== null) {
      retained.splice(Math.max(0, place), 0, summaryEntry(seq, timestampMs, event.summary));
    }
    this.#replace(retained);
  }

  #inherit(
    seq: number,
    timestampMs: number,
    { pruned, summary }: HistoryInherited,
    model: string,
  ): void {
    this.prune(pruned, model);
    if (summary) this.insertSummary({ seq, index: summary.index }, timestampMs, summary.text);
  }

  #leaveOut({ left_out = [] }: CompactionUndone): void {
    if (left_out.length === 0) return;
    const leftOut = new Set(left_out);
    this.#replace(this.#entries.filter(({ id }) => !leftOut.has(id)));
  }

  /** Puts a summary at its place. */
  insertSummary(
    { seq, index }: { readonly seq: number; readonly index: number },
    timestampMs: number,
    summary: string,
  ): void {
    this.#replace(this.#entries.toSpliced(index, 0, summaryEntry(seq, timestampMs, summary)));
  }

  #replace(entries: readonly HistoryEntry[]): void {
    this.#entries = [...entries];
    this.#messages = entries.map((entry) => entry.message);
    this.#runs = runsOf(entries);
    this.#summaryAt = entries.findIndex(isOwnSummary);
    this.#weight = weightOf(entries);
    this.#systemWeight = weightOf(entries.filter(({ message }) => message.role === "system"));
    this.#ids = new Set(entries.map((entry) => entry.id));
    this.#pruned = this.#pruned.filter((item) => this.holds(item.message));
  }

  snapshot(): Pick<SessionSnapshot, "history_tokens" | "history" | "summary" | "pruned"> {
    const index = this.#summaryAt;
    return {
      history_tokens: this.tokens,
      history: this.#runs.map(({ next: _, ...run }) => run),
      summary: index < 0 ? null : { seq: this.#entries[index]?.id ?? 0, index },
      pruned: this.#pruned,
    };
  }
}

/** A message with shortened tool output. */
export function prunedMessage(message: Message, items: readonly PrunedOutput[]): Message {
  return items.reduce<Message>((sofar, { tool_use_id: toolUseId, kept_bytes: keptBytes, turn }) => {
    return withShortenedOutput(sofar, { toolUseId, keptBytes, ...given({ turn }) });
  }, message);
}

/** Tells which messages a compaction takes out of the history. */
export function leavingBy({
  discarded,
}: Pick<CompactionCompleted, "discarded">): (
  entry: Pick<HistoryEntry, "id" | "message">,
) => boolean {
  return ({ id, message }) =>
    isSummary(message) || discarded.some(({ from, to }) => from <= id && id <= to);
}

function weightOf(entries: readonly HistoryEntry[]): number {
  return entries.reduce((sum, entry) => sum + entry.weight, 0);
}

function summaryEntry(seq: number, timestampMs: number, summary: string): HistoryEntry {
  const message = summaryMessage(summary);
  return {
    id: seq,
    from: seq,
    message,
    timestampMs,
    ordinal: -1,
    turn: -1,
    weight: messageWeight(message),
  };
}

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
