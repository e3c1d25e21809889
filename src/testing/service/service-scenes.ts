import assert from "node:assert/strict";
import type { Answerer, ToolPolicy } from "../../core/approval.ts";
import type { CompactionConfig } from "../../core/compactor.ts";
import { type ErrorCode, SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { type Message, toolResults, toolUses } from "../../core/message.ts";
import type { Capability } from "../../core/operations/operation.ts";
import type { SessionService } from "../../core/session-service.ts";
import { expects } from "../law.ts";
import type { ScriptedReply } from "../scripted-model.ts";

/** Settings of a service under test. Plain data, so that another process can make the service. */
export interface ServiceSetup {
  readonly capabilities: readonly Capability[];
  /** The answers of the model, in order. After the last one it answers "ok". */
  readonly replies?: readonly ScriptedReply[];
  readonly compaction?: Partial<CompactionConfig>;
  /** The tools that need approval, and how long a turn waits for it. */
  readonly approvals?: {
    readonly policies?: Readonly<Record<string, ToolPolicy>>;
    readonly answerers?: readonly Answerer[];
    readonly timeoutMs?: number;
  };
}

/** Makes a service. In one place, services with `session-store` share their stores. */
export type OpenService = (setup: ServiceSetup) => Promise<SessionService>;

/** The six builds of the specification. */
export const BUILDS: Readonly<Record<string, readonly Capability[]>> = {
  A: [],
  B: ["session-store"],
  C: ["memory-store"],
  D: ["session-compaction"],
  E: ["session-store", "memory-store"],
  F: ["session-store", "memory-store", "session-compaction"],
};

export const EVERYTHING = BUILDS.F ?? [];

/** Leaves room for the tools, the skill and about one long answer. */
export const EAGER = {
  autoCompactThreshold: 2500,
  minTurnsBetweenCompactions: 1,
  maxSummaryTokens: 64,
};

export const LONG =
  "The quick brown fox considers the merits of jumping over the lazy dog. ".repeat(80);

/** The compaction of a session that seldom compacts, and then keeps its last turn alone. */
export const ROOMY = { recentTurnBudget: 1, autoCompactThreshold: 50_000 };

/** A session that compacted in its third turn, in a window with little room. */
export async function crampedSession(open: OpenService) {
  const compaction = { ...ROOMY, autoCompactThreshold: 2500, minTurnsBetweenCompactions: 1 };
  const replies = ["a fox", LONG, "The summary.", "a hare"];
  const service = await open({ capabilities: EVERYTHING, compaction, replies });
  const { sessionId } = await service.createSession({ memory: false });
  for (const prompt of ["one", "two", LONG]) await service.startTurn({ sessionId, prompt });
  return { service, sessionId };
}

export async function systemPrompt(service: SessionService, sessionId: string): Promise<string> {
  const { history } = await service.read({ sessionId });
  const [first] = history;
  return first?.message.role === "system" ? first.message.content : "";
}

export async function assertCode(
  promise: Promise<unknown>,
  code: ErrorCode,
): Promise<SessionError> {
  try {
    await promise;
  } catch (error) {
    expects(SessionError.is(error), `a SessionError ${code}`, error);
    assert.equal(error.code, code);
    return error;
  }
  return assert.fail(`nothing was thrown where ${code} was expected`);
}

export const RESULT = { tool_use_id: "c1", content: "Berth twelve, Emden.", is_error: false };

/** Two turns of another program's loop. The second one has no answer yet. */
export const ASKED: Message[] = [
  { role: "user", content: "Always moor the barge in the harbour of Emden." },
  { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "berths", args: { port: 7 } }] },
  { role: "tool_results", results: [RESULT] },
  { role: "assistant", content: "The barge moors at berth twelve." },
  { role: "user", content: "And tomorrow?" },
];

export async function assertCompacts(service: SessionService, sessionId: string): Promise<void> {
  const outcome = await service.compact({ sessionId });
  expects(outcome.compacted, "a compaction", outcome);
}

export async function assertWholeCalls(service: SessionService, sessionId: string): Promise<void> {
  const { history } = await service.read({ sessionId });
  const calls = history.flatMap(({ message }) => toolUses(message).map((call) => call.id));
  const results = history.flatMap(({ message }) =>
    toolResults(message).map((result) => result.tool_use_id),
  );
  assert.deepEqual(results, calls);
}

/** The first `count` events after `afterSeq`. */
export async function replay(
  service: SessionService,
  sessionId: string,
  afterSeq: number,
  count: number,
): Promise<EventEnvelope[]> {
  const events: EventEnvelope[] = [];
  const stop = new AbortController();
  for await (const event of service.subscribe({ sessionId, afterSeq }, { signal: stop.signal })) {
    events.push(event);
    if (events.length === count) stop.abort();
  }
  return events;
}
