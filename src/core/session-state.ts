import { type AllowedCalls, covers } from "./approval.ts";
import { BroughtBack, withBroughtBack } from "./brought-back.ts";
import { CostTotals } from "./cost-totals.ts";
import type { SessionSettings, StateBefore, StoredEvent } from "./event.ts";
import { HistoryChanges } from "./history-changes.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { instant } from "./instant.ts";
import type { KnownFork } from "./kept-state.ts";
import { indexableText, isSummary, type Message, type ToolUse } from "./message.ts";
import { type LoggedMessage, MessageAssembler } from "./message-assembler.ts";
import { PromptCache } from "./prompt-cache.ts";
import { Recalled, withRecords } from "./recalled.ts";
import { SessionHistory } from "./session-history.ts";
import { AppendedBatches, type SessionSnapshot } from "./session-snapshot.ts";
import { TokenCounts } from "./token-counts.ts";
import { messageWeight } from "./tokens.ts";
import { startsTurn } from "./turn.ts";
import { addUsage, NO_USAGE, type Usage } from "./usage.ts";
import { WaitingCalls } from "./waiting-calls.ts";
import { WorkingMemory, withShownTask } from "./working-memory.ts";

/**
 * The current state of a session: a fold of its log.
 *
 * `apply` takes one event, at a cost that does not depend on the session's length. A snapshot has
 * the places of messages in the log, not the messages, so it stays small.
 */
export class SessionState {
  readonly id: string;
  seq = 0;
  settings: SessionSettings = { model: "", memory: false, labels: {} };
  createdAtMs = 0;
  updatedAtMs = 0;
  archived = false;
  /** Whether its deletion has begun. It has no way back, so nothing is added any more. */
  deleted = false;
  usage: Usage = NO_USAGE;
  /** Model calls so far. Compaction counts with them. */
  modelCalls = 0;
  /** `modelCalls` at the last attempt to compact, successful or not. */
  lastCompactionCall: number | undefined;
  compactions = 0;
  /** Those of the agent that an imported session is from. */
  recordedCompactions = 0;
  /** Input tokens of the last model call; 0 after a compaction or a pruning. */
  lastInputTokens = 0;
  turns = 0;
  messageCount = 0;
  lastAssistantText: string | null = null;
  /** Whether the log ends inside a run. It runs now, or its process was killed. */
  running = false;
  /** Calls that wait for approval. No snapshot is taken while there are any. */
  readonly waiting = new WaitingCalls();
  /** The calls that the user allowed for the rest of the session. */
  allowed: readonly AllowedCalls[] = [];
  /** The sessions that began with its history. */
  forks: readonly KnownFork[] = [];
  /** The task record and the pins. */
  readonly working = new WorkingMemory();
  /** What came back from memory since the last compaction. */
  readonly recalled = new Recalled();
  /** Messages that had left, and are shown again. */
  readonly broughtBack = new BroughtBack();
  /** Whether its last request is in the provider's cache. */
  readonly cache = new PromptCache();
  /** The sums of what it cost. Undefined after a snapshot that has none: an earlier version took it. */
  cost: CostTotals | undefined = new CostTotals();
  /** How its models count. */
  readonly counts = new TokenCounts();
  /** What was appended under a key. */
  readonly appended = new AppendedBatches();
  #history = new SessionHistory();
  #assembler = new MessageAssembler();
  /** Texts in the log were forgotten, so it has to be read again. */
  #hasForgotten = false;
  /** What had left the history since this event is back, so the log has to be read again from there. */
  #undone: number | undefined;

  constructor(id: string) {
    this.id = id;
  }

  get history(): readonly HistoryEntry[] {
    return this.#history.entries;
  }

  /** The history's messages. The array changes with the session; copy it to keep it. */
  get messages(): readonly Message[] {
    return this.#history.messages;
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
    this.#note(stored);
    if (!isUndone || !CHANGES_HISTORY.has(event.type)) {
      this.#history.change(stored, this.settings.model);
      this.working.note(stored, call, this.#lastMessage);
      this.recalled.note(stored, () => this.lastPrompt?.id);
      const has = (message: number) => this.history.some(({ id }) => id === message);
      this.broughtBack.note(stored, { last: this.#lastMessage, has });
    }
    this.cost?.note(stored);
    this.cache.note(stored);
    this.counts.note(stored);
    this.appended.note(stored);
  }

  /** When it happened. What another agent held happened when it was said, not when it was stored. */
  #timeOf({ event, timestamp_ms }: StoredEvent): number {
    if (event.type === "session_created") return startOf(event.settings) ?? timestamp_ms;
    if (!this.settings.source || !OPENING.has(event.type)) return timestamp_ms;
    const said = event.type === "message_added" ? timeMs(event.origin?.time) : undefined;
    return Math.max(said ?? 0, this.updatedAtMs);
  }

  /** Id of the last message; 0 before the first. A summary is never the last. */
  get #lastMessage(): number {
    return this.history.findLast(({ message }) => !isSummary(message))?.id ?? 0;
  }

  /** What the running turn, or the last one, began with. */
  get lastPrompt(): HistoryEntry | undefined {
    return this.history.findLast(({ message }) => startsTurn(message));
  }

  #note({ timestamp_ms, event }: StoredEvent): void {
    switch (event.type) {
      case "session_created":
        this.settings = event.settings;
        this.createdAtMs = startOf(event.settings) ?? timestamp_ms;
        return;
      case "message_added":
        this.recordedCompactions += Number(isRecordedCompaction(event));
        return;
      case "session_archived":
      case "session_unarchived":
        this.archived = event.type === "session_archived";
        return;
      case "session_deleted":
        this.deleted = true;
        return;
      case "session_forked":
        this.forks = [...this.forks, { session: event.fork, event: event.event }];
        return;
      case "session_remembered":
        this.settings = { ...this.settings, memory: true };
        return;
      case "run_started":
      case "run_resumed":
        this.running = true;
        return;
      case "run_completed":
      case "run_paused":
      case "run_failed":
        this.running = false;
        return;
      case "turn_completed":
        this.modelCalls += 1;
        this.usage = addUsage(this.usage, event.usage);
        this.lastInputTokens = event.usage.input_tokens;
        return;
      case "tool_output_pruned":
        this.lastInputTokens = 0;
        if (event.usage) this.usage = addUsage(this.usage, event.usage);
        return;
      case "tool_approval_resolved":
        if (event.allows?.for === "session") this.#allow(event.allows);
        return;
      case "approval_revoked":
        this.allowed = this.allowed.filter((calls) => !covers(event, calls));
        return;
      case "compaction_failed":
        this.lastCompactionCall = this.modelCalls;
        if (event.usage) this.usage = addUsage(this.usage, event.usage);
        return;
      case "compaction_completed":
        this.lastCompactionCall = this.modelCalls;
        this.compactions += 1;
        this.lastInputTokens = 0;
        this.usage = addUsage(this.usage, event.usage);
        return;
      case "compaction_undone":
        this.lastInputTokens = 0;
        this.#undone = event.undone;
        return;
      case "text_forgotten":
        this.#hasForgotten = true;
        return;
    }
  }

  #allow({ tool, command }: AllowedCalls): void {
    const calls = { tool, ...(command === undefined ? {} : { command }) };
    if (!this.allowed.some((known) => covers(known, calls)))
      this.allowed = [...this.allowed, calls];
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
      id: this.id,
      seq: this.seq,
      created_at_ms: this.createdAtMs,
      updated_at_ms: this.updatedAtMs,
      archived: this.archived,
      running: this.running,
      settings: this.settings,
      usage: this.usage,
      model_calls: this.modelCalls,
      last_compaction_call: this.lastCompactionCall ?? null,
      compactions: this.compactions,
      last_input_tokens: this.lastInputTokens,
      turns: this.turns,
      message_count: this.messageCount,
      last_assistant_text: this.lastAssistantText,
      ...this.#history.snapshot(),
      token_counts: this.counts.snapshot(),
      recorded_compactions: this.recordedCompactions,
      ...(this.allowed.length === 0 ? {} : { allowed: this.allowed }),
      ...(this.appended.all.length === 0 ? {} : { appended: this.appended.all }),
      ...(this.forks.length === 0 ? {} : { forks: this.forks }),
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
      ...this.recalled.snapshot(),
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
    await state.#restoreHistory(snapshot, read);
    // An earlier version did not count them.
    const { recorded_compactions = state.recordedCompactions } = snapshot;
    state.#restoreRest({ ...snapshot, recorded_compactions });
    await state.catchUp(read);
    return state;
  }

  async #restoreHistory(
    { history, pruned, summary: place }: Pick<SessionSnapshot, "history" | "pruned" | "summary">,
    read: ReadLog,
  ): Promise<void> {
    for (const run of history) {
      this.messageCount = run.ordinal;
      this.turns = run.turns_before;
      for await (const stored of read(run.from - 1, run.to)) {
        const completed = this.#assembler.push(stored);
        if (completed) this.#append(completed);
        this.recordedCompactions += Number(isRecordedCompaction(stored.event));
      }
    }
    this.#history.prune(pruned, this.settings.model);
    if (!place) return;
    for await (const { event, timestamp_ms } of read(place.seq - 1, place.seq)) {
      const summary = summaryIn(event);
      if (summary !== null) this.#history.insertSummary(place, timestamp_ms, summary);
    }
  }

  #restoreRest(snapshot: SessionSnapshot): void {
    Object.assign(this, scalarsOf(snapshot));
    this.working.restore(snapshot);
    this.recalled.restore(snapshot);
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
    state.#restoreRest(this.snapshot());
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
   */
  async catchUp(read: ReadLog): Promise<void> {
    for await (const stored of read(this.seq)) this.apply(stored);
    if (this.#hasForgotten) this.#become(await SessionState.fold(this.id, read));
    else if (this.#undone !== undefined) await this.#takeBack(this.#undone, read);
  }

  async #takeBack(undone: number, read: ReadLog): Promise<void> {
    this.#showAs(await this.#foldedSince(await changeBelow(undone, read), read, {}));
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

function scalarsOf(snapshot: SessionSnapshot) {
  return {
    seq: snapshot.seq,
    createdAtMs: snapshot.created_at_ms,
    updatedAtMs: snapshot.updated_at_ms,
    archived: snapshot.archived,
    running: snapshot.running,
    settings: snapshot.settings,
    usage: snapshot.usage,
    modelCalls: snapshot.model_calls,
    lastCompactionCall: snapshot.last_compaction_call ?? undefined,
    compactions: snapshot.compactions,
    lastInputTokens: snapshot.last_input_tokens,
    turns: snapshot.turns,
    messageCount: snapshot.message_count,
    lastAssistantText: snapshot.last_assistant_text,
    allowed: snapshot.allowed ?? [],
    forks: snapshot.forks ?? [],
  };
}

/** The summary that an event put into the history. */
function summaryIn(event: StoredEvent["event"]): string | null {
  if (event.type === "history_inherited") return event.summary?.text ?? null;
  return event.type === "compaction_completed" ? event.summary : null;
}

/** Whether the message is the summary of a compaction of another agent. */
function isRecordedCompaction(event: StoredEvent["event"]): boolean {
  return event.type === "message_added" && event.imported?.boundary === "compaction";
}

/** Events that a session can have before it is used here. */
const OPENING: ReadonlySet<string> = new Set<StoredEvent["event"]["type"]>([
  "message_added",
  "skills_resolved",
  "knowledge_applied",
]);

function startOf({ source }: SessionSettings): number | undefined {
  return timeMs(source?.started_at);
}

/** Unix time in milliseconds; undefined for no time. */
function timeMs(time: string | undefined): number | undefined {
  const ms = instant(time);
  return Number.isNaN(ms) ? undefined : ms;
}
