import { z } from "zod";
import * as requests from "../core/requests.ts";
import * as results from "../core/results.ts";
import type { SessionService } from "../core/session-service.ts";

/**
 * What a session service can do, as data. Every surface is a loop over this
 * table, and so are the OpenAPI document and `docs/surfaces.md`.
 */
export interface Operation {
  /** One sentence; the surfaces show it. */
  readonly description: string;
  /** What is asked, in camelCase; on the wire its names are in snake_case (`core/wire.ts`). */
  readonly request: z.ZodObject;
  /** What is answered. On the wire always an object: see `resultKey`. */
  readonly result: z.ZodType;
  /** The name under which a result travels that is a list, or nothing at all (then `true`). */
  readonly resultKey?: string;
  /** JSON-RPC method. */
  readonly rpc: string;
  readonly http: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string };
  /** MCP tool. */
  readonly tool: string;
  /** Command of the CLI. */
  readonly command: string;
  /** Whether it changes nothing, and whether it destroys something. */
  readonly effect: "reads" | "adds" | "destroys";
  /** It runs for long, tells of it in events, and can be interrupted. */
  readonly tells?: true;
}

const nothing = z.undefined();

export const OPERATIONS = {
  createSession: {
    description: "Create a session.",
    request: requests.createSession,
    result: results.sessionCreated,
    rpc: "session/create",
    http: { method: "POST", path: "/sessions" },
    tool: "session_create",
    command: "sessions create",
    effect: "adds",
  },
  startTurn: {
    description: "Run a turn in a session, to the model's final answer.",
    request: requests.startTurn,
    result: results.turnResult,
    rpc: "turn/start",
    http: { method: "POST", path: "/sessions/{session_id}/messages" },
    tool: "turn_start",
    command: "run",
    effect: "adds",
    tells: true,
  },
  resume: {
    description:
      "Run a turn in a session that this or an earlier process left; without a prompt, go on with one whose tool calls waited for approval.",
    request: requests.resumeTurn,
    result: results.turnResult,
    rpc: "session/resume",
    http: { method: "POST", path: "/sessions/{session_id}/resume" },
    tool: "session_resume",
    command: "resume",
    effect: "adds",
    tells: true,
  },
  interrupt: {
    description: "Interrupt the turn that runs in a session.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "interrupted",
    rpc: "turn/interrupt",
    http: { method: "POST", path: "/sessions/{session_id}/interrupt" },
    tool: "turn_interrupt",
    command: "(Ctrl-C)",
    effect: "adds",
  },
  compact: {
    description: "Compact a session's history now.",
    request: requests.compactSession,
    result: results.compactionOutcome,
    rpc: "session/compact",
    http: { method: "POST", path: "/sessions/{session_id}/compact" },
    tool: "session_compact",
    command: "sessions compact",
    effect: "adds",
    tells: true,
  },
  updateTask: {
    description:
      "Change a session's task record: goal, sub-tasks, notes, active files. It stays word for word through every compaction.",
    request: requests.updateTask,
    result: results.taskView,
    rpc: "session/task",
    http: { method: "POST", path: "/sessions/{session_id}/task" },
    tool: "session_task",
    command: "sessions task",
    effect: "adds",
  },
  pin: {
    description:
      "Pin a message: it stays in the history through every compaction, with the tool call or results that belong to it.",
    request: requests.messageRequest,
    result: results.pins,
    rpc: "session/pin",
    http: { method: "POST", path: "/sessions/{session_id}/pins" },
    tool: "session_pin",
    command: "sessions pin",
    effect: "adds",
  },
  unpin: {
    description: "Unpin a message: the next compaction may take it out.",
    request: requests.messageRequest,
    result: results.pins,
    rpc: "session/unpin",
    http: { method: "DELETE", path: "/sessions/{session_id}/pins" },
    tool: "session_unpin",
    command: "sessions unpin",
    effect: "adds",
  },
  pins: {
    description: "List a session's pinned messages, and what they take.",
    request: requests.sessionRequest,
    result: results.pins,
    rpc: "session/pins",
    http: { method: "GET", path: "/sessions/{session_id}/pins" },
    tool: "session_pins",
    command: "sessions pins",
    effect: "reads",
  },
  context: {
    description:
      "Say where each token of a session's context window goes, and when the next compaction comes.",
    request: requests.sessionRequest,
    result: results.contextView,
    rpc: "session/context",
    http: { method: "GET", path: "/sessions/{session_id}/context" },
    tool: "session_context",
    command: "sessions context",
    effect: "reads",
  },
  read: {
    description: "Read a session: where it stands, and its history.",
    request: requests.sessionRequest,
    result: results.sessionView,
    rpc: "session/read",
    http: { method: "GET", path: "/sessions/{session_id}" },
    tool: "session_read",
    command: "sessions show",
    effect: "reads",
  },
  list: {
    description: "List sessions, newest first.",
    request: requests.listSessions,
    result: z.array(results.sessionSummary),
    resultKey: "sessions",
    rpc: "session/list",
    http: { method: "GET", path: "/sessions" },
    tool: "session_list",
    command: "sessions list",
    effect: "reads",
  },
  archive: {
    description: "Put a session away: no more turns, still there to read and to search.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "archived",
    rpc: "session/archive",
    http: { method: "POST", path: "/sessions/{session_id}/archive" },
    tool: "session_archive",
    command: "sessions archive",
    effect: "adds",
  },
  delete: {
    description: "Delete a session, its log and its memory.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "deleted",
    rpc: "session/delete",
    http: { method: "DELETE", path: "/sessions/{session_id}" },
    tool: "session_delete",
    command: "sessions delete",
    effect: "destroys",
  },
  searchMemory: {
    description:
      "Search semantic memory for past conversation content that was compacted away, by what it says.",
    request: requests.searchMemory,
    result: z.array(results.memoryHit),
    resultKey: "results",
    rpc: "memory/search",
    http: { method: "GET", path: "/memory/search" },
    tool: "memory_search",
    command: "memory search",
    effect: "reads",
  },
  listMemory: {
    description: "List what is in semantic memory, page by page, in the order it was stored.",
    request: requests.listMemory,
    result: z.array(results.memoryEntry),
    resultKey: "entries",
    rpc: "memory/list",
    http: { method: "GET", path: "/memory" },
    tool: "memory_list",
    command: "memory list",
    effect: "reads",
  },
  memoryStats: {
    description: "Say how much is in semantic memory, of the project or of one session.",
    request: requests.memoryStats,
    result: results.memoryStats,
    rpc: "memory/stats",
    http: { method: "GET", path: "/memory/stats" },
    tool: "memory_stats",
    command: "memory stats",
    effect: "reads",
  },
  forgetMemory: {
    description:
      "Forget entries of memory: they, and their texts in the logs they came from, are in no file any more.",
    request: requests.forgetMemory,
    result: results.memoryForgotten,
    rpc: "memory/forget",
    http: { method: "POST", path: "/memory/forget" },
    tool: "memory_forget",
    command: "memory forget",
    effect: "destroys",
  },
  searchHistory: {
    description:
      "Search the complete logs of this project's sessions by words, tool output and pruned text included.",
    request: requests.searchHistory,
    result: z.array(results.historyHit),
    resultKey: "results",
    rpc: "history/search",
    http: { method: "GET", path: "/history/search" },
    tool: "search_project_history",
    command: "history search",
    effect: "reads",
  },
  listApprovals: {
    description: "List the tool calls that wait for approval, oldest first.",
    request: requests.listApprovals,
    result: z.array(results.pendingApproval),
    resultKey: "approvals",
    rpc: "approval/list",
    http: { method: "GET", path: "/approvals" },
    tool: "approval_list",
    command: "approvals list",
    effect: "reads",
  },
  answerApproval: {
    description:
      "Allow or deny a tool call that waits. A turn that waits goes on at once; one whose process is gone goes on with resume.",
    request: requests.answerApproval,
    result: results.approvalAnswered,
    rpc: "approval/answer",
    http: { method: "POST", path: "/sessions/{session_id}/approvals/{approval_id}" },
    tool: "approval_answer",
    command: "approvals allow|deny",
    effect: "adds",
  },
  listKnowledge: {
    description:
      "List what the project has learned: facts, corrections, preferences and rules, newest first.",
    request: requests.listKnowledge,
    result: z.array(results.knowledgeEntry),
    resultKey: "entries",
    rpc: "knowledge/list",
    http: { method: "GET", path: "/knowledge" },
    tool: "knowledge_list",
    command: "knowledge list",
    effect: "reads",
  },
  readKnowledge: {
    description: "Read one thing that the project has learned, and what it rests on.",
    request: requests.knowledgeRequest,
    result: results.knowledgeEntry,
    rpc: "knowledge/read",
    http: { method: "GET", path: "/knowledge/{knowledge_id}" },
    tool: "knowledge_read",
    command: "knowledge show",
    effect: "reads",
  },
  addKnowledge: {
    description:
      "Teach the project a preference, a rule or a fact. Preferences and rules go into the system prompt of new sessions.",
    request: requests.addKnowledge,
    result: results.knowledgeEntry,
    rpc: "knowledge/add",
    http: { method: "POST", path: "/knowledge" },
    tool: "knowledge_add",
    command: "knowledge add",
    effect: "adds",
  },
  editKnowledge: {
    description: "Change what the project has learned, or pin it.",
    request: requests.editKnowledge,
    result: results.knowledgeEntry,
    rpc: "knowledge/edit",
    http: { method: "POST", path: "/knowledge/{knowledge_id}" },
    tool: "knowledge_edit",
    command: "knowledge edit|pin|unpin",
    effect: "adds",
  },
  forgetKnowledge: {
    description:
      "Forget something that the project has learned, wherever its text is, and do not learn it again.",
    request: requests.knowledgeRequest,
    result: nothing,
    resultKey: "forgotten",
    rpc: "knowledge/forget",
    http: { method: "DELETE", path: "/knowledge/{knowledge_id}" },
    tool: "knowledge_forget",
    command: "knowledge forget",
    effect: "destroys",
  },
  distillKnowledge: {
    description:
      "Make the project's rules anew from its corrections and preferences, with the model if one is configured.",
    request: requests.distillKnowledge,
    result: results.distillation,
    rpc: "knowledge/distill",
    http: { method: "POST", path: "/knowledge/rules/distill" },
    tool: "knowledge_distill",
    command: "knowledge distill",
    effect: "adds",
  },
  capabilities: {
    description: "Say which capabilities this service has.",
    request: z.strictObject({}),
    result: z.array(results.capability),
    resultKey: "capabilities",
    rpc: "capabilities/get",
    http: { method: "GET", path: "/capabilities" },
    tool: "capabilities",
    command: "capabilities",
    effect: "reads",
  },
} as const satisfies Record<Exclude<keyof SessionService, "subscribe" | "close">, Operation>;

export type OperationName = keyof typeof OPERATIONS;
