import type { Capability } from "./capabilities.ts";
import type { EventEnvelope, Origin } from "./event.ts";
import type { HistoryHit } from "./event-store.ts";
import type { MemoryHit } from "./memory-store.ts";
import type { Message } from "./message.ts";
import type {
  CompactSession,
  CreateSession,
  ListSessions,
  SearchHistory,
  SearchMemory,
  SessionRequest,
  StartTurn,
  Subscribe,
} from "./requests.ts";
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
 * - Every request is checked here; a bad one is `INVALID_PARAMS`.
 */
export interface SessionService {
  createSession(request: CreateSession): Promise<SessionCreated>;
  /** Runs a turn to its end and returns the answer. */
  startTurn(request: StartTurn, options?: TurnOptions): Promise<TurnResult>;
  /** Runs a turn in a session that this or an earlier process left. Needs `session-store`. */
  resume(request: StartTurn, options?: TurnOptions): Promise<TurnResult>;
  /** Stops the turn that runs in this process. `SESSION_NOT_RUNNING` when none does. */
  interrupt(request: SessionRequest): Promise<void>;
  /** Compacts now, whatever the threshold says. Needs `session-compaction`. */
  compact(request: CompactSession, options?: TurnOptions): Promise<CompactionOutcome>;
  read(request: SessionRequest): Promise<SessionView>;
  list(request: ListSessions): Promise<readonly SessionSummary[]>;
  /** Puts a session away: no more turns, not in lists, still there to read and to search. */
  archive(request: SessionRequest): Promise<void>;
  /** Removes a session, its log and its memory. */
  delete(request: SessionRequest): Promise<void>;
  /** Events as they happen, after those that are asked for again. Ends when `signal` aborts. */
  subscribe(request: Subscribe, options?: SubscribeOptions): AsyncIterable<EventEnvelope>;
  searchMemory(request: SearchMemory): Promise<readonly MemoryHit[]>;
  searchHistory(request: SearchHistory): Promise<readonly HistoryHit[]>;
  capabilities(): Promise<readonly Capability[]>;
  /** Ends running turns, finishes projections and lets go of the stores. */
  close(): Promise<void>;
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
  | "budget_exhausted";

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
  /** What the next model call would be sent. */
  readonly history: readonly HistoryMessage[];
}

export interface HistoryMessage {
  /** The place in the log of the event that completed the message. */
  readonly id: number;
  readonly turn: number;
  readonly message: Message;
  readonly origin?: Origin;
}
