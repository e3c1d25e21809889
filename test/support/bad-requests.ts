import type { ErrorCode, SessionService } from "../../src/index.ts";

export interface BadRequest {
  readonly operation: keyof SessionService;
  readonly request: unknown;
  readonly code: ErrorCode;
}

const unknown = "019467d9-7e3a-7000-8000-000000000000";
const invalid = (operation: keyof SessionService, ...requests: readonly unknown[]) =>
  requests.map((request): BadRequest => ({ operation, request, code: "INVALID_PARAMS" }));

/** Requests that every surface refuses with the same code, of a service that has every capability. */
export function badRequests(sessionId: string): readonly BadRequest[] {
  const prompt = "hi";
  return [
    ...invalid(
      "createSession",
      null,
      "text",
      [],
      { colour: "red" },
      { model: 5 },
      { model: "nobody/knows" },
      { systemPrompt: 1 },
      { maxTokens: 1.5 },
      { memory: "yes" },
      { compaction: { autoCompactThreshold: -1 } },
      { compaction: { colour: "red" } },
      { labels: { a: 1 } },
      { labels: { "": "x" } },
      { messages: "none" },
      { messages: [{ role: "nobody" }] },
      { messages: [{ role: "user" }] },
    ),
    ...invalid(
      "startTurn",
      {},
      { sessionId },
      { prompt },
      { sessionId: "", prompt },
      { sessionId: 7, prompt },
      { sessionId: "x".repeat(201), prompt },
      { sessionId, prompt: "" },
      { sessionId, prompt: [] },
      { sessionId, prompt: [{ type: "sound" }] },
      { sessionId, prompt, maxTokens: 0 },
      { sessionId, prompt, budget: { maxToolCalls: -1 } },
      { sessionId, prompt, budget: { max_tool_calls: 1 } },
      { sessionId, prompt, origin: { time: "yesterday" } },
      { sessionId, prompt, model: "nobody/knows" },
      { sessionId, prompt, context: [{ role: "tool" }] },
    ),
    ...invalid("compact", {}, { sessionId, instructions: 5 }),
    ...invalid("read", {}, { sessionId: null }),
    ...invalid("list", { limit: -1 }, { limit: 1e9 }, { offset: "1" }, { labels: [] }),
    ...invalid("searchMemory", {}, { query: 5 }, { query: "fox", minScore: 2 }),
    ...invalid("searchMemory", { query: "fox", kind: "rumour" }, { query: "fox", sessionId: "" }),
    ...invalid("searchMemory", { query: "fox", since: "yesterday" }),
    ...invalid("searchHistory", { query: "" }, { query: "fox", since: "yesterday" }),
    ...(["read", "archive", "delete", "compact", "interrupt"] as const).map(
      (operation): BadRequest => ({
        operation,
        request: { sessionId: unknown },
        code: "SESSION_NOT_FOUND",
      }),
    ),
    {
      operation: "startTurn",
      request: { sessionId: unknown, prompt },
      code: "SESSION_NOT_FOUND",
    },
    { operation: "resume", request: { sessionId: unknown, prompt }, code: "SESSION_NOT_FOUND" },
    { operation: "interrupt", request: { sessionId }, code: "SESSION_NOT_RUNNING" },
  ];
}
