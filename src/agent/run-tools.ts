import type { ApprovalAnswer } from "../core/approval.ts";
import type { DurableEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { joinSignals } from "../core/join-signals.ts";
import type { ToolUse } from "../core/message.ts";
import { NO_TRACES, type SpanStart, type Traces } from "../core/traces.ts";
import type { WaitingCall } from "../core/waiting-calls.ts";
import {
  type Approvals,
  approvalRequested,
  approvalResolved,
  DENIALS,
  denied,
  type GivenAnswer,
  refusedBySettings,
  type Verdict,
} from "./approvals.ts";
import type { RunBudget } from "./run-budget.ts";
import { completed, type TurnLog } from "./run-events.ts";
import { areTooDeep, executeTool, type ToolRun, type ToolSet, toolFailure } from "./tool-set.ts";

export interface ToolsContext {
  readonly log: TurnLog;
  readonly tools: ToolSet;
  /** Missing when every call may run. */
  readonly approvals?: Approvals;
  readonly budget: RunBudget;
  readonly toolTimeoutMs: number;
  readonly traces?: Traces;
  readonly signal: AbortSignal;
}

/** Asks for an answer to a call. `undefined`: there is none, and the call goes on waiting. */
type Ask = (
  call: ToolUse,
  waiting: WaitingCall,
  signal: AbortSignal,
) => Promise<{ readonly answer: GivenAnswer; readonly superseded?: true } | undefined>;

/** By call id. Each call is judged once, so that what the log says of it is what happens. */
export type Verdicts = ReadonlyMap<string, Verdict>;

export function judgeCalls(
  calls: readonly ToolUse[],
  { approvals }: Pick<ToolsContext, "approvals">,
): Verdicts {
  const judge = (call: ToolUse): Verdict => {
    const verdict = approvals?.judge(call) ?? { policy: "allow" };
    // A call that cannot run needs no answer.
    return verdict.policy === "ask" && areTooDeep(call.args) ? { policy: "allow" } : verdict;
  };
  return new Map(calls.map((call) => [call.id, judge(call)]));
}

/** The events that follow new calls: which ones begin, need approval, or are denied. */
export function announcedCalls(
  calls: readonly ToolUse[],
  verdicts: Verdicts,
  { log, approvals }: Pick<ToolsContext, "log" | "approvals">,
): DurableEvent[] {
  return calls.map((call) => {
    const { id, name } = call;
    const verdict = verdicts.get(id);
    switch (verdict?.policy) {
      case "allow":
        return { type: "tool_execution_started", id, name };
      case "ask":
        return approvalRequested(call, log.state, approvals?.mayAnswer ?? ["user"]);
      default:
        return refusedBySettings(call, verdict?.reason);
    }
  });
}

/**
 * Runs calls in parallel. Those that need approval start when they have it:
 *
 *     tool_call_requested ─┬─────────────────────────────────────────► tool_execution_started …
 *                          ├─ tool_approval_requested ─ …_resolved ─┬─► tool_execution_started …
 *                          │                                        └─► the result "denied"
 *                          └─ tool_approval_resolved (settings) ──────► the result "denied"
 *
 * Each result is logged when it comes. When all are there, `tool_result_received` follows in the order
 * of the calls. Returns false when calls go on waiting.
 */
export async function runTools(
  calls: readonly ToolUse[],
  context: ToolsContext,
  { verdicts = new Map(), ask = asker(context) }: { verdicts?: Verdicts; ask?: Ask } = {},
): Promise<boolean> {
  const { log } = context;
  const failed = new Set<string>();
  let left = calls.length;
  const stop = new AbortController();
  const { signal, release } = joinSignals([context.signal, stop.signal]);
  const outcomes = await Promise.allSettled(
    calls
      .map(async (call) => {
        const verdict = verdicts.get(call.id);
        const events = await runCall(call, verdict, context, (waiting) =>
          ask(call, waiting, signal),
        );
        if (!events) return;
        if (events.some((event) => event.type === "tool_execution_completed" && event.is_error)) {
          failed.add(call.id);
        }
        left -= 1;
        await log.commit(left > 0 ? events : [...events, ...received(calls, failed)]);
      })
      .map((run) =>
        run.catch((error: unknown) => {
          // The other calls need no answer any more.
          stop.abort(error);
          throw error;
        }),
      ),
  );
  release();
  for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  return left === 0;
}

/** Denies waiting calls without asking, because a new prompt came. */
export const supersede: Ask = async () => ({
  answer: { decision: "deny", reason: DENIALS.superseded() },
  superseded: true,
});

/** The final events of a call; `undefined` when it goes on waiting. */
async function runCall(
  call: ToolUse,
  verdict: Verdict | undefined,
  context: ToolsContext,
  ask: (waiting: WaitingCall) => ReturnType<Ask>,
): Promise<DurableEvent[] | undefined> {
  const { log, approvals } = context;
  const waiting = log.state.waiting.get(call.id);
  if (!waiting) {
    if (verdict?.policy === "allow") return await execute(call, context);
    return [completed(call, denied(DENIALS.settings(call.name, verdict?.reason)), true, 0)];
  }
  const given: Awaited<ReturnType<Ask>> = waiting.answer
    ? { answer: waiting.answer }
    : await ask(waiting);
  if (!given) return undefined;
  const { answer, superseded } = given;
  const resolved = waiting.answer
    ? []
    : [approvalResolved(call, waiting, answer, superseded && "superseded")];
  if (answer.decision !== "allow") {
    const message = superseded ? DENIALS.superseded() : denial(call.name, answer);
    await log.commit(resolved);
    await approvals?.settled([waiting.approvalId]);
    return [completed(call, denied(message), true, 0)];
  }
  const { id, name } = call;
  await log.commit([...resolved, { type: "tool_execution_started", id, name }]);
  await approvals?.settled([waiting.approvalId]);
  return await execute(call, context);
}

async function execute(call: ToolUse, context: ToolsContext): Promise<DurableEvent[]> {
  const { log, tools, budget, toolTimeoutMs: timeoutMs, signal } = context;
  const { id, name } = call;
  if (!budget.takeToolCall()) {
    const why = "The turn's budget of tool calls is used up.";
    return [completed(call, toolFailure("execution_failed", why).content, true, 0)];
  }
  const { content, is_error, durationMs, timedOutAfterMs } = await tracedCall(call, context, () =>
    executeTool(call, tools, {
      sessionId: log.state.id,
      ...given({ user: log.state.settings.user }),
      signal,
      timeoutMs,
    }),
  );
  const done = completed(call, content, is_error, durationMs);
  if (timedOutAfterMs === undefined) return [done];
  return [{ type: "tool_execution_timed_out", id, name, timeout_ms: timedOutAfterMs }, done];
}

/** A call as traces show it. A tool that fails throws nothing: the model is told. */
async function tracedCall(
  { id, name, args }: ToolUse,
  { log, traces = NO_TRACES }: ToolsContext,
  work: () => Promise<ToolRun>,
): Promise<ToolRun> {
  const start: SpanStart = {
    operation: "execute_tool",
    of: name,
    sessionId: log.state.id,
    fields: { "gen_ai.tool.call.id": id, "gen_ai.tool.type": "function" },
    contents: () => ({ args }),
  };
  return await traces.span(start, async (span) => {
    const run = await work();
    if (run.is_error) span.failed(run.timedOutAfterMs === undefined ? "tool_error" : "timeout");
    span.said(() => ({ result: run.content }));
    return run;
  });
}

function asker({ log, approvals }: ToolsContext): Ask {
  return async ({ id: toolUseId, name: tool, args }, waiting, signal) => {
    const { approvalId, goal, requestedAt, mayAnswer } = waiting;
    const sessionId = log.state.id;
    const where = { approvalId, sessionId, toolUseId };
    const pending = { ...where, tool, args, goal, requestedAt, ...given({ mayAnswer }) };
    const answer = await approvals?.ask(pending, signal);
    return answer && { answer };
  };
}

function denial(name: string, answer: ApprovalAnswer): string {
  if (answer.by === "settings") return DENIALS.settings(name, answer.reason);
  return answer.by === "model" ? DENIALS.model(answer) : DENIALS.user(answer);
}

function received(calls: readonly ToolUse[], failed: ReadonlySet<string>): DurableEvent[] {
  return calls.map(({ id, name }) => ({
    type: "tool_result_received",
    id,
    name,
    is_error: failed.has(id),
  }));
}
