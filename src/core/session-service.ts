import type { PendingApproval } from "./approval.ts";
import type { EventEnvelope, Origin } from "./event.ts";
import type { HistoryHit } from "./event-store.ts";
import type { Contradiction, KnowledgeEntry } from "./knowledge.ts";
import type { MemoryCheck, MemoryEntry, MemoryHit, MemoryStats, Watch } from "./memory-store.ts";
import type { Message } from "./message.ts";
import type {
  AddKnowledge,
  AnswerApproval,
  CompactSession,
  CreateSession,
  DistillKnowledge,
  EditKnowledge,
  ForgetMemory,
  Given,
  KnowledgeRequest,
  ListApprovals,
  ListKnowledge,
  ListMemory,
  ListSessions,
  MemoryStatsRequest,
  MessageRequest,
  ResumeTurn,
  SearchHistory,
  SearchMemory,
  SessionRequest,
  StartTurn,
  Subscribe,
  UpdateTask,
} from "./requests.ts";
import type { TaskView } from "./task.ts";
import type { Usage } from "./usage.ts";

/**
 * The one door. The SDK, the CLI, JSON-RPC, REST and MCP all call this and
 * nothing behind it.
 *
 * Contract:
 * - Creating a session and running a turn work with every set of capabilities.
 * - What needs a capability that is not there fails with that capability's code.
 * - A session runs one turn at a time, over all processes; a second one is `SESSION_BUSY`.
 * - An event is in the log before a listener sees it.
 * - A turn that fails or is interrupted leaves a session that the next turn can go on with.
 * - The task record, pins and what they keep survive compaction and everything being closed.
 * - No message is outside all tiers: it is in the history, or it left and a search finds it.
 * - Every request is checked here; a bad one is `INVALID_PARAMS`.
 */
export interface SessionService {
  createSession(request: CreateSession): Promise<SessionCreated>;
  /** Runs a turn to its end and returns the answer. */
  startTurn(request: StartTurn, options?: TurnOptions): Promise<TurnResult>;
  /**
   * Runs a turn in a session that this or an earlier process left. Needs `session-store`.
   * Without a prompt, it goes on with a turn whose tool calls waited for approval.
   */
  resume(request: ResumeTurn, options?: TurnOptions): Promise<TurnResult>;
  /** Stops the turn that runs in this process. `SESSION_NOT_RUNNING` when none does. */
  interrupt(request: SessionRequest): Promise<void>;
  /** Compacts now, whatever the threshold says. Needs `session-compaction`. */
  compact(request: CompactSession, options?: TurnOptions): Promise<CompactionOutcome>;
  /** Changes the session's task record, which stays word for word through every compaction. */
  updateTask(request: UpdateTask): Promise<TaskView>;
  /**
   * Keeps a message, with the tool call or the results that belong to it, in the history through
   * every compaction. `PIN_BUDGET_EXCEEDED` when the pins would take too much.
   */
  pin(request: MessageRequest): Promise<Pins>;
  unpin(request: MessageRequest): Promise<Pins>;
  pins(request: SessionRequest): Promise<Pins>;
  /** Where each token of the context window goes, and when the next compaction comes. */
  context(request: SessionRequest): Promise<ContextView>;
  read(request: SessionRequest): Promise<SessionView>;
  list(request: ListSessions): Promise<readonly SessionSummary[]>;
  /** Puts a session away: no more turns, not in lists, still there to read and to search. */
  archive(request: SessionRequest): Promise<void>;
  /** Removes a session, its log and its memory. */
  delete(request: SessionRequest): Promise<void>;
  /** Events as they happen, after those that are asked for again. Ends when `signal` aborts. */
  subscribe(request: Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope>;
  searchMemory(request: SearchMemory): Promise<readonly MemoryHit[]>;
  /** Entries of memory page by page, in the order in which they were stored. */
  listMemory(request: ListMemory): Promise<readonly MemoryEntry[]>;
  memoryStats(request: MemoryStatsRequest): Promise<MemoryStats>;
  /**
   * Takes entries out of memory, what was learned from them out of what the project knows, and
   * their texts out of all logs: messages, summaries, results of tools, task records, rules that
   * sessions were told. `SESSION_BUSY` while a turn runs in one of those sessions.
   */
  forgetMemory(request: ForgetMemory): Promise<MemoryForgotten>;
  searchHistory(request: SearchHistory): Promise<readonly HistoryHit[]>;
  /** The tool calls that wait for approval, in whichever process. */
  listApprovals(request: ListApprovals): Promise<readonly PendingApproval[]>;
  /**
   * Allows or denies a call. A turn that waits for it goes on at once; one whose
   * process is gone goes on with `resume`. The first answer counts.
   */
  answerApproval(request: AnswerApproval): Promise<ApprovalAnswered>;
  /** What the project has learned, newest first. Without `knowledge`, `SESSION_KNOWLEDGE_DISABLED`. */
  listKnowledge(request: ListKnowledge): Promise<readonly KnowledgeEntry[]>;
  readKnowledge(request: KnowledgeRequest): Promise<KnowledgeEntry>;
  addKnowledge(request: AddKnowledge): Promise<KnowledgeEntry>;
  editKnowledge(request: EditKnowledge): Promise<KnowledgeEntry>;
  /** The same for something that the project has learned, which is not learned again. */
  forgetKnowledge(request: KnowledgeRequest): Promise<void>;
  /** Makes the rules anew, with the model if one is configured. */
  distillKnowledge(request: DistillKnowledge): Promise<Distillation>;
  capabilities(): Promise<readonly Capability[]>;
  /** Ends running turns, finishes projections and lets go of the stores. */
  close(): Promise<void>;
}

/**
 * What can be done with memory, through a service or without one. Requests are checked before
 * they get here.
 */
export interface MemoryOperations {
  search(request: Given<SearchMemory>): Promise<readonly MemoryHit[]>;
  list(request: Given<ListMemory>): Promise<readonly MemoryEntry[]>;
  stats(request: Given<MemoryStatsRequest>): Promise<MemoryStats>;
  add(entries: readonly MemoryEntry[]): Promise<number>;
  verify(watch?: Watch): Promise<MemoryCheck>;
  reindex(watch?: Watch): Promise<void>;
}

export interface TurnOptions {
  /** Interrupts the turn; the promise then rejects with `TURN_INTERRUPTED`. */
  readonly signal?: AbortSignal;
  /** Called with every event of the turn, in order, before the promise resolves. */
  readonly onEvent?: (event: EventEnvelope) => void;
}

export interface SubscribeOptions {
  /** Ends the subscription. */
  readonly signal?: AbortSignal;
  /** Called when the session is found, with the place in the log after which no event is missed. */
  readonly onOpen?: (afterSeq: number) => void;
}

export interface SessionCreated {
  readonly sessionId: string;
}

export interface TurnResult {
  readonly sessionId: string;
  /** What the model said last. */
  readonly text: string;
  /** `end_turn` is the usual end; with the others the answer may be cut short. */
  readonly stopReason: TurnEnd;
  /** Model calls of this run. */
  readonly turns: number;
  /** Tool calls of this run. */
  readonly toolCalls: number;
  /** Of this run. */
  readonly usage: Usage;
}

export type TurnEnd =
  | "end_turn"
  | "max_tokens"
  | "stop_sequence"
  | "content_filter"
  | "turn_limit"
  | "budget_exhausted"
  /** Tool calls wait for approval, and nobody answered in time; `resume` goes on. */
  | "approval_required";

export interface ApprovalAnswered {
  readonly sessionId: string;
  /** Whether a running turn takes the answer; otherwise `resume` goes on. */
  readonly continues: boolean;
  /** Calls of the session that still wait. */
  readonly waiting: number;
}

export interface Distillation {
  readonly rules: readonly KnowledgeEntry[];
  /** Statements that contradict each other. The newer one holds. */
  readonly contradictions: readonly Contradiction[];
  /** What goes into the system prompt of new sessions; empty when there are no rules. */
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

export interface MemoryForgotten {
  /** Entries that went, what was learned from them or says the same, and messages that were not in memory yet. */
  readonly forgotten: number;
  /** Ids of entries and messages that say the same and were not named: the first hundred. */
  readonly remaining: readonly string[];
}

export interface SessionSummary {
  readonly sessionId: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly model: string;
  /** User turns so far. */
  readonly turns: number;
  /** Messages so far, those that left the history included. */
  readonly messageCount: number;
  readonly totalTokens: number;
  readonly archived: boolean;
  readonly labels: Readonly<Record<string, string>>;
}

export interface SessionView extends SessionSummary {
  /** Whether a turn runs in it now, in any process. */
  readonly isActive: boolean;
  readonly usage: Usage;
  readonly lastAssistantText: string | null;
  /** The last event's place in the log. */
  readonly seq: number;
  readonly compactions: number;
  /** Estimated tokens of the history. */
  readonly historyTokens: number;
  readonly task: TaskView;
  /** What the next model call would be sent, besides the task record. */
  readonly history: readonly HistoryMessage[];
}

export interface HistoryMessage {
  /** The place in the log of the event that completed the message. */
  readonly id: number;
  readonly turn: number;
  readonly message: Message;
  readonly origin?: Origin;
  readonly pinned?: true;
}

/** The messages of a session that stay whatever a compaction does, and how much they may take. */
export interface Pins {
  /** In the order of the history. */
  readonly pins: readonly PinnedMessage[];
  /** Estimated tokens of pinned messages, and of the tool calls and results that stay with them. */
  readonly tokens: number;
  readonly tokensMax: number;
}

export interface PinnedMessage {
  /** Its id. */
  readonly message: number;
  /** Its place in the history now, from 0. */
  readonly position: number;
  readonly role: "user" | "assistant" | "tool";
  /** How it begins. */
  readonly text: string;
}

/** Where each token of a session's context window goes. All but the usage are estimates. */
export interface ContextView {
  readonly sessionId: string;
  readonly model: string;
  /** Tokens that the model takes; null when that is not known. */
  readonly contextWindow: number | null;
  /** Tokens at which the history is compacted; null where it is not. */
  readonly threshold: number | null;
  /** In the order in which the model is sent them. */
  readonly parts: readonly ContextPart[];
  /** What the parts sum up to. */
  readonly usedTokens: number;
  /** What is left of the window, or of the threshold where no window is known; null where neither is. */
  readonly freeTokens: number | null;
  /** Input tokens of the last model call as its provider counted them; 0 before the first and after a compaction. */
  readonly lastInputTokens: number;
  /** When the next compaction comes; null where there are none. */
  readonly compaction: NextCompaction | null;
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
  /** Whether the next model call is preceded by one. */
  readonly due: boolean;
  /** Tokens until then; 0 when that many are there. */
  readonly tokensLeft: number;
  /** Messages until then; null where only tokens count. */
  readonly messagesLeft: number | null;
  /** Model calls that have to pass before, however full the window is. */
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
  "memory-store": "What compaction removed, and what was added by hand, can be searched.",
  "session-compaction": "Histories are compacted before they outgrow the context window.",
};
