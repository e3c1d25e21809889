import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type Notification,
} from "@modelcontextprotocol/server";
import { SessionError } from "../../core/errors.ts";
import { type EventEnvelope, isTransient } from "../../core/event.ts";
import type { SessionService } from "../../core/session-service.ts";
import { callOperation, wireError } from "../call-operation.ts";
import { OPERATIONS, type Operation, type OperationName } from "../operations.ts";
import { tellTurn } from "../turn-events.ts";
import { ApprovalForms, type Elicit } from "./approval-forms.ts";
import type { ApprovalRounds } from "./approval-rounds.ts";
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
  /** How the host's user is asked while a turn runs; left out where the host cannot be. */
  readonly elicit?: Elicit;
  /** How they are asked between two requests, with what they said; left out likewise. */
  readonly rounds?: {
    readonly turns: ApprovalRounds;
    readonly responses: Readonly<Record<string, unknown>> | undefined;
  };
}

/** Runs a tool. A failure is a result too: a model shall read its code and its hint. */
export async function runToolCall(
  service: SessionService,
  call: ToolCall,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const result = await runTool(service, call);
    return isInputRequiredResult(result) ? result : toolResult(result, false);
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

async function runTool(
  service: SessionService,
  call: ToolCall,
): Promise<Record<string, unknown> | InputRequiredResult> {
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
    return withinSearchBudget(found.results as never, args);
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
  const { args, rounds, signal } = call;
  const sessionId = String(args.session_id);
  const forms = call.elicit && new ApprovalForms(service, sessionId, call.elicit);
  const tellBoth = async (event: EventEnvelope) => {
    await tell(call, { event });
    await progress(event);
  };
  if (rounds) {
    const { turns, responses } = rounds;
    return await turns.run({ operation, args, responses, signal, tell: tellBoth });
  }
  // Who is gone hears nothing; the call itself ends by its signal.
  return await tellTurn(service, sessionId, tellBoth, (tellEvent) => {
    const onEvent = (event: EventEnvelope) => {
      forms?.onEvent(event);
      tellEvent(event);
    };
    return callOperation(service, operation, args, { signal, onEvent });
  }).finally(() => forms?.end());
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
