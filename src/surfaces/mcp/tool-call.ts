import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type Notification,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { type EventEnvelope, isTransient } from "../../core/event.ts";
import { isObject } from "../../core/fields.ts";
import type { Operation } from "../../core/operations/operation.ts";
import { OPERATIONS, type OperationName } from "../../core/operations.ts";
import type { SessionService } from "../../core/session-service.ts";
import { callOperation, wireError, withAuthor } from "../call-operation.ts";
import { streamTurn } from "../turn-events.ts";
import { ApprovalForms, type ApprovalRounds, type Elicit } from "./approval-rounds.ts";
import { OPERATION_OF_TOOL, withinSearchBudget, withSearchDefault } from "./mcp-tools.ts";
import { EVENTS_META, type SessionNotice, WHOLE_META } from "./meta-keys.ts";
import { SESSION_EVENTS, sessionEvents } from "./session-events.ts";

/** The log levels that rkat sends: deltas are `debug`, all else is `info`. */
export type NoticeLevel = "debug" | "info";

/** A tool call, over any transport. */
export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Whether the client wants log notifications of this level. */
  wants(level: NoticeLevel): boolean;
  /** Resolves when the client is ready for more. */
  notify(notification: Notification): Promise<void>;
  /** Asks the host's user while a turn runs. Only when the host supports it. */
  readonly elicit?: Elicit;
  /** Asks the host's user between two requests. Only when the host supports it. */
  readonly rounds?: {
    readonly turns: ApprovalRounds;
    readonly responses: Readonly<Record<string, unknown>> | undefined;
  };
}

/** Runs a tool. A failure is also a result, so that the model reads its code and hint. */
export async function runToolCall(
  service: SessionService,
  call: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const result = await runTool(service, call);
    return isInputRequiredResult(result) ? result : toolResult(result, false);
  } catch (error) {
    return failedCall(error);
  }
}

export function failedCall(error: unknown): CallToolResult {
  return toolResult({ ...wireError(SessionError.from(error)) }, true);
}

function toolResult(structuredContent: Record<string, unknown>, isError: boolean): CallToolResult {
  const text = JSON.stringify(structuredContent);
  return {
    content: [{ type: "text", text }],
    structuredContent,
    ...(isError ? { isError } : {}),
  };
}

async function runTool(
  service: SessionService,
  call: ToolCall,
): Promise<Record<string, unknown> | InputRequiredResult> {
  const { name, args, meta, signal } = call;
  if (name === SESSION_EVENTS.tool) {
    return await sessionEvents(service, args, {
      signal,
      onOpen: (seq) => void sendNotice(call, { subscribed: seq }).catch(() => {}),
      send: (event) => sendNotice(call, { event }),
    });
  }
  const operation = OPERATION_OF_TOOL.get(name) as OperationName;
  requireNoSystemMessages(operation, args);
  if (isSearch(operation) && meta[WHOLE_META] !== true) {
    const found = await callOperation(service, operation, withSearchDefault(args));
    const { results, ...beside } = found;
    return { ...withinSearchBudget(results as never, args), ...beside };
  }
  if (!(OPERATIONS[operation] as Operation).streams) {
    const request = withAuthor(operation, args, "model");
    return await callOperation(service, operation, request, { signal });
  }
  return await runTurn(service, operation, call);
}

/** The fields with messages for a session that others use too. A session that a model creates is its own. */
const MESSAGES_OF: Partial<Readonly<Record<OperationName, string>>> = {
  appendMessages: "messages",
  startTurn: "context",
  resume: "context",
};

/** A system message instructs the session, and a model's words are data. */
function requireNoSystemMessages(operation: OperationName, args: ToolCall["args"]): void {
  const field = MESSAGES_OF[operation];
  const messages = field === undefined ? undefined : args[field];
  if (field === undefined || !Array.isArray(messages)) return;
  const issues = messages.flatMap((message, index) =>
    isObject(message) && message.role === "system"
      ? [{ path: [field, index, "role"], message: "a model cannot add a system message" }]
      : [],
  );
  if (issues.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    issues,
    hint: "Send it as a user message. Programs add system messages over the SDK, JSON-RPC, REST or the command line.",
  });
}

function isSearch(operation: OperationName): boolean {
  return operation === "searchMemory" || operation === "searchHistory";
}

/** Runs an operation that streams events. Returns when it has ended and every event was sent. */
async function runTurn(service: SessionService, operation: OperationName, call: ToolCall) {
  const progress = progressOf(call);
  const { rounds, signal } = call;
  const sessionId = String(call.args.session_id);
  // A model wrote the arguments, so nothing in them can say that a person did.
  const args = withAuthor(operation, call.args, "model") as typeof call.args;
  const forms = call.elicit && new ApprovalForms(service, sessionId, call.elicit);
  const send = async (event: EventEnvelope) => {
    await sendNotice(call, { event });
    await progress(event);
  };
  if (rounds) {
    const { turns, responses } = rounds;
    return await turns.run({ operation, args, responses, signal, send });
  }
  return await streamTurn(service, sessionId, send, (push) => {
    const onEvent = (event: EventEnvelope) => {
      forms?.onEvent(event);
      push(event);
    };
    return callOperation(service, operation, args, { signal, onEvent });
  }).finally(() => forms?.end());
}

/** Sends a log notification, if the client wants notifications of its level. */
async function sendNotice(
  { args, meta, wants, notify }: ToolCall,
  notice: SessionNotice,
): Promise<void> {
  const level = notice.event && isTransient(notice.event.payload) ? "debug" : "info";
  const tag = meta[EVENTS_META];
  if (tag === undefined && !wants(level)) return;
  await notify({
    method: "notifications/message",
    params: {
      level,
      logger: "rkat",
      data: { session_id: String(args.session_id), ...notice },
      ...(tag === undefined ? {} : { _meta: { [EVENTS_META]: tag } }),
    },
  });
}

/** Reports each durable event as a step of progress, to a client that asked for progress. */
function progressOf({ meta, notify }: ToolCall): (event: EventEnvelope) => Promise<void> {
  const { progressToken } = meta;
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return async () => {};
  let progress = 0;
  return async ({ payload }) => {
    if (isTransient(payload)) return;
    progress += 1;
    const message = "name" in payload ? `${payload.type}: ${payload.name}` : payload.type;
    await notify({
      method: "notifications/progress",
      params: { progressToken, progress, message },
    });
  };
}
