import type { CallToolResult, Notification } from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { type EventEnvelope, isTransient } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import { callOperation, wireError } from "../call-operation.ts";
import { OPERATIONS, type Operation, type OperationName } from "../operations.ts";
import { tellTurn } from "../turn-events.ts";
import { OPERATION_OF_TOOL } from "./mcp-tools.ts";
import { EVENTS_META, WHOLE_META } from "./meta-keys.ts";
import { withinSearchBudget, withSearchDefault } from "./search-budget.ts";
import { SESSION_EVENTS, sessionEvents } from "./session-events.ts";

/** What a client may be told while a call runs; log levels that it did not ask for are not sent. */
export type ToldLevel = "debug" | "info";

/** A call of a tool, as any transport has it. */
export interface ToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Whether the client wants log notifications of this level. */
  wants(level: ToldLevel): boolean;
  /** Resolves when the client has room for more. */
  notify(notification: Notification): Promise<void>;
}

/** Runs a tool. A failure is a result too: a model shall read its code and its hint. */
export async function runToolCall(
  service: SessionService,
  call: ToolCall,
): Promise<CallToolResult> {
  try {
    return toolResult(await runTool(service, call), false);
  } catch (error) {
    return toolResult({ ...wireError(SessionError.from(error)) }, true);
  }
}

function toolResult(structuredContent: Record<string, unknown>, isError: boolean): CallToolResult {
  const text = JSON.stringify(structuredContent);
  return {
    content: [{ type: "text", text }],
    structuredContent,
    ...(isError ? { isError } : {}),
  };
}

async function runTool(service: SessionService, call: ToolCall): Promise<Record<string, unknown>> {
  const { name, args, meta, signal } = call;
  if (name === SESSION_EVENTS.tool) {
    return await sessionEvents(service, args, {
      signal,
      onOpen: (seq) => void tell(call, { subscribed: seq }).catch(() => {}),
      send: (event) => tell(call, { event }),
    });
  }
  const operation = OPERATION_OF_TOOL.get(name) as OperationName;
  if (isSearch(operation) && meta[WHOLE_META] !== true) {
    const found = await callOperation(service, operation, withSearchDefault(args));
    return withinSearchBudget(found.results as never);
  }
  if (!(OPERATIONS[operation] as Operation).tells) {
    return await callOperation(service, operation, args, { signal });
  }
  return await runTurn(service, operation, call);
}

function isSearch(operation: OperationName): boolean {
  return operation === "searchMemory" || operation === "searchHistory";
}

/** Runs what tells of itself in events, and has told all of them when it returns. */
async function runTurn(service: SessionService, operation: OperationName, call: ToolCall) {
  const progress = progressOf(call);
  const tellBoth = async (event: EventEnvelope) => {
    await tell(call, { event });
    await progress(event);
  };
  // Who is gone hears nothing; the call itself ends by its signal.
  return await tellTurn(service, String(call.args.session_id), tellBoth, (onEvent) =>
    callOperation(service, operation, call.args, { signal: call.signal, onEvent }),
  );
}

interface Told {
  readonly event?: EventEnvelope;
  /** The place in the log after which a subscription has every event. */
  readonly subscribed?: number;
}

/** Tells of something in the session as a log notification, if the client wants to hear of it. */
async function tell({ args, meta, wants, notify }: ToolCall, told: Told): Promise<void> {
  const level = told.event && isTransient(told.event.payload) ? "debug" : "info";
  const tag = meta[EVENTS_META];
  if (tag === undefined && !wants(level)) return;
  await notify({
    method: "notifications/message",
    params: {
      level,
      logger: "rkat",
      data: { session_id: String(args.session_id), ...told },
      ...(tag === undefined ? {} : { _meta: { [EVENTS_META]: tag } }),
    },
  });
}

/** Reports each durable event as a step, to a client that asked for progress. */
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
