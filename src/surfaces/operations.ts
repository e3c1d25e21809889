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
    description: "Run a turn in a session that this or an earlier process left.",
    request: requests.startTurn,
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
