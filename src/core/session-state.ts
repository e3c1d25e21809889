import { BroughtBack, withBroughtBack } from "./brought-back.ts";
import { CostTotals } from "./cost-totals.ts";
import type { MemoryRecalled, StateBefore, StoredEvent } from "./event.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { indexableText, isSummary, type Message, type ToolUse } from "./message.ts";
import { type LoggedMessage, MessageAssembler } from "./message-assembler.ts";
import { PromptCache } from "./prompt-cache.ts";
import { Recalled, withRecords } from "./recalled.ts";
import { isRecordedCompaction, SessionFacts, startOf, timeMs } from "./session-facts.ts";
import { HistoryChanges, SessionHistory } from "./session-history.ts";
import { AppendedBatches, type SessionSnapshot } from "./session-snapshot.ts";
import { TokenCounts } from "./token-counts.ts";
import { messageWeight } from "./tokens.ts";
import { startsTurn } from "./turn.ts";
import { WaitingCalls } from "./waiting-calls.ts";
import { WorkingMemory, withShownTask } from "./working-memory.ts";

/**
 * The current state of a session: a fold of its log.
 *
 * `apply` takes one event, at a cost that does not depend on the session's length. A snapshot has
 * the places of messages in the log, not the messages, so it stays small.
 */
export class SessionState extends SessionFacts {
  /** Calls that wait for approval. No snapshot is taken while there are any. */
  readonly waiting = new WaitingCalls();
  /** The task record and the pins. */
  readonly working = new WorkingMemory();
  /** The records that came back from memory since the last compaction. */
  readonly recalled = new Recalled();
  /** Messages that had left, and are shown again. */
  readonly broughtBack = new BroughtBack();
  /** Whether its last request is in the provider's cache. */
  readonly cache = new PromptCache();
  /**
   * The sums of what it cost. Undefined where only the whole log tells them: after the snapshot of an earlier version, and
   * after an undo of a change that is older than the snapshot.
   */
  cost: CostTotals | undefined = new CostTotals();
  /** How its models count. */
  readonly counts = new TokenCounts();
  /** The batches that were appended under a key. */
  readonly appended = new AppendedBatches();
  #history = new SessionHistory();
  #assembler = new MessageAssembler();
  /** Texts in the log were forgotten, so it has to be read again. */
  #hasForgotten = false;
  /** Messages that had left the history since this event are back, so the log has to be read again from there. */
  #undone: number | undefined;

  get history(): readonly HistoryEntry[] {
    return this.#history.entries;
  }

  /** The history's messages. The array changes with the session; copy it to keep it. */
  get messages(): readonly Message[] {
    return this.#history.messages;
  }

  /** Whether the history has a message. */
  holds(id: number): boolean {
    return this.#history.holds(id);
  }

  /** The messages of the next model call: the history, with the task record, what was recalled and what was brought back in their places. */
  get sentMessages(): readonly Message[] {
    const withTask = withShownTask(this.history, this.messages, this.working.shown);
    const withMessages = withBroughtBack(this.history, withTask, this.broughtBack.shown);
    return withRecords(this.history, withMessages, this.recalled.shown);
  }

  /** Estimated tokens of what the next model call has besides the history. */
  get shownTokens(): number {
    return this.working.shownTokens + this.recalled.tokens + this.broughtBack.tokens;
  }

  /** Positions of pinned messages in the history. */
  get pinnedPositions(): readonly number[] {
    return this.history.flatMap(({ id }, index) => (this.working.isPinned(id) ? [index] : []));
  }

  /** Calls of the last assistant message without a result. */
  get openCalls(): readonly ToolUse[] {
    return this.#assembler.openCalls;
  }

  /** Estimated tokens of the history, from a running sum. */
  get historyTokens(): number {
    return this.#history.tokens;
  }

  /** Estimated tokens of the system messages, which no compaction removes. */
  get systemTokens(): number {
    return this.#history.systemTokens;
  }

  /** Takes the next event. What an event did to the history counts unless it `isUndone` later. */
  apply(stored: StoredEvent, isUndone = false): void {
    this.seq = stored.seq;
    this.updatedAtMs = this.#timeOf(stored);
    const { event } = stored;
    const call =
      event.type === "tool_execution_completed" || event.type === "tool_approval_resolved"
        ? this.openCalls.find(({ id }) => id === event.id)
        : undefined;
    const completed = this.#assembler.push(stored);
    if (completed) this.#append(completed);
    this.waiting.push(stored);
    this.noteFact(stored);
    if (event.type === "compaction_undone") this.#undone = event.undone;
    if (event.type === "text_forgotten") this.#hasForgotten = true;
    if (!isUndone || !CHANGES_HISTORY.has(event.type)) {
      this.#history.change(stored, this.settings.model);
      this.working.note(stored, call, this.#lastMessage);
      this.recalled.note(stored, () => this.lastPrompt?.id);
      const has = (message: number) => this.holds(message);
      this.broughtBack.note(stored, { last: this.#lastMessage, has });
    }
    if (event.type === "compaction_undone" && !this.cost?.knowsBefore(event.undone)) {
      this.cost = undefined;
    }
    this.cost?.note(stored);
    this.cache.note(stored, this.historyTokens);
    this.counts.note(stored);
    this.appended.note(stored);
  }

  /**
   * When the session was used by this event. What another agent held happened when it was said, not when it was stored.
   * Forgetting a text is no use of the sessions that said it.
   */
  #timeOf({ event, timestamp_ms }: StoredEvent): number {
    if (event.type === "text_forgotten") return this.updatedAtMs;
    if (event.type === "session_created") return startOf(event.settings) ?? timestamp_ms;
    if (!this.settings.source || !OPENING.has(event.type)) return timestamp_ms;
    const said = event.type === "message_added" ? timeMs(event.origin?.time) : undefined;
    return Math.max(said ?? 0, this.updatedAtMs);
  }

  /** Id of the last message; 0 before the first. A summary is never the last. */
  get #lastMessage(): number {
    return this.history.findLast(({ message }) => !isSummary(message))?.id ?? 0;
  }

  /** The prompt of the running turn, or of the last one. */
  get lastPrompt(): HistoryEntry | undefined {
    return this.history.findLast(({ message }) => startsTurn(message));
  }

  #append(logged: LoggedMessage): void {
    if (startsTurn(logged.message)) this.turns += 1;
    const entry: HistoryEntry = {
      ...logged,
      ordinal: this.messageCount,
      turn: this.turns - 1,
      weight: messageWeight(logged.message, this.settings.model),
    };
    this.messageCount += 1;
    this.#history.append(entry);
    const { role } = logged.message;
    if (role === "assistant" || role === "block_assistant") {
      const text = indexableText(logged.message);
      if (text !== "") this.lastAssistantText = text;
    }
  }

  /** The state without its messages. Take it between runs. */
  snapshot(): SessionSnapshot {
    return {
      version: 1,
      ...this.facts(),
      ...this.#history.snapshot(),
      token_counts: this.counts.snapshot(),
      ...(this.appended.all.length === 0 ? {} : { appended: this.appended.all }),
      ...this.recalled.snapshot(),
      ...this.broughtBack.snapshot(),
      ...this.cache.snapshot(),
      ...(this.cost ? { cost: this.cost.snapshot() } : {}),
      ...this.working.snapshot(),
    };
  }

  /** The state that the next compaction keeps for its undo. Undefined while calls wait for their results. */
  get before(): StateBefore | undefined {
    if (this.openCalls.length > 0) return undefined;
    const { history_tokens: _, ...history } = this.#history.snapshot();
    return {
      memory: this.settings.memory,
      turns: this.turns,
      message_count: this.messageCount,
      ...history,
      ...this.recalled.kept,
      ...this.broughtBack.snapshot(),
      ...this.working.snapshot(),
    };
  }

  /**
   * The state at `snapshot`, caught up with the log. It reads the messages of the history, and the
   * events after the snapshot.
   */
  static async restore(snapshot: SessionSnapshot, read: ReadLog): Promise<SessionState> {
    const state = new SessionState(snapshot.id);
    state.settings = snapshot.settings;
    const logged = await state.#restoreHistory(snapshot, read);
    for (const { event } of snapshot.recalled_in ?? []) {
      if (logged.has(event)) continue;
      for await (const stored of read(event - 1, event)) noteRecords(stored, logged);
    }
    state.#restoreRest(snapshot, logged);
    await state.catchUp(read);
    return state;
  }

  /** Returns the records of memory that it came across. */
  async #restoreHistory(
    { history, pruned, summary: place }: Pick<SessionSnapshot, "history" | "pruned" | "summary">,
    read: ReadLog,
  ): Promise<Map<number, MemoryRecalled>> {
    const logged = new Map<number, MemoryRecalled>();
    for (const run of history) {
      this.messageCount = run.ordinal;
      this.turns = run.turns_before;
      for await (const stored of read(run.from - 1, run.to)) {
        const completed = this.#assembler.push(stored);
        if (completed) this.#append(completed);
        this.recordedCompactions += Number(isRecordedCompaction(stored.event));
        noteRecords(stored, logged);
      }
    }
    this.#history.prune(pruned, this.settings.model);
    if (!place) return logged;
    for await (const { event, timestamp_ms } of read(place.seq - 1, place.seq)) {
      const summary = summaryIn(event);
      if (summary !== null) this.#history.insertSummary(place, timestamp_ms, summary);
    }
    return logged;
  }

  #restoreRest(snapshot: SessionSnapshot, logged: ReadonlyMap<number, MemoryRecalled>): void {
    this.restoreFacts(snapshot);
    this.working.restore(snapshot);
    this.recalled.restore(snapshot, logged);
    this.broughtBack.restore(snapshot);
    this.cache.restore(snapshot);
    this.cost = snapshot.cost && CostTotals.restore(snapshot.cost, snapshot.settings.model);
    if (snapshot.token_counts) this.counts.restore(snapshot.token_counts);
    if (snapshot.appended) this.appended.restore(snapshot.appended);
  }

  /** The state after the events of a log up to `toSeq`. With an undo in it, the log is read twice. */
  static async fold(id: string, read: ReadLog, toSeq?: number): Promise<SessionState> {
    const changes = new HistoryChanges();
    let state = new SessionState(id);
    let last = 0;
    for await (const stored of read(0, toSeq)) {
      changes.note(stored);
      if (!changes.hasUndo) state.apply(stored);
      last = stored.seq;
    }
    if (changes.hasUndo) {
      const isUndone = changes.undoneBefore();
      state = new SessionState(id);
      for await (const stored of read(0, last)) state.apply(stored, isUndone(stored.seq));
    }
    state.#undone = undefined;
    state.#hasForgotten = false;
    return state;
  }

  /** This state without a change of its history, and without all changes after that one. Not while calls wait. */
  async without(undone: number, read: ReadLog): Promise<SessionState> {
    const state = new SessionState(this.id);
    // It shows what was recalled then.
    state.#restoreRest(this.snapshot(), new Map());
    const undo = { seq: this.seq + 1, event: { type: "compaction_undone", undone } } as const;
    state.#showAs(await this.#foldedSince(await changeBelow(undone, read), read, { undo }));
    return state;
  }

  /**
   * This session as it was after an earlier event, as far as a fork goes on from it. `since` is a change of the history
   * that was in force then: the log before it is not read.
   */
  async earlier(toSeq: number, since: number | undefined, read: ReadLog): Promise<SessionState> {
    const change = since === undefined ? undefined : await changeBelow(since, read);
    const state = await this.#foldedSince(change, read, { toSeq });
    state.counts.restore(this.counts.snapshot());
    return state;
  }

  /**
   * The state of this session, folded from a change of the history on, or from the beginning of the log:
   *
   *     log     ▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪▪
   *     change                      ▪ has what the model saw before it
   *     read          ─    ──       ────────────────
   */
  async #foldedSince(
    change: ChangeOfHistory | undefined,
    read: ReadLog,
    { toSeq = this.seq, undo }: { toSeq?: number; undo?: UncommittedUndo },
  ): Promise<SessionState> {
    const state = new SessionState(this.id);
    if (change) {
      const { before } = change;
      state.settings = { ...this.settings, memory: before.memory };
      await state.#restoreHistory(before, read);
      state.turns = before.turns;
      state.messageCount = before.message_count;
      state.working.restore(before);
      state.recalled.restore(before);
      state.broughtBack.restore(before);
    }
    const begins = (change?.seq ?? 1) - 1;
    const changes = new HistoryChanges();
    for await (const stored of read(begins, toSeq)) changes.note(stored);
    if (undo) changes.note(undo);
    const isUndone = changes.undoneBefore();
    for await (const stored of read(begins, toSeq)) state.apply(stored, isUndone(stored.seq));
    return state;
  }

  /** Like `apply`, and reads the log where that brings back what had left the history. */
  async follow(stored: StoredEvent, read: ReadLog): Promise<void> {
    this.apply(stored);
    if (stored.event.type === "compaction_undone") await this.#takeBack(stored.event.undone, read);
  }

  /** Whether `catchUp` has to read the log before the history is right. */
  get isOutdated(): boolean {
    return this.#hasForgotten || this.#undone !== undefined;
  }

  /**
   * Applies the events that this and other processes have appended. When a compaction was undone, it reads the log
   * again from there. When texts were forgotten, it reads all of it.
   *
   * With `knownLast` it reads the last event that it knows too. When that is not there, the session was deleted, and the log,
   * if there is one, is another's: it reads all of it.
   */
  async catchUp(read: ReadLog, knownLast?: "with the known last"): Promise<void> {
    const { seq } = this;
    let isThere = seq === 0 || knownLast === undefined;
    for await (const stored of read(isThere ? seq : seq - 1)) {
      if (stored.seq > seq) this.apply(stored);
      else isThere = true;
    }
    if (this.#hasForgotten || !isThere) this.#become(await SessionState.fold(this.id, read));
    else if (this.#undone !== undefined) await this.#takeBack(this.#undone, read);
  }

  async #takeBack(undone: number, read: ReadLog): Promise<void> {
    const fresh = await this.#foldedSince(await changeBelow(undone, read), read, {});
    this.#showAs(fresh);
    this.cache.restore(fresh.cache.snapshot());
    this.#undone = undefined;
  }

  /** Its model sees from now on what that of `fresh` sees. */
  #showAs(fresh: SessionState): void {
    const { clearings } = this.recalled;
    const { working, recalled, broughtBack } = fresh;
    Object.assign(this, { working, recalled, broughtBack });
    this.recalled.clearings = clearings + 1;
    this.#history = fresh.#history;
  }

  #become(fresh: SessionState): void {
    Object.assign(this, fresh);
    this.#history = fresh.#history;
    this.#assembler = fresh.#assembler;
    this.#hasForgotten = false;
    this.#undone = undefined;
  }
}

/** A change of the history that says what the model saw before it. */
interface ChangeOfHistory {
  readonly seq: number;
  readonly before: StateBefore;
}

interface UncommittedUndo {
  readonly seq: number;
  readonly event: { readonly type: "compaction_undone"; readonly undone: number };
}

/** The change that an undo takes back, through undos of undos. Undefined when it does not say what was there before. */
async function changeBelow(seq: number, read: ReadLog): Promise<ChangeOfHistory | undefined> {
  for await (const { event } of read(seq - 1, seq)) {
    if (event.type === "compaction_undone") return await changeBelow(event.undone, read);
    return "before" in event && typeof event.before === "object"
      ? { seq, before: event.before }
      : undefined;
  }
  return undefined;
}

/** Events that put another history in the place of the last one, or show something beside it. */
const CHANGES_HISTORY: ReadonlySet<string> = new Set<StoredEvent["event"]["type"]>([
  "compaction_completed",
  "tool_output_pruned",
  "compaction_undone",
  "memory_recalled",
]);

/** Reads a part of one session's log. */
export type ReadLog = (afterSeq: number, toSeq?: number) => AsyncIterable<StoredEvent>;

/** Keeps the records of memory that an event has. */
function noteRecords({ seq, event }: StoredEvent, logged: Map<number, MemoryRecalled>): void {
  if (event.type === "memory_recalled") logged.set(seq, event);
}

/** The summary that an event put into the history. */
function summaryIn(event: StoredEvent["event"]): string | null {
  if (event.type === "history_inherited") return event.summary?.text ?? null;
  return event.type === "compaction_completed" ? event.summary : null;
}

/** Events that a session can have before it is used here. */
const OPENING: ReadonlySet<string> = new Set<StoredEvent["event"]["type"]>([
  "message_added",
  "skills_resolved",
  "knowledge_applied",
]);
