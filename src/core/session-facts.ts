import { instant } from "../text/time/calendar.ts";
import { type AllowedCalls, covers } from "./approval.ts";
import type { SessionSettings, StoredEvent } from "./event.ts";
import { given } from "./fields.ts";
import type { KnownFork } from "./kept-state.ts";
import type { SessionSnapshot } from "./session-snapshot.ts";
import { addUsage, NO_USAGE, type Usage } from "./usage.ts";

/** A session besides its messages: its settings, its counters, and where it is in its life. A fold of its log. */
export class SessionFacts {
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
  /** The compactions by the agent that an imported session is from. */
  recordedCompactions = 0;
  /** Input tokens of the last model call; 0 after a compaction or a pruning. */
  lastInputTokens = 0;
  turns = 0;
  messageCount = 0;
  lastAssistantText: string | null = null;
  /** Whether the log ends inside a run. It runs now, or its process was killed. */
  running = false;
  /** The calls that the user allowed for the rest of the session. */
  allowed: readonly AllowedCalls[] = [];
  /** The sessions that began with its history. */
  forks: readonly KnownFork[] = [];

  constructor(id: string) {
    this.id = id;
  }

  protected noteFact({ timestamp_ms, event }: StoredEvent): void {
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
      case "session_titled":
        this.settings = titled(this.settings, event.title);
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
        return;
    }
  }

  #allow({ tool, command }: AllowedCalls): void {
    const calls = { tool, ...(command === undefined ? {} : { command }) };
    if (!this.allowed.some((known) => covers(known, calls)))
      this.allowed = [...this.allowed, calls];
  }

  /** The facts as a snapshot has them. */
  protected facts() {
    return {
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
      recorded_compactions: this.recordedCompactions,
      ...(this.allowed.length === 0 ? {} : { allowed: this.allowed }),
      ...(this.forks.length === 0 ? {} : { forks: this.forks }),
    };
  }

  protected restoreFacts(snapshot: SessionSnapshot): void {
    this.seq = snapshot.seq;
    this.createdAtMs = snapshot.created_at_ms;
    this.updatedAtMs = snapshot.updated_at_ms;
    this.archived = snapshot.archived;
    this.running = snapshot.running;
    this.settings = snapshot.settings;
    this.usage = snapshot.usage;
    this.modelCalls = snapshot.model_calls;
    this.lastCompactionCall = snapshot.last_compaction_call ?? undefined;
    this.compactions = snapshot.compactions;
    // An earlier version did not count them. Those in the history are counted.
    this.recordedCompactions = snapshot.recorded_compactions ?? this.recordedCompactions;
    this.lastInputTokens = snapshot.last_input_tokens;
    this.turns = snapshot.turns;
    this.messageCount = snapshot.message_count;
    this.lastAssistantText = snapshot.last_assistant_text;
    this.allowed = snapshot.allowed ?? [];
    this.forks = snapshot.forks ?? [];
  }
}

/** Whether the message is the summary of a compaction of another agent. */
export function isRecordedCompaction(event: StoredEvent["event"]): boolean {
  return event.type === "message_added" && event.imported?.boundary === "compaction";
}

/** The settings of a session with another title. */
export function titled(
  { source, ...settings }: SessionSettings,
  title: string | undefined,
): SessionSettings {
  if (!source) return settings;
  const { title: _, ...untitled } = source;
  return { ...settings, source: { ...untitled, ...given({ title }) } };
}

/** When another agent began the session, in Unix milliseconds. */
export function startOf({ source }: SessionSettings): number | undefined {
  return timeMs(source?.started_at);
}

/** Unix time in milliseconds; undefined for no time. */
export function timeMs(time: string | undefined): number | undefined {
  const ms = instant(time);
  return Number.isNaN(ms) ? undefined : ms;
}
