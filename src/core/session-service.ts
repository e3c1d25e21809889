import type { AllowedCalls, PendingApproval } from "./approval.ts";
import type { Cleaned, EventEnvelope, NotCleanedPlace, Origin } from "./event.ts";
import type { HistoryHit } from "./event-store.ts";
import type { Contradiction, KnowledgeEntry } from "./knowledge.ts";
import type {
  MemoryCheck,
  MemoryEntry,
  MemoryHit,
  MemoryStats,
  ShownEntry,
  Watch,
} from "./memory-store.ts";
import type { Message } from "./message.ts";
import type {
  AddKnowledge,
  AddMemory,
  AnswerApproval,
  AppendMessages,
  CompactSession,
  CreateSession,
  DeleteSession,
  DistillKnowledge,
  EditKnowledge,
  ForgetMemory,
  Given,
  ImportStream,
  ImportTranscripts,
  KnowledgeRequest,
  ListApprovals,
  ListKnowledge,
  ListMemory,
  ListSessions,
  MemoryStatsRequest,
  MessageRequest,
  ResumeTurn,
  RevokeAllowed,
  SearchHistory,
  SearchMemory,
  SessionRequest,
  StartTurn,
  Subscribe,
  UpdateTask,
} from "./requests.ts";
import type { SourceView } from "./session-source.ts";
import type { TaskView } from "./task.ts";
import type { TokenUsage } from "./usage.ts";
import type { HeldInstruction } from "./working-memory.ts";

/**
 * Everything that can be done with sessions. The SDK, the CLI, JSON-RPC, REST and MCP all call this
 * interface.
 *
 * Contract:
 * - Creating a session and running a turn work with every set of capabilities.
 * - What needs a capability that is not there fails with that capability's code.
 * - A session runs one turn at a time, over all processes; a second one is `SESSION_BUSY`.
 * - An event is in the log before a listener sees it.
 * - A listener that throws or rejects does not end the turn.
 * - A turn that fails or is interrupted leaves a session that the next turn can go on with.
 * - The task record, pins and what they keep survive compaction and everything being closed.
 * - No message is outside all tiers: it is in the history, or it left and a search finds it.
 * - Every request is checked here; a bad one is `INVALID_PARAMS`.
 * - A transcript is imported once, for one user, and what was forgotten of it stays forgotten.
 * - What belongs to one user is not found, listed, searched, told or changed for another, nor without a user.
 */
export interface SessionService {
  createSession(request: CreateSession): Promise<SessionCreated>;
  /** Runs a turn to its end and returns the answer. */
  startTurn(request: StartTurn, options?: TurnOptions): Promise<TurnResult>;
  /**
   * Runs a turn in a session of this or an earlier process. Needs `session-store`. Without a prompt
   * it continues a turn whose tool calls waited for approval.
   */
  resume(request: ResumeTurn, options?: TurnOptions): Promise<TurnResult>;
  /**
   * Adds messages to the history without a turn, to record what another program's loop did. All are
   * stored, or none. No model is called; the next turn compacts when that is due.
   */
  appendMessages(request: AppendMessages): Promise<MessagesAppended>;
  /**
   * Imports the conversations of a file that another program wrote: a text, bytes in Base64, or a stream.
   * A client of JSON-RPC or MCP sends a stream in one message, so it takes at most 11 MB. Needs `session-store`.
   */
  importTranscripts(request: ImportTranscripts | ImportStream): Promise<ImportReport>;
  /**
   * Interrupts the turn that runs. One of another process on the same store ends within half a
   * second. `SESSION_NOT_RUNNING` when there is none.
   */
  interrupt(request: SessionRequest): Promise<void>;
  /** Compacts now, whatever the threshold says. Needs `session-compaction`. */
  compact(request: CompactSession, options?: TurnOptions): Promise<CompactionOutcome>;
  /** Changes the session's task record. No compaction touches it. */
  updateTask(request: UpdateTask): Promise<TaskView>;
  /**
   * Keeps a message in the history through every compaction, with its tool calls and results.
   * `PIN_BUDGET_EXCEEDED` when the pins would take too many tokens.
   */
  pin(request: MessageRequest): Promise<Pins>;
  unpin(request: MessageRequest): Promise<Pins>;
  pins(request: SessionRequest): Promise<Pins>;
  /** What fills the context window, and when the next compaction comes. */
  context(request: SessionRequest): Promise<ContextView>;
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
  /** Events as they happen, after the earlier ones if `afterSeq` asks for them. Ends when `signal` aborts. */
  subscribe(request: Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope>;
  searchMemory(request: SearchMemory): Promise<readonly MemoryHit[]>;
  /** Adds a text to memory. Searches find it; it makes no rule. The same text is added once. */
  addMemory(request: AddMemory): Promise<MemoryAdded>;
  /** Memory entries page by page, in the order in which they were stored. */
  listMemory(request: ListMemory): Promise<readonly ShownEntry[]>;
  memoryStats(request: MemoryStatsRequest): Promise<MemoryStats>;
  /**
   * Forgets memory entries: deletes them, deletes what was learned from them, and removes their texts
   * from all logs (messages, summaries, tool results, task records, rules in system prompts).
   * `SESSION_BUSY` while a turn runs in one of those sessions.
   */
  forgetMemory(request: ForgetMemory): Promise<MemoryForgotten>;
  searchHistory(request: SearchHistory): Promise<readonly HistoryHit[]>;
  /** The tool calls that wait for approval, in all processes. */
  listApprovals(request: ListApprovals): Promise<readonly PendingApproval[]>;
  /**
   * Allows or denies a tool call. A running turn continues at once. When its process is gone,
   * `resume` continues it. The first answer counts.
   */
  answerApproval(request: AnswerApproval): Promise<ApprovalAnswered>;
  /** The calls that the user allowed for the rest of a session. */
  allowedCalls(request: SessionRequest): Promise<Allowed>;
  /** Takes back what an answer allowed for the rest of a session. Returns what is left. */
  revokeAllowed(request: RevokeAllowed): Promise<Allowed>;
  /** What the project has learned, newest first. `SESSION_KNOWLEDGE_DISABLED` when it does not learn. */
  listKnowledge(request: ListKnowledge): Promise<readonly KnowledgeEntry[]>;
  readKnowledge(request: KnowledgeRequest): Promise<KnowledgeEntry>;
  addKnowledge(request: AddKnowledge): Promise<KnowledgeEntry>;
  editKnowledge(request: EditKnowledge): Promise<KnowledgeEntry>;
  /** Forgets something that the project has learned, in the same way. It is not learned again. */
  forgetKnowledge(request: KnowledgeRequest): Promise<void>;
  /** Makes new rules, with the model if one is configured. */
  distillKnowledge(request: DistillKnowledge): Promise<Distillation>;
  capabilities(): Promise<readonly Capability[]>;
  /**
   * The same service for one user: their sessions, memory, knowledge, logs and approvals, and
   * nothing else. A session of another user is `SESSION_NOT_FOUND`. It ends with this service.
   *
   * @throws SessionError `INVALID_PARAMS`; `USER_NOT_ALLOWED` when this service acts for another
   *   user; `SESSION_USERS_DISABLED` when its stores cannot keep users apart. A client of a surface
   *   throws the last two with its first request.
   */
  forUser(user: string): SessionService;
  /** Interrupts running turns and finishes the projections. The stores stay open. */
  close(): Promise<void>;
}

/**
 * What can be done with memory, through a service or without one. The caller has checked the
 * requests.
 */
export interface MemoryOperations {
  search(request: Given<SearchMemory>): Promise<readonly MemoryHit[]>;
  list(request: Given<ListMemory>): Promise<readonly ShownEntry[]>;
  stats(request: Given<MemoryStatsRequest>): Promise<MemoryStats>;
  addText(request: Given<AddMemory>): Promise<MemoryAdded>;
  /** Credentials in the texts are replaced. Returns how many entries were new, and what was replaced. */
  add(entries: readonly MemoryEntry[]): Promise<{
    readonly added: number;
    readonly redacted: Readonly<Record<string, number>>;
  }>;
  verify(watch?: Watch): Promise<MemoryCheck>;
  reindex(watch?: Watch): Promise<void>;
}

export interface TurnOptions {
  /** Interrupts the turn. The promise then rejects with `TURN_INTERRUPTED`. */
  readonly signal?: AbortSignal;
  /**
   * Called with every event of the turn, in order, before the promise resolves. If it throws or
   * rejects, that is a process warning, and the turn goes on.
   */
  readonly onEvent?: (event: EventEnvelope) => void;
}

export interface SubscribeOptions {
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /** Called when the session was found. No event after `afterSeq` is missed. */
  readonly onOpen?: (afterSeq: number) => void;
}

export interface SessionCreated {
  readonly sessionId: string;
}

export interface MessagesAppended {
  readonly sessionId: string;
  /** How many messages were new: all of them, or 0 when their key was used before. */
  readonly added: number;
  /** Their ids, in order. A retry with the same key returns the same ids. */
  readonly messages: readonly number[];
  /** Turns of the session so far. */
  readonly turns: number;
  /** Estimated tokens of the history. */
  readonly historyTokens: number;
}

/** What an import did. */
export interface ImportReport {
  readonly sessions: number;
  /** Messages that were read: those that were added, and those that were there already. */
  readonly messages: number;
  readonly added: number;
  readonly alreadyThere: number;
  /** What could not be read. */
  readonly skipped: readonly Skipped[];
  /** Records of types that are not known, by type. */
  readonly unknownTypes: Readonly<Record<string, number>>;
  /** Credentials that were replaced before anything was stored, by kind. */
  readonly redacted: Readonly<Record<string, number>>;
  /** Messages of branches that the conversations left. */
  readonly otherBranches: number;
  /** Sessions that were left out: rkat's own, and those of other memory tools. */
  readonly leftOut: number;
  /** Files whose last line is still being written. The next import reads it. */
  readonly stillWritten: readonly string[];
}

export interface Skipped {
  readonly file: string;
  readonly line?: number;
  readonly reason: string;
}

export interface TurnResult {
  readonly sessionId: string;
  /** The model's last answer. */
  readonly text: string;
  /** `end_turn` is the usual end. With another one the answer may be incomplete. */
  readonly stopReason: TurnEnd;
  /** Turns of the session so far, this one included. */
  readonly turns: number;
  /** Model calls of this run. */
  readonly modelCalls: number;
  /** Tool calls of this run. */
  readonly toolCalls: number;
  /** Of this run. */
  readonly usage: TokenUsage;
}

export type TurnEnd =
  | "end_turn"
  | "max_tokens"
  | "stop_sequence"
  | "content_filter"
  | "turn_limit"
  | "budget_exhausted"
  /** Tool calls wait for approval, and no answer came in time. `resume` continues. */
  | "approval_required";

export interface ApprovalAnswered {
  readonly sessionId: string;
  /** Whether a running turn takes the answer. Otherwise call `resume`. */
  readonly continues: boolean;
  /** Calls of the session that still wait. */
  readonly waiting: number;
}

export interface Distillation {
  readonly rules: readonly KnowledgeEntry[];
  /** Statements that contradict each other. The newer one holds. */
  readonly contradictions: readonly Contradiction[];
  /** The text for the system prompt of new sessions; empty when there are no rules. */
  readonly addendum: string;
  readonly madeBy: "grouping" | "model";
}

export type CompactionOutcome =
  | {
      readonly compacted: true;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly discardedMessages: number;
      readonly summaryTokens: number;
    }
  | { readonly compacted: false; readonly reason: string };

export interface MemoryAdded {
  readonly id: string;
  /** False when memory has it already. */
  readonly added: boolean;
}

export interface MemoryForgotten {
  /** Number of forgotten entries, knowledge, and messages that were not in memory yet. */
  readonly forgotten: number;
  /** Ids of other entries and messages that say the same, or have one of its names, at most a hundred. */
  readonly remaining: readonly string[];
  /** Where the texts were. They are there no more. */
  readonly cleaned: readonly Cleaned[];
  /** Where the texts may still be, because rkat cannot delete them there. */
  readonly notCleaned: readonly NotCleaned[];
}

export interface NotCleaned {
  readonly place: NotCleanedPlace;
  /** Why, in a sentence. */
  readonly why: string;
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

/** The pinned messages of a session, and how many tokens they may take. */
export interface Pins {
  /** In the order of the history. */
  readonly pins: readonly PinnedMessage[];
  /** Estimated tokens of pinned messages with their tool calls and results. */
  readonly tokens: number;
  readonly tokensMax: number;
}

export interface PinnedMessage {
  /** Its message id. */
  readonly message: number;
  /** Its place in the history now, from 0. */
  readonly position: number;
  readonly role: "user" | "assistant" | "tool";
  /** The start of its text. */
  readonly text: string;
}

/** What fills a session's context window. All numbers except `lastInputTokens` are estimates. */
export interface ContextView {
  readonly sessionId: string;
  readonly model: string;
  /** The model's context window in tokens; null when unknown. */
  readonly contextWindow: number | null;
  /** Tokens that trigger a compaction; null without compaction. */
  readonly threshold: number | null;
  /** In the order of the request. */
  readonly parts: readonly ContextPart[];
  /** The sum of the parts. */
  readonly usedTokens: number;
  /** Free tokens in the window, or up to the threshold when the window is unknown; null without both. */
  readonly freeTokens: number | null;
  /** Input tokens of the last model call, as the provider counted; 0 before the first and after a compaction. */
  readonly lastInputTokens: number;
  /** When the next compaction comes; null without compaction. */
  readonly compaction: NextCompaction | null;
}

export interface Allowed {
  readonly allowed: readonly AllowedCalls[];
}

export interface ContextPart {
  readonly name: ContextPartName;
  readonly tokens: number;
  readonly messages: number;
}

export const CONTEXT_PARTS = [
  "tool_definitions",
  "system_prompt",
  "knowledge",
  "summary",
  "pins",
  "turns",
  "task_record",
] as const;

export type ContextPartName = (typeof CONTEXT_PARTS)[number];

export interface NextCompaction {
  /** Whether it comes before the next model call. */
  readonly due: boolean;
  /** Tokens until then; 0 when the threshold is reached. */
  readonly tokensLeft: number;
  /** Messages until then; null when only tokens count. */
  readonly messagesLeft: number | null;
  /** Model calls that must come first, however full the window is. */
  readonly callsLeft: number;
}

/**
 * What a service can do beyond running turns. A capability is something you
 * pass: stores, a memory store, a compactor.
 */
export const CAPABILITIES = ["session-store", "memory-store", "session-compaction"] as const;

export type Capability = (typeof CAPABILITIES)[number];

export const CAPABILITY_DESCRIPTIONS: Readonly<Record<Capability, string>> = {
  "session-store": "Sessions outlive the process: resume, read, list, archive, delete, search.",
  "memory-store": "What sessions said, and what was added by hand, can be searched.",
  "session-compaction": "Histories are compacted before they outgrow the context window.",
};
