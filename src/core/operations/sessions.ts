import { iso, z } from "zod";
import type { Origin } from "../event.ts";
import type { HeldInstruction } from "../kept-state.ts";
import type { Message } from "../message.ts";
import { messageSchema } from "../message-schema.ts";
import { PARENT_RELATIONS, type SourceView } from "../session-source.ts";
import { USER_CHARACTERS_MAX, USER_NAME, USER_NAME_PROBLEM } from "../stores.ts";
import type { TaskView } from "../task.ts";
import type { TokenUsage } from "../usage.ts";
import type { Operation } from "./operation.ts";
import {
  compactionSettings,
  count,
  isoTime,
  labels,
  nothing,
  origin,
  page,
  positive,
  type Result,
  type SessionRequest,
  sessionId,
  sessionRequest,
  shape,
  sourceFilters,
  sourceName,
  sourceView,
  store,
  toolPolicies,
  usage,
} from "./request-fields.ts";
import { taskFields } from "./working-memory.ts";

/** Where a session came from that another agent held. */
const source = z.strictObject({
  agent: z.string().min(1).max(100),
  nativeId: z.string().min(1).max(400),
  project: sourceName.optional(),
  branch: sourceName.optional(),
  title: z.string().max(1000).optional(),
  model: z.string().max(200).optional(),
  startedAt: isoTime.optional(),
  parent: z
    .strictObject({ id: sessionId, relation: z.enum(PARENT_RELATIONS), event: positive.optional() })
    .optional(),
});

export const createSession = z.strictObject({
  /** `provider/model`. Default: the service's model. */
  model: z.string().min(1).optional(),
  systemPrompt: z.string().optional(),
  /** Output tokens of one model call. */
  maxTokens: positive.optional(),
  memory: z.boolean().optional(),
  compaction: compactionSettings.optional(),
  /** A session's policies can only be stricter than the service's. */
  approvals: toolPolicies.optional(),
  /** Whether the project learns from the session, and the session from the project. */
  knowledge: z.boolean().optional(),
  labels: labels.optional(),
  /** Where it came from, for a session that another agent held. */
  source: source.optional(),
  /**
   * A history to begin with. It may have the summary of the session that it comes from. Its user messages are a
   * program's: append them with an `origin` to say who wrote them.
   */
  messages: z.array(messageSchema).max(100_000).optional(),
});

export const deleteSession = z.strictObject({
  sessionId,
  /** Deletes it for good. Otherwise it can be restored for some days, if the stores have a trash. */
  now: z.boolean().optional(),
});

export const listSessions = z.strictObject({
  ...page,
  labels: labels.optional(),
  ...sourceFilters,
  includeArchived: z.boolean().optional(),
  /** Only deleted sessions that can be restored, the last deleted first. */
  deleted: z.boolean().optional(),
  idPrefix: z.string().max(200).optional(),
});

export const subscribe = z.strictObject({
  sessionId,
  /** Begins with the events after this `seq`. Without it, only new events come. */
  afterSeq: z.int().min(0).optional(),
});

/** The same text is the same user. */
const user = z
  .string()
  .min(1, { abort: true })
  .max(USER_CHARACTERS_MAX)
  .regex(USER_NAME, USER_NAME_PROBLEM);

export const userRequest = z.strictObject({ user });

export type CreateSession = z.input<typeof createSession>;

export type DeleteSession = z.infer<typeof deleteSession>;

export type ListSessions = z.infer<typeof listSessions>;

export type Subscribe = z.infer<typeof subscribe>;

/** A session that began with the history of another one. */
export interface SessionFork {
  readonly sessionId: string;
  /** `seq` of the last event of the other session that it knows of. */
  readonly event: number;
}

export interface SessionSummary {
  readonly sessionId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly model: string;
  /** User turns so far. */
  readonly turns: number;
  /** Messages so far, including discarded ones. */
  readonly messageCount: number;
  readonly totalTokens: number;
  readonly archived: boolean;
  /** When it was deleted. Only a list of deleted sessions has it. */
  readonly deletedAt?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The user that the session belongs to, if it was created for one. */
  readonly user?: string;
  /** Where it came from, and how to open it there. */
  readonly source: SourceView;
  /** The sessions that began with its history, oldest first, if there are any. Its own parent is in `source`. */
  readonly forks?: readonly SessionFork[];
  /** It is in the store of the user, not of the project, for a service that lists both. */
  readonly store?: "user";
}

export interface SessionView extends SessionSummary {
  /** Whether a turn runs in it now, in any process. */
  readonly isActive: boolean;
  readonly usage: TokenUsage;
  readonly lastAssistantText: string | null;
  /** `seq` of the last event. */
  readonly seq: number;
  readonly compactions: number;
  /** Compactions that the agent had made, if the session was imported from one. */
  readonly recordedCompactions: number;
  /** Estimated tokens of the history. */
  readonly historyTokens: number;
  readonly task: TaskView;
  /** The user's standing instructions that hold, the newest last. No compaction removes them. */
  readonly instructions: readonly HeldInstruction[];
  /** The messages of the next model call, without the task record. */
  readonly history: readonly HistoryMessage[];
}

export interface HistoryMessage {
  /** `seq` of the event that completed the message. */
  readonly id: number;
  readonly turn: number;
  readonly message: Message;
  readonly origin?: Origin;
  readonly pinned?: true;
}

export interface SubscribeOptions {
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /** Called when the session was found. No event after `afterSeq` is missed. */
  readonly onOpen?: (afterSeq: number) => void;
}

export const sessionCreated = z.object({ sessionId: z.string() });

export type SessionCreated = Result<typeof sessionCreated>;

const summaryFields = {
  sessionId: z.string(),
  createdAt: iso.datetime(),
  updatedAt: iso.datetime(),
  model: z.string(),
  turns: count,
  messageCount: count,
  totalTokens: count,
  archived: z.boolean(),
  deletedAt: iso.datetime().optional(),
  labels: z.record(z.string(), z.string()),
  user: z.string().optional(),
  source: sourceView,
  forks: z.array(z.object({ sessionId: z.string(), event: count })).optional(),
  store,
};

export const sessionSummary = shape<SessionSummary>()(summaryFields);

export const sessionView = shape<SessionView>()({
  ...summaryFields,
  isActive: z.boolean(),
  usage,
  lastAssistantText: z.string().nullable(),
  seq: count,
  compactions: count,
  recordedCompactions: count,
  historyTokens: count,
  task: z.object(taskFields),
  instructions: z.array(
    z.object({ id: count, message: count, text: z.string(), by: z.string().optional() }),
  ),
  history: z.array(
    z.object({
      id: count,
      turn: count,
      message: messageSchema,
      origin: origin.optional(),
      pinned: z.literal(true).optional(),
    }),
  ),
});

/** Sessions: to create, read, list, archive, delete and restore them. */
export interface SessionOperations {
  createSession(request: CreateSession): Promise<SessionCreated>;
  read(request: SessionRequest): Promise<SessionView>;
  list(request: ListSessions): Promise<readonly SessionSummary[]>;
  /** Archives a session: it takes no more turns and is not listed, but can be read and searched. */
  archive(request: SessionRequest): Promise<void>;
  /** Lists an archived session again, and lets it take turns. Does nothing to any other session. */
  unarchive(request: SessionRequest): Promise<void>;
  /**
   * Deletes a session, its log and its memory. For some days it can be restored, if the stores have a
   * trash. With `now` it is gone for good, also from the trash.
   */
  delete(request: DeleteSession): Promise<void>;
  /** Brings a deleted session back, with its memory. `SESSION_NOT_FOUND` when it is not in the trash. */
  restore(request: SessionRequest): Promise<void>;
}

export const SESSION_OPERATIONS = {
  createSession: {
    description: "Create a session.",
    request: createSession,
    result: sessionCreated,
    rpc: "session/create",
    http: { method: "POST", path: "/sessions" },
    tool: "session_create",
    toolText:
      "Create a session. You can give it a history to start with. It runs nothing: call turn_start with the session_id of the result.",
    command: "sessions create",
    effect: "adds",
  },
  read: {
    description: "Read a session: its state and its history.",
    request: sessionRequest,
    result: sessionView,
    rpc: "session/read",
    http: { method: "GET", path: "/sessions/{session_id}" },
    tool: "session_read",
    toolText:
      "Read a session: its state and its history. A history can be long. To find one thing in it, search instead.",
    command: "sessions show",
    effect: "reads",
    needs: "session-store",
  },
  list: {
    description: "List sessions, newest first.",
    request: listSessions,
    result: z.array(sessionSummary),
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
    request: sessionRequest,
    result: nothing,
    resultKey: "archived",
    rpc: "session/archive",
    http: { method: "POST", path: "/sessions/{session_id}/archive" },
    tool: "session_archive",
    toolText:
      "Archive a session: it takes no more turns and leaves the list, but you can still read and search it.",
    command: "sessions archive",
    effect: "adds",
    needs: "session-store",
  },
  unarchive: {
    description: "Unarchive a session: it is listed again and takes turns.",
    request: sessionRequest,
    result: nothing,
    resultKey: "unarchived",
    rpc: "session/unarchive",
    http: { method: "POST", path: "/sessions/{session_id}/unarchive" },
    tool: "session_unarchive",
    toolText:
      "Unarchive a session: it is listed again, and takes turns. Does nothing to a session that is not archived.",
    command: "sessions unarchive",
    effect: "adds",
    needs: "session-store",
  },
  delete: {
    description:
      "Delete a session, its log and its memory. You can restore it for some days, unless `now` is true.",
    request: deleteSession,
    result: nothing,
    resultKey: "deleted",
    rpc: "session/delete",
    http: { method: "DELETE", path: "/sessions/{session_id}" },
    tool: "session_delete",
    toolText:
      "Delete a session, its log and its memory. It can be restored for some days (session_restore), unless `now` is true.",
    command: "sessions delete",
    effect: "destroys",
    needs: "session-store",
  },
  restore: {
    description: "Restore a deleted session, with its memory.",
    request: sessionRequest,
    result: nothing,
    resultKey: "restored",
    rpc: "session/restore",
    http: { method: "POST", path: "/sessions/{session_id}/restore" },
    tool: "session_restore",
    command: "sessions restore",
    effect: "adds",
    needs: "session-store",
  },
} as const satisfies Record<keyof SessionOperations, Operation>;
