import { z } from "zod";
import * as requests from "../core/requests.ts";
import * as results from "../core/results.ts";
import type { Capability, SessionService } from "../core/session-service.ts";

/**
 * Version of the operations, their fields and the error codes on the wire.
 * A breaking change raises the first number that is not 0.
 */
export const CONTRACT_VERSION = "0.1.0";

/**
 * One thing that a session service does. Every surface is a loop over the table
 * of these, and so are the OpenAPI document and `docs/surfaces.md`.
 */
export interface Operation {
  /** One sentence that the surfaces show. */
  readonly description: string;
  /** In camelCase. On the wire the names are snake_case (`core/wire.ts`). */
  readonly request: z.ZodObject;
  /** On the wire a result is always an object: see `resultKey`. */
  readonly result: z.ZodType;
  /** Wraps a result that is a list, or nothing: `{"sessions": […]}`, `{"archived": true}`. */
  readonly resultKey?: string;
  /** JSON-RPC method. */
  readonly rpc: string;
  readonly http: { readonly method: "GET" | "POST" | "DELETE"; readonly path: string };
  /** MCP tool. */
  readonly tool: string;
  /** Command of the CLI. */
  readonly command: string;
  readonly effect: "reads" | "adds" | "destroys";
  /** On REST, its body may also be a file, whose name is in the query. */
  readonly uploads?: true;
  /** It takes long, streams events while it runs, and can be interrupted. */
  readonly streams?: true;
  /** Without this capability it always fails. */
  readonly needs?: Capability;
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
    streams: true,
  },
  resume: {
    description:
      "Run a turn in a stored session. Without a prompt, continue a turn whose tool calls waited for approval.",
    request: requests.resumeTurn,
    result: results.turnResult,
    rpc: "session/resume",
    http: { method: "POST", path: "/sessions/{session_id}/resume" },
    tool: "session_resume",
    command: "resume",
    effect: "adds",
    streams: true,
    needs: "session-store",
  },
  appendMessages: {
    description:
      "Append messages to a session without running a turn, to record what another program's loop did.",
    request: requests.appendMessages,
    result: results.messagesAppended,
    rpc: "session/append",
    http: { method: "POST", path: "/sessions/{session_id}/append" },
    tool: "session_append",
    command: "sessions append",
    effect: "adds",
  },
  importTranscripts: {
    description:
      "Import the conversations of a transcript that another program wrote. Importing it again adds nothing.",
    request: requests.importTranscripts,
    result: results.importReport,
    rpc: "transcripts/import",
    http: { method: "POST", path: "/import" },
    tool: "transcripts_import",
    command: "import",
    effect: "adds",
    uploads: true,
    needs: "session-store",
  },
  interrupt: {
    description: "Interrupt the running turn of a session.",
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
    streams: true,
    needs: "session-compaction",
  },
  updateTask: {
    description:
      "Change a session's task record: goal, sub-tasks, notes, active files. No compaction changes it.",
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
      "Pin a message, with the tool calls and results that belong to it. No compaction removes it.",
    request: requests.messageRequest,
    result: results.pins,
    rpc: "session/pin",
    http: { method: "POST", path: "/sessions/{session_id}/pins" },
    tool: "session_pin",
    command: "sessions pin",
    effect: "adds",
  },
  unpin: {
    description: "Unpin a message. The next compaction may remove it.",
    request: requests.messageRequest,
    result: results.pins,
    rpc: "session/unpin",
    http: { method: "POST", path: "/sessions/{session_id}/unpin" },
    tool: "session_unpin",
    command: "sessions unpin",
    effect: "adds",
  },
  pins: {
    description: "List a session's pinned messages and their tokens.",
    request: requests.sessionRequest,
    result: results.pins,
    rpc: "session/pins",
    http: { method: "GET", path: "/sessions/{session_id}/pins" },
    tool: "session_pins",
    command: "sessions pins",
    effect: "reads",
  },
  context: {
    description: "Show what fills a session's context window, and when the next compaction comes.",
    request: requests.sessionRequest,
    result: results.contextView,
    rpc: "session/context",
    http: { method: "GET", path: "/sessions/{session_id}/context" },
    tool: "session_context",
    command: "sessions context",
    effect: "reads",
  },
  read: {
    description: "Read a session: its state and its history.",
    request: requests.sessionRequest,
    result: results.sessionView,
    rpc: "session/read",
    http: { method: "GET", path: "/sessions/{session_id}" },
    tool: "session_read",
    command: "sessions show",
    effect: "reads",
    needs: "session-store",
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
    needs: "session-store",
  },
  archive: {
    description: "Archive a session: it takes no more turns, but you can still read and search it.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "archived",
    rpc: "session/archive",
    http: { method: "POST", path: "/sessions/{session_id}/archive" },
    tool: "session_archive",
    command: "sessions archive",
    effect: "adds",
    needs: "session-store",
  },
  unarchive: {
    description: "Unarchive a session: it is listed again and takes turns.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "unarchived",
    rpc: "session/unarchive",
    http: { method: "POST", path: "/sessions/{session_id}/unarchive" },
    tool: "session_unarchive",
    command: "sessions unarchive",
    effect: "adds",
    needs: "session-store",
  },
  delete: {
    description:
      "Delete a session, its log and its memory. You can restore it for some days, unless `now` is true.",
    request: requests.deleteSession,
    result: nothing,
    resultKey: "deleted",
    rpc: "session/delete",
    http: { method: "DELETE", path: "/sessions/{session_id}" },
    tool: "session_delete",
    command: "sessions delete",
    effect: "destroys",
    needs: "session-store",
  },
  restore: {
    description: "Restore a deleted session, with its memory.",
    request: requests.sessionRequest,
    result: nothing,
    resultKey: "restored",
    rpc: "session/restore",
    http: { method: "POST", path: "/sessions/{session_id}/restore" },
    tool: "session_restore",
    command: "sessions restore",
    effect: "adds",
    needs: "session-store",
  },
  searchMemory: {
    description: "Search semantic memory for past conversation content.",
    request: requests.searchMemory,
    result: z.array(results.memoryHit),
    resultKey: "results",
    rpc: "memory/search",
    http: { method: "GET", path: "/memory/search" },
    tool: "memory_search",
    command: "memory search",
    effect: "reads",
    needs: "memory-store",
  },
  addMemory: {
    description: "Add a text to semantic memory. Searches find it; it makes no rule.",
    request: requests.addMemory,
    result: results.memoryAdded,
    rpc: "memory/add",
    http: { method: "POST", path: "/memory" },
    tool: "memory_add",
    command: "memory add",
    effect: "adds",
    needs: "memory-store",
  },
  listMemory: {
    description:
      "List the entries of semantic memory, page by page, in the order they were stored.",
    request: requests.listMemory,
    result: z.array(results.memoryEntry),
    resultKey: "entries",
    rpc: "memory/list",
    http: { method: "GET", path: "/memory" },
    tool: "memory_list",
    command: "memory list",
    effect: "reads",
    needs: "memory-store",
  },
  memoryStats: {
    description: "Count the entries of semantic memory, of the project or of one session.",
    request: requests.memoryStats,
    result: results.memoryStats,
    rpc: "memory/stats",
    http: { method: "GET", path: "/memory/stats" },
    tool: "memory_stats",
    command: "memory stats",
    effect: "reads",
    needs: "memory-store",
  },
  forgetMemory: {
    description:
      "Forget entries of memory. Their texts are deleted from memory and from the logs they came from.",
    request: requests.forgetMemory,
    result: results.memoryForgotten,
    rpc: "memory/forget",
    http: { method: "POST", path: "/memory/forget" },
    tool: "memory_forget",
    command: "memory forget",
    effect: "destroys",
    needs: "memory-store",
  },
  searchHistory: {
    description:
      "Search the complete logs of the project's sessions by words, including tool output and pruned text.",
    request: requests.searchHistory,
    result: z.array(results.historyHit),
    resultKey: "results",
    rpc: "history/search",
    http: { method: "GET", path: "/history/search" },
    tool: "search_project_history",
    command: "history search",
    effect: "reads",
    needs: "session-store",
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
      "Allow or deny a tool call that waits for approval. A running turn continues at once; continue one whose process has ended with resume.",
    request: requests.answerApproval,
    result: results.approvalAnswered,
    rpc: "approval/answer",
    http: { method: "POST", path: "/sessions/{session_id}/approvals/{approval_id}" },
    tool: "approval_answer",
    command: "approvals allow|deny",
    effect: "adds",
  },
  allowedCalls: {
    description: "List the tool calls that the user allowed for the rest of a session.",
    request: requests.sessionRequest,
    result: results.allowed,
    rpc: "approval/allowed",
    http: { method: "GET", path: "/sessions/{session_id}/allowed" },
    tool: "approval_allowed",
    command: "approvals rules",
    effect: "reads",
  },
  revokeAllowed: {
    description: "Take back what the user allowed for the rest of a session.",
    request: requests.revokeAllowed,
    result: results.allowed,
    rpc: "approval/revoke",
    http: { method: "DELETE", path: "/sessions/{session_id}/allowed" },
    tool: "approval_revoke",
    command: "approvals revoke",
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
    needs: "memory-store",
  },
  readKnowledge: {
    description: "Read one thing that the project has learned, and its sources.",
    request: requests.knowledgeRequest,
    result: results.knowledgeEntry,
    rpc: "knowledge/read",
    http: { method: "GET", path: "/knowledge/{knowledge_id}" },
    tool: "knowledge_read",
    command: "knowledge show",
    effect: "reads",
    needs: "memory-store",
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
    needs: "memory-store",
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
    needs: "memory-store",
  },
  forgetKnowledge: {
    description:
      "Forget something that the project has learned, and never learn it again. Its text is deleted everywhere.",
    request: requests.knowledgeRequest,
    result: nothing,
    resultKey: "forgotten",
    rpc: "knowledge/forget",
    http: { method: "DELETE", path: "/knowledge/{knowledge_id}" },
    tool: "knowledge_forget",
    command: "knowledge forget",
    effect: "destroys",
    needs: "memory-store",
  },
  distillKnowledge: {
    description:
      "Rebuild the project's rules from its corrections and preferences, with the model if one is configured.",
    request: requests.distillKnowledge,
    result: results.distillation,
    rpc: "knowledge/distill",
    http: { method: "POST", path: "/knowledge/rules/distill" },
    tool: "knowledge_distill",
    command: "knowledge distill",
    effect: "adds",
    needs: "memory-store",
  },
  capabilities: {
    description: "List the capabilities of this service.",
    request: z.strictObject({}),
    result: z.array(results.capability),
    resultKey: "capabilities",
    rpc: "capabilities/get",
    http: { method: "GET", path: "/capabilities" },
    tool: "capabilities",
    command: "capabilities",
    effect: "reads",
  },
} as const satisfies Record<
  Exclude<keyof SessionService, "subscribe" | "forUser" | "close">,
  Operation
>;

export type OperationName = keyof typeof OPERATIONS;
