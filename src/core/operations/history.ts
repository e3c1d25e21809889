import { z } from "zod";
import type { EventEnvelope, Origin } from "../event.ts";
import { KNOWLEDGE_KINDS, type KnowledgeKind } from "../knowledge.ts";
import type { Message } from "../message.ts";
import { messageSchema } from "../message-schema.ts";
import type { Operation } from "./operation.ts";
import { count, origin, page, positive, sessionId, shape } from "./request-fields.ts";

export const readLog = z.strictObject({
  sessionId,
  /** Events after this `seq`, oldest first. */
  afterSeq: z.int().min(0).optional(),
  /** The last events before this `seq`; with `afterSeq`, the first ones between both. Without both, the last events of the log. */
  beforeSeq: positive.optional(),
  /** Default 100. */
  limit: z.int().min(1).max(1000).optional(),
});

export const readCompaction = z.strictObject({
  sessionId,
  /** `seq` of the compaction. Default: the last one. */
  event: positive.optional(),
  ...page,
});

export const readMessage = z.strictObject({ sessionId, message: positive });

export type ReadLog = z.infer<typeof readLog>;

export type ReadCompaction = z.infer<typeof readCompaction>;

export type ReadMessage = z.infer<typeof readMessage>;

/** A part of a session's log, oldest first. A page ends at about a megabyte, and has one event at least. */
export interface LogPage {
  readonly events: readonly EventEnvelope[];
  /** `seq` of the last event of the log. */
  readonly lastSeq: number;
  /** Whether there are more events before the page. */
  readonly before: boolean;
  /** Whether there are more events after the page. */
  readonly after: boolean;
}

/**
 * What a compaction did to a message: it stayed word for word, or with shortened tool output; the summary has all of its
 * words, or some of its names; memory finds it; only the log has it.
 */
export const FATES = ["kept", "shortened", "quoted", "named", "in_memory", "in_log"] as const;

export type Fate = (typeof FATES)[number];

export interface CompactedMessage {
  readonly id: number;
  readonly turn: number;
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The start of its text. */
  readonly text: string;
  /** Estimated tokens before the compaction. */
  readonly tokens: number;
  readonly fate: Fate;
  /** Names and numbers of the message that the summary has, the first five. */
  readonly names: readonly string[];
}

/** A part of a log, both ends included. */
export interface LogSpan {
  readonly from: number;
  readonly to: number;
}

/** A compaction, and what became of each message. */
export interface CompactionView {
  /** Its `seq`. */
  readonly event: number;
  /** A pruning only shortened tool output. */
  readonly kind: "compacted" | "pruned";
  /** ISO 8601. */
  readonly time: string;
  /** Whether it was not undone. */
  readonly inForce: boolean;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Without its prefix; null when there is none. */
  readonly summary: string | null;
  /** The parts of the log that the summary rests on, over the summaries before it, to what was said itself. */
  readonly sources: readonly LogSpan[];
  /** In a fork: the compaction of the other session whose summary it also rests on. */
  readonly inherits?: { readonly sessionId: string; readonly event: number };
  /** The compaction whose summary this one replaced. */
  readonly replaces: number | null;
  /** How many messages the history had before. */
  readonly messageCount: number;
  /** The messages of the page, in the order of the history. */
  readonly messages: readonly CompactedMessage[];
}

/** A message of a log, and what was made of it. */
export interface MessageTrace {
  readonly id: number;
  readonly turn: number;
  /** ISO 8601. */
  readonly time: string;
  /** The message as it was said, whatever a compaction did to it. */
  readonly message: Message;
  readonly origin?: Origin;
  /** Estimated tokens. */
  readonly tokens: number;
  /** Whether the next request has it. */
  readonly now: "whole" | "shortened" | "left";
  readonly pinned: boolean;
  /** Its id in memory; null when memory does not have it. */
  readonly memoryId: string | null;
  /** The effect of each compaction on it, oldest first. */
  readonly compactions: readonly TracedCompaction[];
  /** `seq` of the events by which it came back from memory. */
  readonly recalledBy: readonly number[];
  /** `seq` of the events that brought it back whole. */
  readonly broughtBackBy: readonly number[];
  /** The statements that the project learned from it, and the rules made of them. */
  readonly learned: readonly LearnedFrom[];
  /** In a fork: the message of another session that it is a copy of. */
  readonly copyOf?: { readonly sessionId: string; readonly message: number };
}

export interface LearnedFrom {
  readonly id: string;
  readonly kind: KnowledgeKind;
  readonly content: string;
}

export interface TracedCompaction {
  readonly event: number;
  readonly fate: Fate;
  /** Whether the compaction was not undone. */
  readonly inForce: boolean;
}

export const logPage = shape<LogPage>()({
  events: z.array(z.record(z.string(), z.unknown()) as unknown as z.ZodType<EventEnvelope>),
  lastSeq: count,
  before: z.boolean(),
  after: z.boolean(),
});

const fate = z.enum(FATES);

export const compactionView = shape<CompactionView>()({
  event: count,
  kind: z.enum(["compacted", "pruned"]),
  time: z.string(),
  inForce: z.boolean(),
  tokensBefore: count,
  tokensAfter: count,
  summary: z.string().nullable(),
  sources: z.array(z.object({ from: count, to: count })),
  inherits: z.object({ sessionId: z.string(), event: count }).optional(),
  replaces: count.nullable(),
  messageCount: count,
  messages: z.array(
    z.object({
      id: count,
      turn: count,
      role: z.enum(["system", "user", "assistant", "tool"]),
      text: z.string(),
      tokens: count,
      fate,
      names: z.array(z.string()),
    }),
  ),
});

export const messageTrace = shape<MessageTrace>()({
  id: count,
  turn: count,
  time: z.string(),
  message: messageSchema,
  origin: origin.optional(),
  tokens: count,
  now: z.enum(["whole", "shortened", "left"]),
  pinned: z.boolean(),
  memoryId: z.string().nullable(),
  compactions: z.array(z.object({ event: count, fate, inForce: z.boolean() })),
  recalledBy: z.array(count),
  broughtBackBy: z.array(count),
  learned: z.array(
    z.object({ id: z.string(), kind: z.enum(KNOWLEDGE_KINDS), content: z.string() }),
  ),
  copyOf: z.object({ sessionId: z.string(), message: count }).optional(),
});

export const undoCompaction = z.strictObject({
  sessionId,
  /** `seq` of the compaction: it and all later ones are undone. Default: the last one. */
  event: positive.optional(),
  /** Undoes the last undo instead. */
  redo: z.boolean().optional(),
  /** Ids of messages that stay out, as an undo that has no room names them. */
  leaveOut: z.array(positive).max(10_000).optional(),
});

export type UndoCompaction = z.infer<typeof undoCompaction>;

export type UndoOutcome =
  | {
      readonly undone: true;
      /** `seq` of the event that undoes it. It can be undone like a compaction. */
      readonly event: number;
      /** `seq` of what was undone. */
      readonly compaction: number;
      /** Ids of the messages that are in the history again. */
      readonly returned: readonly number[];
      /** Ids of the messages that stay out. */
      readonly leftOut: readonly number[];
      /** Messages of the history now. */
      readonly messages: number;
      /** Estimated tokens of the next request. */
      readonly usedTokens: number;
      /** Tokens that trigger a compaction, or the context window; null when neither is known. */
      readonly tokensMax: number | null;
    }
  | {
      readonly undone: false;
      /** Why there is no room. */
      readonly reason: string;
      /** Estimated tokens that the next request would have. */
      readonly usedTokens: number;
      readonly tokensMax: number;
      /** Tokens that have to go; 0 when only the number of messages is too large. */
      readonly tokensOver: number;
      /** Ids of messages to leave out, so that the rest has room: tool output first, people's words last. */
      readonly leaveOut: readonly number[];
    };

/** With `undone` false there is a reason. */
export const undoOutcome = z.object({
  undone: z.boolean(),
  event: count.optional(),
  compaction: count.optional(),
  returned: z.array(count).optional(),
  leftOut: z.array(count).optional(),
  messages: count.optional(),
  reason: z.string().optional(),
  usedTokens: count,
  tokensMax: count.nullable(),
  tokensOver: count.optional(),
  leaveOut: z.array(count).optional(),
}) as unknown as z.ZodType<UndoOutcome>;

/** The effects of compactions on a history, and how to take them back. */
export interface HistoryOperations {
  /**
   * Puts back what a compaction took out of the history. What was said since stays, and so do pins. The log keeps the
   * compaction, so undoing the undo gives its history again. Where the next call would compact at once, nothing
   * changes, and the outcome says which messages to leave out. `NOT_POSSIBLE` when there is nothing to undo.
   */
  undoCompaction(request: UndoCompaction): Promise<UndoOutcome>;
  /** The effect of a compaction on each message of the history, and the sources of its summary. */
  readCompaction(request: ReadCompaction): Promise<CompactionView>;
  /** A message by its id, also one that a compaction took out, with what was made of it. */
  readMessage(request: ReadMessage): Promise<MessageTrace>;
  /** A page of a session's log, forwards or backwards. */
  readLog(request: ReadLog): Promise<LogPage>;
}

export const HISTORY_OPERATIONS = {
  undoCompaction: {
    description: "Undo a compaction: what it took out of the history is there again.",
    request: undoCompaction,
    result: undoOutcome,
    rpc: "session/undo",
    http: { method: "POST", path: "/sessions/{session_id}/undo" },
    tool: "session_undo",
    toolText:
      "Undo the last compaction of a session, or all from the one at `event` on: what it took out of the history is there again, with what was said since. With `redo`, undo the last undo. Where the window has no room, nothing changes, and `leave_out` of the result names messages to leave out.",
    command: "sessions undo",
    effect: "adds",
    needs: "session-store",
  },
  readCompaction: {
    description: "Show what a compaction did to each message, and what its summary rests on.",
    request: readCompaction,
    result: compactionView,
    rpc: "session/compaction",
    http: { method: "GET", path: "/sessions/{session_id}/compaction" },
    tool: "session_diff",
    toolText:
      "Show what a compaction did to each message: kept word for word, shortened, quoted or named in the summary, only in memory, only in the log. `sources` are the parts of the log that the summary rests on.",
    command: "sessions diff",
    effect: "reads",
    needs: "session-store",
  },
  readMessage: {
    description: "Read a message by its id, with what became of it.",
    request: readMessage,
    result: messageTrace,
    rpc: "session/message",
    http: { method: "GET", path: "/sessions/{session_id}/message" },
    tool: "session_why",
    toolText:
      "Read a message by its id, also one that a compaction took out of the history, with what each compaction did to it and when it came back from memory.",
    command: "sessions why",
    effect: "reads",
    needs: "session-store",
  },
  readLog: {
    description: "Read a page of a session's log, forwards or backwards.",
    request: readLog,
    result: logPage,
    rpc: "session/log",
    http: { method: "GET", path: "/sessions/{session_id}/log" },
    tool: "session_log",
    toolText:
      "Read a page of a session's log: the last events, those before `before_seq`, or those after `after_seq`. To wait for new events, use session_events.",
    command: "sessions log",
    effect: "reads",
    needs: "session-store",
  },
} as const satisfies Record<keyof HistoryOperations, Operation>;
