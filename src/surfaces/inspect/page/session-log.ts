import {
  type EventEnvelope,
  isTransient,
  type SessionEvent,
  type StoredEvent,
} from "../../../core/event.ts";
import { contentText, isSummary, type Message } from "../../../core/message.ts";
import { type LoggedMessage, MessageAssembler } from "../../../core/message-assembler.ts";
import { estimateTokens } from "../../../core/tokens.ts";

/** One row of a transcript. */
export type Row =
  | {
      readonly kind: "said";
      readonly seq: number;
      readonly time: number;
      readonly who: string;
      readonly text: string;
    }
  | { readonly kind: "answer"; readonly seq: number; readonly time: number; readonly text: string }
  | { readonly kind: "thought"; readonly seq: number; readonly time: number; readonly text: string }
  | ToolRow
  | {
      readonly kind: "recalled";
      readonly seq: number;
      readonly time: number;
      readonly event: Recall;
    }
  | {
      readonly kind: "compacted";
      readonly seq: number;
      readonly time: number;
      readonly event: Compaction;
    }
  | {
      readonly kind: "note";
      readonly seq: number;
      readonly time: number;
      readonly tone: "quiet" | "bad";
      readonly text: string;
    };

/** A call of a tool, with its result once there is one. */
export interface ToolRow {
  readonly kind: "tool";
  readonly seq: number;
  readonly time: number;
  readonly name: string;
  readonly args: unknown;
  result?: string;
  isError?: boolean;
  durationMs?: number;
  waits?: boolean;
}

type Recall = Extract<SessionEvent, { type: "memory_recalled" }>;
type Undo = Extract<SessionEvent, { type: "compaction_undone" }>;
type Pruning = Extract<SessionEvent, { type: "tool_output_pruned" }>;
export type Compaction = Extract<SessionEvent, { type: "compaction_completed" }>;

/** A moment of the context window. */
export interface WindowPoint {
  readonly seq: number;
  readonly tokens: number;
  readonly kind: "call" | "compaction";
}

/** What a compaction did to the messages of the window. */
export interface WindowChange {
  readonly seq: number;
  readonly time: number;
  readonly event: Compaction;
  readonly before: readonly LoggedMessage[];
  readonly after: ReadonlySet<number>;
}

/** A session as its events tell it. Each event costs the same, however long the session is. */
export class SessionLog {
  readonly rows: Row[] = [];
  readonly points: WindowPoint[] = [];
  readonly changes: WindowChange[] = [];
  readonly recalls: {
    readonly seq: number;
    readonly time: number;
    readonly event: Recall;
    readonly prompt: string;
  }[] = [];
  /** By event: the event that undid it. */
  readonly undone = new Map<number, number>();
  /** What the model has said of an answer that is not whole yet. */
  streaming = "";
  seq = 0;
  #window: LoggedMessage[] = [];
  #messages: LoggedMessage[] = [];
  /** The window before each change of it, to go back to. */
  readonly #before = new Map<number, readonly LoggedMessage[]>();
  readonly #assembler = new MessageAssembler();
  readonly #tools = new Map<string, ToolRow>();
  #prompt = "";

  push({ seq, timestamp_ms: time, event_id, payload }: EventEnvelope): void {
    if (isTransient(payload)) {
      if (payload.type === "text_delta") this.streaming += payload.delta;
      return;
    }
    if (seq <= this.seq) return;
    this.seq = seq;
    const stored: StoredEvent = {
      schema_version: 1,
      event_id,
      seq,
      timestamp_ms: time,
      event: payload,
    };
    const message = this.#assembler.push(stored);
    if (message) {
      this.#window.push(message);
      this.#messages.push(message);
    }
    const at = { seq, time };
    switch (payload.type) {
      case "run_started":
        this.#prompt = payload.content ? contentText(payload.content) : payload.prompt;
        this.rows.push({
          kind: "said",
          ...at,
          who: payload.origin?.speaker ?? payload.origin?.author ?? "user",
          text: this.#prompt,
        });
        return;
      case "message_added":
        this.#rowsOf(payload.message, at, payload.origin?.speaker ?? payload.origin?.author);
        return;
      case "reasoning_complete":
        this.rows.push({ kind: "thought", ...at, text: payload.content });
        return;
      case "text_complete":
        this.streaming = "";
        this.rows.push({ kind: "answer", ...at, text: payload.content });
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
        this.streaming = "";
        this.points.push({
          seq,
          kind: "call",
          tokens: payload.usage.input_tokens || (payload.estimated_input_tokens ?? 0),
        });
        return;
      case "memory_recalled":
        this.rows.push({ kind: "recalled", ...at, event: payload });
        this.recalls.push({ ...at, event: payload, prompt: this.#prompt });
        return;
      case "compaction_completed":
        this.#compact(payload, at);
        return;
      case "tool_output_pruned":
        this.#before.set(seq, this.#window.slice());
        this.#note(at, "quiet", prunedText(payload));
        return;
      case "compaction_undone":
        this.#undo(payload, at);
        return;
      default: {
        const note = noteOf(payload);
        if (note) this.#note(at, ...note);
      }
    }
  }

  #compact(event: Compaction, at: { seq: number; time: number }): void {
    const before = this.#window;
    this.#before.set(at.seq, before);
    const left = (id: number) => event.discarded.some(({ from, to }) => from <= id && id <= to);
    this.#window = before.filter(({ id }) => !left(id));
    this.changes.push({ ...at, event, before, after: new Set(this.#window.map(({ id }) => id)) });
    this.points.push({ seq: at.seq, kind: "compaction", tokens: event.tokens_after });
    this.rows.push({ kind: "compacted", ...at, event });
  }

  /** The window is what it was before that change, with what was said since. */
  #undo({ undone, left_out = [] }: Undo, at: { seq: number; time: number }): void {
    const now = this.#window;
    this.#before.set(at.seq, now);
    const since = this.#messages.filter(({ id }) => id > undone);
    const back = [...(this.#before.get(undone) ?? now), ...since];
    this.#window = back.filter(({ id }) => !left_out.includes(id));
    this.undone.set(undone, at.seq);
    this.#note(at, "quiet", `Took back what event ${undone} did to the window`);
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
        this.rows.push({ kind: "said", ...at, who: author ?? "program", text: this.#prompt });
        return;
      case "assistant":
        if (message.content) this.rows.push({ kind: "answer", ...at, text: message.content });
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
            this.rows.push({ kind, ...at, text: block.data.text });
          }
        }
        return;
      case "tool_results":
        for (const { tool_use_id, content, is_error } of message.results)
          this.#result(tool_use_id, content, is_error);
    }
  }

  #note(at: { seq: number; time: number }, tone: "quiet" | "bad", text: string): void {
    this.rows.push({ kind: "note", ...at, tone, text });
  }

  #tool(id: string, row: ToolRow): void {
    this.#tools.set(id, row);
    this.rows.push(row);
  }

  #result(id: string, result: string, isError: boolean, durationMs?: number): void {
    const row = this.#tools.get(id);
    if (!row) return;
    row.result = result;
    row.isError = isError;
    if (durationMs !== undefined) row.durationMs = durationMs;
  }
}

function prunedText({ pruned, tokens_before, tokens_after }: Pruning): string {
  return `Shortened ${pruned.length} old tool outputs: ${tokens_before} → ${tokens_after} tokens`;
}

/** What an event without a row of its own says to people, if it does. */
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
    case "text_forgotten":
      return ["quiet", `Forgot ${event.messages.length} messages`];
    case "run_paused":
      return ["quiet", "Waits for an approval"];
    case "session_archived":
      return ["quiet", "Archived"];
    default:
      return undefined;
  }
}

/** Whether the log that is shown still grows. */
export type LiveState = "loading" | "live" | "still" | "paused" | "lost";

export interface LiveLog {
  readonly log: SessionLog;
  readonly state: LiveState;
  readonly error: unknown;
}

/** What people said, and the last answer to each of it. */
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

/** Where a message of the window is after a compaction. */
export type Fate = "kept" | "shortened" | "quoted" | "in memory" | "in the log";

export function fateOf(message: LoggedMessage, { after, event }: WindowChange): Fate {
  if (after.has(message.id)) {
    return event.pruned.some((one) => one.message === message.id) ? "shortened" : "kept";
  }
  const text = textOf(message.message).trim();
  if (message.message.role === "tool_results" || text === "") return "in the log";
  const isQuoted = message.message.role === "user" && event.summary?.includes(text.slice(0, 120));
  return isQuoted ? "quoted" : "in memory";
}

export function textOf(message: Message): string {
  switch (message.role) {
    case "user":
      return contentText(message.content);
    case "block_assistant":
      return message.blocks
        .flatMap((block) => (block.block_type === "text" ? [block.data.text] : []))
        .join("\n");
    case "tool_results":
      return message.results.map(({ content }) => content).join("\n");
    default:
      return message.content;
  }
}

/** Whose words a message has, for people. */
export function speakerOf(message: Message): string {
  if (message.role === "tool_results") return "tool";
  if (message.role === "block_assistant" || message.role === "assistant") {
    return textOf(message).trim() === "" ? "tool call" : "model";
  }
  return message.role;
}

export function tokensOf(message: Message): number {
  return estimateTokens([message]);
}
