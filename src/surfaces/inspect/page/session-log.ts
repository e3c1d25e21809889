import {
  type DurableEvent,
  type EventEnvelope,
  isTransient,
  type MessagesBroughtBack,
  type SessionEvent,
} from "../../../core/event.ts";
import { contentText, isSummary, type Message, toolResults } from "../../../core/message.ts";
import { MessageAssembler } from "../../../core/message-assembler.ts";
import { HistoryChanges } from "../../../core/session-history.ts";
import { RecordedCompactions, summaryIn } from "./recorded-compactions.ts";

interface RowBase {
  /** No other row of the session has it. */
  readonly id: number;
  readonly seq: number;
  readonly time: number;
  /** The id of the message that has it, once that is whole. */
  message?: number;
}

/** One row of a transcript. Several may be of one event. */
export type Row = RowBase &
  (
    | { readonly kind: "said"; readonly who: string; readonly text: string }
    | { readonly kind: "answer" | "thought"; readonly text: string }
    | { readonly kind: "recalled"; readonly event: Recall; readonly prompt: string }
    | { readonly kind: "compacted"; readonly event: Compaction }
    | { readonly kind: "recorded"; readonly text: string }
    | { readonly kind: "note"; readonly tone: "quiet" | "bad"; readonly text: string }
    | ToolCall
  );

/** A call of a tool, with its result once there is one. */
interface ToolCall {
  readonly kind: "tool";
  readonly name: string;
  readonly args: unknown;
  result?: string;
  /** The id of the message that has the result. */
  resultMessage?: number;
  isError?: boolean;
  durationMs?: number;
  waits?: boolean;
}

export type ToolRow = RowBase & ToolCall;

export type RecalledRow = Extract<Row, { kind: "recalled" }>;

/** The events after which what the model has written so far is whole, or is nothing. */
const ANSWERED: ReadonlySet<SessionEvent["type"]> = new Set([
  "text_complete",
  "turn_completed",
  "retrying",
  "run_started",
  "run_failed",
]);

const CHANGES: ReadonlySet<SessionEvent["type"]> = new Set([
  "run_completed",
  "run_failed",
  "session_archived",
  "session_unarchived",
]);

type WithoutId<Each> = Each extends unknown ? Omit<Each, "id"> : never;

type Recall = Extract<SessionEvent, { type: "memory_recalled" }>;
type Pruning = Extract<SessionEvent, { type: "tool_output_pruned" }>;
type Compaction = Extract<SessionEvent, { type: "compaction_completed" }>;

/** A moment of the context window. */
export interface WindowPoint {
  readonly seq: number;
  readonly tokens: number;
  readonly kind: "call" | "compaction";
}

/** A compaction in the log. */
export interface WindowChange {
  readonly seq: number;
  readonly time: number;
  readonly event: Compaction;
}

/** A session as its events tell it. Each event costs the same, however long the session is. */
export class SessionLog {
  readonly rows: Row[] = [];
  readonly points: WindowPoint[] = [];
  readonly changes: WindowChange[] = [];
  /** The compactions of another agent before the session was imported. */
  readonly recorded = new RecordedCompactions();
  /** By each change of the history that is not in force: the event that undid it, itself or with an earlier one. */
  readonly undone = new Map<number, number>();
  /** Records of memory that come back by themselves no more. */
  readonly refused = new Set<string>();
  /** The part of an answer that the model has written so far. */
  streaming = "";
  seq = 0;
  /** Whether all that there was has been read: what comes now happens now. */
  isWhole = false;
  /** Events since the page is open that change what is said of the whole session. */
  changesSeen = 0;
  /** The end of the log when its reading began. */
  #begunAt: number | undefined;
  readonly #history = new HistoryChanges();
  readonly #messages = new MessageAssembler();
  readonly #tools = new Map<string, ToolRow>();
  #prompt = "";

  /** Its reading begins, and the log ends at `lastSeq` now. Only the first time counts. */
  begin(lastSeq: number): void {
    this.#begunAt ??= lastSeq;
  }

  /** Whether a text was forgotten since its reading began: what was read before may still have it. */
  isOutdatedBy(events: readonly EventEnvelope[]): boolean {
    const begunAt = this.#begunAt ?? Infinity;
    return events.some(({ seq, payload }) => payload.type === "text_forgotten" && seq > begunAt);
  }

  push(envelope: EventEnvelope): void {
    const { event_id, seq, timestamp_ms, payload: event } = envelope;
    if (isTransient(event)) {
      if (event.type === "text_delta") this.streaming += event.delta;
      return;
    }
    if (seq <= this.seq) return;
    this.seq = seq;
    if (ANSWERED.has(event.type)) this.streaming = "";
    if (this.isWhole && CHANGES.has(event.type)) this.changesSeen += 1;
    this.#show(event, { seq, time: timestamp_ms });
    const whole = this.#messages.push({ schema_version: 1, event_id, seq, timestamp_ms, event });
    if (whole) this.#noteMessage(whole.id, whole.from, whole.message);
  }

  /** Tells the rows of a message its id. */
  #noteMessage(id: number, from: number, message: Message): void {
    for (const { tool_use_id } of toolResults(message)) {
      const row = this.#tools.get(tool_use_id);
      if (row) row.resultMessage = id;
    }
    if (message.role === "tool_results") return;
    for (let at = this.rows.length - 1; at >= 0; at -= 1) {
      const row = this.rows[at];
      if (row === undefined || row.seq < from) return;
      if (isOfMessage(row)) row.message = id;
    }
  }

  #show(payload: DurableEvent, at: { readonly seq: number; readonly time: number }): void {
    const { seq } = at;
    switch (payload.type) {
      case "run_started":
        this.#prompt = payload.content ? contentText(payload.content) : payload.prompt;
        this.#add({
          kind: "said",
          ...at,
          who: payload.origin?.speaker ?? payload.origin?.author ?? "user",
          text: this.#prompt,
        });
        return;
      case "message_added":
        this.recorded.note(seq, at.time, payload);
        if (payload.imported?.boundary === "compaction") {
          this.#add({ kind: "recorded", ...at, text: summaryIn(payload.message) });
          return;
        }
        this.#rowsOf(payload.message, at, payload.origin?.speaker ?? payload.origin?.author);
        return;
      case "reasoning_complete":
        this.#add({ kind: "thought", ...at, text: payload.content });
        return;
      case "text_complete":
        this.#add({ kind: "answer", ...at, text: payload.content });
        return;
      case "tool_call_requested":
        this.#tool(payload.id, { kind: "tool", ...at, name: payload.name, args: payload.args });
        return;
      case "tool_execution_completed":
        this.#result(payload.id, payload.result, payload.is_error, payload.duration_ms);
        return;
      case "tool_approval_requested": {
        const row = this.#tools.get(payload.id);
        if (row) row.waits = true;
        return;
      }
      case "tool_approval_resolved": {
        const row = this.#tools.get(payload.id);
        if (row) row.waits = false;
        if (payload.decision === "deny")
          this.#note(
            at,
            "bad",
            `Denied ${payload.name}${payload.reason ? `: ${payload.reason}` : ""}`,
          );
        return;
      }
      case "turn_completed":
        this.points.push({
          seq,
          kind: "call",
          tokens: payload.usage.input_tokens || (payload.estimated_input_tokens ?? 0),
        });
        return;
      case "memory_recalled":
        if (payload.records.length === 0) {
          this.#note(at, "quiet", "Records of memory had no room any more, and left");
          return;
        }
        this.#add({ kind: "recalled", ...at, event: payload, prompt: this.#prompt });
        return;
      case "compaction_completed":
        this.#history.note({ seq, event: payload });
        this.changes.push({ ...at, event: payload });
        this.points.push({ seq, kind: "compaction", tokens: payload.tokens_after });
        this.#add({ kind: "compacted", ...at, event: payload });
        return;
      case "tool_output_pruned":
        this.#history.note({ seq, event: payload });
        this.#note(at, "quiet", prunedText(payload));
        return;
      case "compaction_undone":
        this.#noteUndo(seq, payload);
        this.#note(at, "quiet", `Took back what event ${payload.undone} did to the window`);
        return;
      case "recall_refused":
        for (const id of payload.records) this.refused.add(id);
        this.#note(
          at,
          "quiet",
          `Refused ${payload.records.length} records: they come back by themselves no more`,
        );
        return;
      case "recall_allowed":
        for (const id of payload.records) this.refused.delete(id);
        this.#note(at, "quiet", `Took back the refusal of ${payload.records.length} records`);
        return;
      default: {
        const note = noteOf(payload);
        if (note) this.#note(at, ...note);
      }
    }
  }

  #noteUndo(seq: number, event: Extract<SessionEvent, { type: "compaction_undone" }>): void {
    const before = this.#history.inForce();
    this.#history.note({ seq, event });
    for (const change of before) this.undone.set(change, seq);
    for (const change of this.#history.inForce()) this.undone.delete(change);
  }

  /** The rows of a message that came whole, as those of imported sessions do. */
  #rowsOf(message: Message, at: { seq: number; time: number }, author: string | undefined): void {
    switch (message.role) {
      case "system":
        this.#note(at, "quiet", `System prompt\n${message.content}`);
        return;
      case "user":
        if (isSummary(message)) {
          this.#note(at, "quiet", contentText(message.content));
          return;
        }
        this.#prompt = contentText(message.content);
        this.#add({ kind: "said", ...at, who: author ?? "program", text: this.#prompt });
        return;
      case "assistant":
        if (message.content) this.#add({ kind: "answer", ...at, text: message.content });
        for (const { id, name, args } of message.tool_calls ?? [])
          this.#tool(id, { kind: "tool", ...at, name, args });
        return;
      case "block_assistant":
        for (const block of message.blocks) {
          if (block.block_type === "tool_use") {
            const { id, name, args } = block.data;
            this.#tool(id, { kind: "tool", ...at, name, args });
          } else {
            const kind = block.block_type === "text" ? "answer" : "thought";
            this.#add({ kind, ...at, text: block.data.text });
          }
        }
        return;
      case "tool_results":
        for (const { tool_use_id, content, is_error } of message.results)
          this.#result(tool_use_id, content, is_error);
    }
  }

  #add(row: WithoutId<Row>): void {
    this.rows.push({ ...row, id: this.rows.length });
  }

  #note(at: { seq: number; time: number }, tone: "quiet" | "bad", text: string): void {
    this.#add({ kind: "note", ...at, tone, text });
  }

  #tool(id: string, call: Omit<ToolRow, "id">): void {
    const row: ToolRow = { ...call, id: this.rows.length };
    this.rows.push(row);
    this.#tools.set(id, row);
  }

  #result(id: string, result: string, isError: boolean, durationMs?: number): void {
    const row = this.#tools.get(id);
    if (!row) return;
    row.result = result;
    row.isError = isError;
    if (durationMs !== undefined) row.durationMs = durationMs;
  }
}

function isOfMessage({ kind }: Row): boolean {
  return kind === "said" || kind === "answer" || kind === "thought" || kind === "tool";
}

function prunedText({ pruned, tokens_before, tokens_after }: Pruning): string {
  return `Shortened ${pruned.length} old tool outputs: ${tokens_before} → ${tokens_after} tokens`;
}

function broughtText({ messages, pinned }: MessagesBroughtBack): string {
  const which = messages.map(({ message }) => message).join(", ");
  return `Brought back what left the window: message ${which}, ${pinned ? "to stay" : "until the next compaction"}`;
}

/** A sentence for an event that has no row of its own; undefined when people need none. */
function noteOf(event: SessionEvent): readonly ["quiet" | "bad", string] | undefined {
  switch (event.type) {
    case "run_failed":
      return ["bad", event.error];
    case "compaction_failed":
      return ["bad", `A compaction failed: ${event.error}`];
    case "retrying":
      return ["bad", `Tries again (${event.attempt} of ${event.max_attempts}): ${event.error}`];
    case "tool_execution_timed_out":
      return ["bad", `${event.name} took longer than ${event.timeout_ms} ms`];
    case "messages_brought_back":
      return ["quiet", broughtText(event)];
    case "session_forked":
      return ["quiet", "A new session goes on from here"];
    case "text_forgotten":
      return [
        "quiet",
        `Forgot ${event.messages.length} ${event.messages.length === 1 ? "message" : "messages"}`,
      ];
    case "run_paused":
      return ["quiet", "Waits for an approval"];
    case "session_archived":
      return ["quiet", "Archived"];
    default:
      return undefined;
  }
}

/** Whether the log that is shown still grows. */
export type LiveState = "loading" | "read" | "live" | "looks" | "paused" | "lost";

export interface LiveLog {
  readonly log: SessionLog;
  readonly state: LiveState;
  readonly error: unknown;
}

/** The prompts of people, and the last answer to each. */
export function saidAndAnswered(rows: readonly Row[]): readonly Row[] {
  const kept: Row[] = [];
  let answer: Row | undefined;
  for (const row of rows) {
    if (row.kind === "answer") answer = row;
    if (row.kind !== "said") continue;
    if (answer) kept.push(answer);
    answer = undefined;
    kept.push(row);
  }
  if (answer) kept.push(answer);
  return kept;
}

/** A prompt, what came back from memory for it by itself, and what the agent searched for then. */
export interface AskedTurn {
  readonly seq: number;
  readonly time: number;
  readonly prompt: string;
  readonly asked: (RecalledRow | ToolRow)[];
}

/** A tool of rkat, whatever an agent calls the server that it is of. */
const SEARCHES = /(?:^|_)(?:memory_search|search_project_history)$/;

/** The turns of a session in which memory was asked. */
export function askedTurns(rows: readonly Row[]): readonly AskedTurn[] {
  const turns: AskedTurn[] = [];
  let turn: AskedTurn | undefined;
  for (const row of rows) {
    if (row.kind === "said") turn = { seq: row.seq, time: row.time, prompt: row.text, asked: [] };
    const isAsked = row.kind === "recalled" || (row.kind === "tool" && SEARCHES.test(row.name));
    if (!isAsked) continue;
    turn ??= { seq: row.seq, time: row.time, prompt: "", asked: [] };
    if (turn.asked.length === 0) turns.push(turn);
    turn.asked.push(row);
  }
  return turns;
}
