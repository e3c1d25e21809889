import { z } from "zod";
import type { EventEnvelope } from "../event.ts";
import type { Issue } from "../issues.ts";
import { isSummary, type Message, toolResults, toolUses } from "../message.ts";
import { messageSchema, promptSchema } from "../message-schema.ts";
import type { TokenUsage } from "../usage.ts";
import type { Given, Operation } from "./operation.ts";
import {
  compactionSettings,
  count,
  nothing,
  origin,
  positive,
  type SessionRequest,
  sessionId,
  sessionRequest,
  shape,
  usage,
} from "./request-fields.ts";

/** Limits of one run. Reaching one ends the run, not the session. */
const budget = z.strictObject({
  /** Input and output tokens of all model calls of the run. */
  maxTotalTokens: positive.optional(),
  maxDurationMs: positive.optional(),
  maxToolCalls: positive.optional(),
  /** Model calls of the run. */
  maxModelCalls: positive.optional(),
});

export const startTurn = z.strictObject({
  sessionId,
  prompt: promptSchema,
  model: z.string().min(1).optional(),
  maxTokens: positive.optional(),
  budget: budget.optional(),
  compaction: compactionSettings.optional(),
  /** Without it, the prompt counts as the user's word. Over JSON-RPC and REST the author must be given for that. */
  origin: origin.optional(),
  /** Messages to add to the history before the prompt, such as a system message. */
  context: z.array(messageSchema).max(1000).optional(),
});

/** Without a prompt it continues a run whose calls waited for approval. */
export const resumeTurn = startTurn.extend({ prompt: startTurn.shape.prompt.optional() });

export const appendMessages = z.strictObject({
  sessionId,
  messages: z
    .array(messageSchema)
    .min(1)
    .max(10_000)
    .describe(
      "Stored whole or not at all. Every tool call must come with its result, and none may be a summary.",
    )
    .superRefine((messages, { issues, value }) => {
      for (const issue of issuesOfBatch(messages)) {
        issues.push({ code: "custom", input: value, ...issue, path: [...issue.path] });
      }
    }),
  /** A name for this batch. A retry with the same key adds nothing. A session remembers its last 256 keys. */
  key: z.string().min(1).max(200).optional(),
  /** Who wrote the user messages. Without it they are a program's, and teach nothing. */
  origin: origin.optional(),
});

export const compactSession = z.strictObject({
  sessionId,
  /** Added to the compaction prompt. */
  instructions: z.string().max(10_000).optional(),
});

export type Budget = Given<z.infer<typeof budget>>;

export type StartTurn = z.input<typeof startTurn>;

export type ResumeTurn = z.input<typeof resumeTurn>;

export type AppendMessages = z.input<typeof appendMessages>;

export type CompactSession = z.infer<typeof compactSession>;

export interface TurnOptions {
  /** Interrupts the turn. The promise then rejects with `TURN_INTERRUPTED`. */
  readonly signal?: AbortSignal;
  /**
   * Called with every event of the turn, in order, before the promise resolves. If it throws or
   * rejects, that is a process warning, and the turn goes on.
   */
  readonly onEvent?: (event: EventEnvelope) => void;
}

export interface TurnResult {
  readonly sessionId: string;
  /** The model's last answer. */
  readonly text: string;
  /** `end_turn` is the usual end. With another one the answer may be incomplete. */
  readonly stopReason: TurnEnd;
  /** Turns of the session so far, this one included. */
  readonly turns: number;
  /** Model calls of this run. */
  readonly modelCalls: number;
  /** Tool calls of this run. */
  readonly toolCalls: number;
  /** The usage of this run. */
  readonly usage: TokenUsage;
}

export interface MessagesAppended {
  readonly sessionId: string;
  /** How many messages were new: all of them, or 0 when their key was used before. */
  readonly added: number;
  /** Their ids, in order. A retry with the same key returns the same ids. */
  readonly messages: readonly number[];
  /** Turns of the session so far. */
  readonly turns: number;
  /** Estimated tokens of the history. */
  readonly historyTokens: number;
}

export type CompactionOutcome =
  | {
      readonly compacted: true;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly discardedMessages: number;
      readonly summaryTokens: number;
    }
  | { readonly compacted: false; readonly reason: string };

const turnEnd = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "content_filter",
  "turn_limit",
  "budget_exhausted",
  "approval_required",
]);

/**
 * Why a turn ended. `approval_required`: tool calls wait for approval, and no answer came in time.
 * `resume` continues.
 */
export type TurnEnd = z.infer<typeof turnEnd>;

export const turnResult = shape<TurnResult>()({
  sessionId: z.string(),
  text: z.string(),
  stopReason: turnEnd,
  turns: count,
  modelCalls: count,
  toolCalls: count,
  usage,
});

export const messagesAppended = shape<MessagesAppended>()({
  sessionId: z.string(),
  added: count,
  messages: z.array(count),
  turns: count,
  historyTokens: count,
});

/** With `compacted` false there is a reason, with true there are the figures. */
export const compactionOutcome = z.object({
  compacted: z.boolean(),
  reason: z.string().optional(),
  messagesBefore: count.optional(),
  messagesAfter: count.optional(),
  tokensBefore: count.optional(),
  tokensAfter: count.optional(),
  discardedMessages: count.optional(),
  summaryTokens: count.optional(),
}) as unknown as z.ZodType<CompactionOutcome>;

/** Turns, and what else goes into a history. */
export interface TurnOperations {
  /** Runs a turn to its end and returns the answer. */
  startTurn(request: StartTurn, options?: TurnOptions): Promise<TurnResult>;
  /**
   * Runs a turn in a session of this or an earlier process. Needs `session-store`. Without a prompt
   * it continues a turn whose tool calls waited for approval.
   */
  resume(request: ResumeTurn, options?: TurnOptions): Promise<TurnResult>;
  /**
   * Adds messages to the history without a turn, to record what another program's loop did. All are
   * stored, or none. No model is called; the next turn compacts when that is due.
   */
  appendMessages(request: AppendMessages): Promise<MessagesAppended>;
  /**
   * Interrupts the turn that runs. One of another process on the same store ends within half a
   * second. `SESSION_NOT_RUNNING` when there is none.
   */
  interrupt(request: SessionRequest): Promise<void>;
  /** Compacts now, whatever the threshold says. Needs `session-compaction`. */
  compact(request: CompactSession, options?: TurnOptions): Promise<CompactionOutcome>;
}

export const TURN_OPERATIONS = {
  startTurn: {
    description: "Run a turn in a session, to the model's final answer.",
    request: startTurn,
    result: turnResult,
    rpc: "turn/start",
    http: { method: "POST", path: "/sessions/{session_id}/messages" },
    tool: "turn_start",
    toolText:
      "Run a turn in a session: the prompt goes to the session's model, which may call tools, and you get its final answer. It may take minutes. A session runs one turn at a time; a second one fails with SESSION_BUSY.",
    command: "run",
    effect: "adds",
    streams: true,
  },
  resume: {
    description:
      "Run a turn in a stored session. Without a prompt, continue a turn whose tool calls waited for approval.",
    request: resumeTurn,
    result: turnResult,
    rpc: "session/resume",
    http: { method: "POST", path: "/sessions/{session_id}/resume" },
    tool: "session_resume",
    toolText:
      "Run a turn in a stored session. Without a prompt, continue a turn whose tool call waited for approval. Like turn_start, but it needs the capability session-store.",
    command: "resume",
    effect: "adds",
    streams: true,
    needs: "session-store",
  },
  appendMessages: {
    description:
      "Append messages to a session without running a turn, to record what another program's loop did.",
    request: appendMessages,
    result: messagesAppended,
    rpc: "session/append",
    http: { method: "POST", path: "/sessions/{session_id}/append" },
    tool: "session_append",
    toolText:
      "Append messages to a session without running a turn, to record a conversation that another program had. All are stored, or none. A tool call must come with its results. With a key, a retry adds nothing.",
    command: "sessions append",
    effect: "adds",
  },
  interrupt: {
    description: "Interrupt the running turn of a session.",
    request: sessionRequest,
    result: nothing,
    resultKey: "interrupted",
    rpc: "turn/interrupt",
    http: { method: "POST", path: "/sessions/{session_id}/interrupt" },
    tool: "turn_interrupt",
    toolText:
      "Interrupt the running turn of a session. The session stays intact, and its next turn continues from there. Fails with SESSION_NOT_RUNNING when no turn is running.",
    command: "(Ctrl-C)",
    effect: "adds",
  },
  compact: {
    description: "Compact a session's history now.",
    request: compactSession,
    result: compactionOutcome,
    rpc: "session/compact",
    http: { method: "POST", path: "/sessions/{session_id}/compact" },
    tool: "session_compact",
    toolText:
      "Compact a session's history now: a summary replaces older turns, and memory_search finds what they said.",
    command: "sessions compact",
    effect: "adds",
    streams: true,
    needs: "session-compaction",
  },
} as const satisfies Record<keyof TurnOperations, Operation>;

/**
 * What is wrong with messages that are to be appended to a history. After them no tool call may be
 * open, because providers refuse a history with a call that has no result:
 *
 *     U A T A      good
 *     U A          good, if A calls no tool
 *     U A(call)    the result is missing
 *     T A          the call is missing
 */
export function issuesOfBatch(messages: readonly Message[]): readonly Issue[] {
  return messages.flatMap((message, index): Issue[] => {
    const problem = isSummary(message)
      ? "is a summary, which only a compaction writes"
      : (problemOfCalls(message, messages[index + 1]) ??
        problemOfResults(message, messages[index - 1]));
    return problem === undefined ? [] : [{ path: [index], message: problem }];
  });
}

/** Each call has its own id, and the next message has its result. */
function problemOfCalls(message: Message, next: Message | undefined): string | undefined {
  const calls = toolUses(message).map(({ id }) => id);
  const results = idsOfResults(next);
  const twice = calls.find((id, index) => calls.indexOf(id) < index);
  if (twice !== undefined) return `calls two tools with the id "${twice}"`;
  const open = calls.find((id) => !results.includes(id));
  if (open !== undefined)
    return `calls a tool with the id "${open}", and the next message has no result of it`;
  return undefined;
}

/** Each result belongs to a call of the message before, and comes once. */
function problemOfResults(message: Message, before: Message | undefined): string | undefined {
  const calls = before ? toolUses(before).map(({ id }) => id) : [];
  const results = idsOfResults(message);
  const stray = results.find((id, index) => !calls.includes(id) || results.indexOf(id) < index);
  if (stray === undefined) return undefined;
  return calls.includes(stray)
    ? `has two results of the call "${stray}"`
    : `has a result of the call "${stray}", which the message before does not make`;
}

function idsOfResults(message: Message | undefined): readonly string[] {
  return message ? toolResults(message).map((result) => result.tool_use_id) : [];
}
