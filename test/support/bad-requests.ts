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
    ...invalid(
      "appendMessages",
      {},
      { sessionId },
      { sessionId, messages: [] },
      { sessionId, messages: "hi" },
      { sessionId, messages: [{ role: "nobody" }] },
      {
        sessionId,
        messages: [{ role: "tool_results", results: [{ tool_use_id: "c", content: "" }] }],
      },
      { sessionId, messages: [{ role: "user", content: "hi" }], key: "" },
      { sessionId, messages: [{ role: "user", content: "hi" }], origin: { time: "now" } },
    ),
    ...invalid(
      "importTranscripts",
      {},
      { name: "talk.jsonl" },
      { text: "" },
      { text: 5 },
      { text: "hi", base64: "aGk=" },
      { base64: "not Base64!" },
      { text: "hi", name: "" },
    ),
    ...invalid(
      "updateTask",
      {},
      { sessionId, goal: 5 },
      { sessionId, add: "a step" },
      { sessionId, done: [0] },
      { sessionId, notes: { "": "x" } },
      { sessionId, goal: "x".repeat(2001) },
    ),
    ...(["pin", "unpin"] as const).flatMap((operation) =>
      invalid(
        operation,
        {},
        { sessionId },
        { sessionId, position: -1 },
        { sessionId, position: 0, message: 1 },
        { sessionId, message: "first" },
      ),
    ),
    { operation: "updateTask", request: { sessionId, done: [7] }, code: "NOT_POSSIBLE" },
    ...(["pin", "unpin"] as const).map(
      (operation): BadRequest => ({
        operation,
        request: { sessionId, position: 99 },
        code: "MESSAGE_NOT_IN_HISTORY",
      }),
    ),
    ...invalid("pins", {}, { sessionId: "" }),
    ...invalid("context", {}, { sessionId, model: 5 }),
    ...invalid("compact", {}, { sessionId, instructions: 5 }),
    ...invalid("read", {}, { sessionId: null }),
    ...invalid("list", { limit: -1 }, { limit: 1e9 }, { offset: "1" }, { labels: [] }),
    ...invalid("searchMemory", {}, { query: 5 }, { query: "fox", minScore: 2 }),
    ...invalid("searchMemory", { query: "fox", kind: "rumour" }, { query: "fox", sessionId: "" }),
    ...invalid("searchMemory", { query: "fox", since: "someday" }),
    ...invalid("searchMemory", { query: [] }, { query: [5] }, { query: Array(21).fill("fox") }),
    ...invalid("searchMemory", { query: "fox", neighbours: 21 }, { query: "fox", maxTokens: 0 }),
    ...invalid("addMemory", {}, { content: " " }, { content: 5 }, { content: "x".repeat(20_001) }),
    ...invalid("keepBoth", {}, { ids: ["x"] }, { ids: ["x", ""] }),
    ...invalid("editMemory", {}, { id: "x", content: " " }, { id: "" }),
    ...invalid("listMemory", { limit: -1 }, { kind: "rumour" }, { until: "soon" }, { after: 5 }),
    ...invalid("memoryStats", { sessionId: "" }, { colour: "red" }),
    ...invalid("forgetMemory", {}, { ids: [] }, { ids: "x" }, { ids: ["x"], sessionId: "s" }),
    ...invalid("answerApproval", { sessionId }, { sessionId, approvalId: "a", decision: "maybe" }),
    ...invalid("allowedCalls", {}, { sessionId: "" }),
    ...invalid("revokeAllowed", { sessionId }, { sessionId, tool: "" }),
    ...invalid("listKnowledge", { limit: -1 }, { kind: "rumour" }),
    ...invalid("addKnowledge", { content: " " }, { content: "x", kind: "correction" }),
    ...invalid("addKnowledge", { content: "x".repeat(5001) }),
    ...invalid("createSession", { approvals: { shell: "perhaps" } }),
    ...invalid("searchHistory", { query: "" }, { query: "fox", since: "someday" }),
    ...(["read", "archive", "unarchive", "delete", "compact", "interrupt"] as const).map(
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
    {
      operation: "answerApproval",
      request: { sessionId: unknown, approvalId: "a", decision: "allow" },
      code: "SESSION_NOT_FOUND",
    },
    {
      operation: "answerApproval",
      request: { sessionId, approvalId: "a", decision: "allow" },
      code: "APPROVAL_NOT_FOUND",
    },
    ...(["readKnowledge", "editKnowledge", "forgetKnowledge"] as const).map(
      (operation): BadRequest => ({
        operation,
        request: { knowledgeId: "fact:nobody:1" },
        code: "KNOWLEDGE_NOT_FOUND",
      }),
    ),
    { operation: "resume", request: { sessionId: unknown, prompt }, code: "SESSION_NOT_FOUND" },
    { operation: "interrupt", request: { sessionId }, code: "SESSION_NOT_RUNNING" },
  ];
}
