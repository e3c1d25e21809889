import type { AllowedCalls, AllowedFor, Answerer, ToolPolicy } from "./approval.ts";
import type { ErrorCode } from "./errors.ts";
import { newId } from "./ids.ts";
import type {
  DeniedCall,
  HeldInstruction,
  InheritedSummary,
  SaidIn,
  ShownMessage,
  ShownRecords,
  ShownTask,
} from "./kept-state.ts";
import type { ContentBlock, Message, ProviderMeta, StopReason } from "./message.ts";
import type { LoggedSource } from "./session-source.ts";
import type { TaskRecord } from "./task.ts";
import type { Usage } from "./usage.ts";

/**
 * What happens to a session, in order.
 *
 * A session's history is a fold of these events (`SessionState`), so a listener can have everything
 * that the session has:
 *
 *     run_started                          the user message
 *     ├ turn_started                       the model is called
 *     │   reasoning_complete, text_complete, tool_call_requested …   its blocks
 *     ├ turn_completed                     the assistant message is whole
 *     │   tool_execution_started/_completed …, tool_result_received … the tool results
 *     ├ turn_started … turn_completed      and so on, until the model calls no tool
 *     run_completed | run_failed
 *
 * Every event except the deltas is durable: a listener sees it after it is in the log, with a `seq`.
 */
export type SessionEvent = DurableEvent | TransientEvent;

export type DurableEvent =
  | {
      readonly type: "session_created";
      readonly session_id: string;
      readonly settings: SessionSettings;
    }
  | { readonly type: "session_archived"; readonly session_id: string }
  | { readonly type: "session_unarchived"; readonly session_id: string }
  /** The session is deleted. What was made from its log goes now, and the log last. */
  | { readonly type: "session_deleted"; readonly session_id: string }
  /** The session was not for memory. From now on it is, with all that was said in it. */
  | { readonly type: "session_remembered"; readonly session_id: string }
  /** Its program gave the session a title later. Without one, the title was forgotten. */
  | { readonly type: "session_titled"; readonly session_id: string; readonly title?: string }
  /** A message from outside of turns: a system prompt, the history that a session was created with, or one that was appended. */
  | ({
      readonly type: "message_added";
      readonly message: Message;
      readonly origin?: Origin;
      /** This is the first of so many messages that were appended together, under a key. */
      readonly batch?: {
        /** A hash of the key. */
        readonly key: string;
        readonly messages: number;
      };
      /** From where another program has it. */
      readonly imported?: {
        /** The ids of its parts there. */
        readonly ids: readonly string[];
        /** Earlier messages left the window of that program here. */
        readonly boundary?: "compaction" | "clear";
      };
      /** It stays out of memory. */
      readonly memory?: false;
      /** A copy: the session is a fork, and this was said before it began. */
      readonly inherited?: SaidIn;
    } & GivenInstructions)
  | HostItemsChanged
  | {
      readonly type: "skills_resolved";
      readonly skills: readonly string[];
      readonly injection_bytes: number;
    }
  /** Learned rules were added to the session's system prompt. */
  | {
      readonly type: "knowledge_applied";
      /** Ids of the rules. */
      readonly rules: readonly string[];
      readonly injection_bytes: number;
    }
  | ({
      readonly type: "run_started";
      readonly session_id: string;
      readonly prompt: string;
      /** The whole prompt, when it has more than text. */
      readonly content?: readonly ContentBlock[];
      readonly origin?: Origin;
    } & GivenInstructions)
  | {
      readonly type: "run_completed";
      readonly session_id: string;
      readonly result: string;
      readonly usage: Usage;
    }
  | {
      readonly type: "run_failed";
      readonly session_id: string;
      readonly error: string;
      readonly code: ErrorCode;
    }
  /** The run stopped because tool calls wait for approval. They go on waiting. */
  | {
      readonly type: "run_paused";
      readonly session_id: string;
      readonly reason: "approval_required";
    }
  /** A run goes on that was paused, interrupted or killed while calls waited. */
  | { readonly type: "run_resumed"; readonly session_id: string }
  /** `turn_number` counts the model calls of this run, from 0. */
  | { readonly type: "turn_started"; readonly turn_number: number }
  | { readonly type: "reasoning_complete"; readonly content: string; readonly meta?: ProviderMeta }
  | { readonly type: "text_complete"; readonly content: string; readonly meta?: ProviderMeta }
  | {
      readonly type: "tool_call_requested";
      readonly id: string;
      readonly name: string;
      readonly args: unknown;
      readonly meta?: ProviderMeta;
    }
  | {
      readonly type: "turn_completed";
      readonly stop_reason: StopReason;
      readonly usage: Usage;
      readonly origin?: Origin;
      /** Who answered, as `provider/model`. Logs of earlier versions do not say so. */
      readonly model?: string;
      /** Tokens that the request was estimated at, its tools included. */
      readonly estimated_input_tokens?: number;
    }
  /** The provider refused a request as too long for the model. */
  | {
      readonly type: "context_overflow";
      readonly model: string;
      /** Tokens that the request was estimated at, its tools included. */
      readonly estimated_input_tokens: number;
      /** Tokens that it must have had at least. */
      readonly input_tokens_min: number;
    }
  | ToolApprovalRequested
  | ToolApprovalResolved
  /** The user took back what an earlier answer allowed for the session. */
  | ({ readonly type: "approval_revoked" } & AllowedCalls)
  | { readonly type: "tool_execution_started"; readonly id: string; readonly name: string }
  | {
      readonly type: "tool_execution_completed";
      readonly id: string;
      readonly name: string;
      readonly result: string;
      readonly is_error: boolean;
      readonly duration_ms: number;
    }
  | {
      readonly type: "tool_execution_timed_out";
      readonly id: string;
      readonly name: string;
      readonly timeout_ms: number;
    }
  | {
      readonly type: "tool_result_received";
      readonly id: string;
      readonly name: string;
      readonly is_error: boolean;
    }
  | {
      readonly type: "compaction_started";
      /** Why: the history's size, a provider that refused it as too long, or a request. Missing in logs of earlier versions. */
      readonly trigger?: "threshold" | "overflow" | "request";
      readonly input_tokens: number;
      readonly estimated_history_tokens: number;
      readonly message_count: number;
    }
  | CompactionCompleted
  | {
      readonly type: "compaction_failed";
      readonly error: string;
      readonly reason: CompactionFailure;
      /** Tokens of the summaries that came to nothing. Logs of earlier versions do not say so. */
      readonly usage?: Usage;
      /** The model that was asked for them, as `provider/model`. */
      readonly model?: string;
    }
  | MemoryRecalled
  /** Old tool output was shortened in the history. The log keeps all of it. */
  | {
      readonly type: "tool_output_pruned";
      readonly pruned: readonly PrunedOutput[];
      readonly tokens_before: number;
      readonly tokens_after: number;
      /** Estimated tokens after the first change, which a provider's cache no longer has. Logs of earlier versions do not say so. */
      readonly rewritten_tokens?: number;
      /** Tokens of a summary that came to nothing before. */
      readonly usage?: Usage;
      readonly model?: string;
      readonly plan?: CompactionPlan;
      readonly before?: StateBefore;
    }
  | CompactionUndone
  | MessagesBroughtBack
  | RecallRefused
  | RecallAllowed
  | SessionForked
  | HistoryInherited
  /** Texts of earlier events were forgotten on request. A marker stands in their place. */
  | TextForgotten
  /** The task record changed. Has the changed fields with their new values. */
  | {
      readonly type: "task_updated";
      readonly changed: Partial<TaskRecord>;
      /** A new task began. Denials of the last task are no longer shown. */
      readonly new_task?: true;
      /** `agent`: the model made the change, so it knows of it. */
      readonly by: "agent" | "user";
    }
  /** `message` is a message's id. */
  | { readonly type: "message_pinned"; readonly message: number }
  | { readonly type: "message_unpinned"; readonly message: number }
  | {
      readonly type: "budget_warning";
      readonly budget_type: "tokens" | "time" | "tool_calls";
      readonly used: number;
      readonly limit: number;
      /** Used share of the limit. 1 is all of it. */
      readonly percent: number;
    }
  /** It could not be read, and nothing of it could be kept when its log was repaired. `was` is its type, if that was known. */
  | { readonly type: "event_lost"; readonly was: string }
  | {
      readonly type: "retrying";
      readonly attempt: number;
      readonly max_attempts: number;
      readonly error: string;
      readonly delay_ms: number;
    };

/**
 * The agent loop of another package changed the list of items that it keeps in this session.
 *
 * What people, models and tools say in the items is in `message_added` events too, for memory and searches.
 */
export interface HostItemsChanged {
  readonly type: "host_items_changed";
  /** Items of the list that these replace. Missing when these come after all others. */
  readonly replaced?: { readonly from: number; readonly count: number };
  /**
   * In the form of the other package. Forgetting looks for a text in the strings of an item. An item
   * `{ says, value }` has in memory the text `says`, and its whole value is forgotten with that.
   */
  readonly items: readonly unknown[];
  /** Hashes of the host's id of this change, and of the change. A repetition changes nothing. */
  readonly operation?: { readonly id: string; readonly change: string };
  /** The list begins again, and earlier operations count no more. */
  readonly restarts?: true;
}

/**
 * Memory has something about the newest prompt. The model sees the records before that prompt, until the next
 * compaction. They are quotes: memory does not take them in, and nothing is learned from them.
 */
export interface MemoryRecalled {
  readonly type: "memory_recalled";
  /** In the order in which they were said. */
  readonly records: readonly RecalledRecord[];
  /** Estimated tokens of all of them as the model sees them. */
  readonly tokens: number;
  /** The records of earlier prompts leave: there was no room beside them. */
  readonly replaces?: true;
  /** The score that the best record had to reach. */
  readonly bar?: number;
  /** In a chat of another package's loop: the key of the message that they stand before. */
  readonly before?: string;
}

/** An entry of memory that came back by itself. */
export interface RecalledRecord {
  /** Id of the entry. */
  readonly id: string;
  /** Id of the session that it is of, if that is another one. */
  readonly session?: string;
  readonly turn: number | null;
  /** `user`, `model`, `tool`, `file`, `program`, or a name. */
  readonly said_by: string;
  /** ISO 8601. */
  readonly time?: string;
  /** From 0 to 1. A neighbour of a record has the score of that. */
  readonly score: number;
  /** One line, cut to the passage that answers. */
  readonly text: string;
}

/**
 * The history is again what it was before an earlier change, with all that was said since. The log has both, so the
 * event has neither, and it can be undone itself.
 */
export interface CompactionUndone {
  readonly type: "compaction_undone";
  /** `seq` of what is undone: a `compaction_completed`, a `tool_output_pruned`, or another of these. */
  readonly undone: number;
  /** Ids of messages that stay out, because they had no room. */
  readonly left_out?: readonly number[];
}

/**
 * Messages that had left the window, or lost a part of their tool output, are shown to the model again, until the next
 * compaction. They are quotes: the messages stay where they are in the log, and nothing is learned from them again.
 */
export interface MessagesBroughtBack {
  readonly type: "messages_brought_back";
  readonly messages: readonly BroughtMessage[];
  /** Compactions keep them. */
  readonly pinned?: true;
}

/** The content of a message, whole. */
export interface BroughtMessage {
  /** Its id. */
  readonly message: number;
  /** `user`, `model`, `tool`, `file`, `program`, or a name. */
  readonly said_by: string;
  /** ISO 8601. */
  readonly time: string;
  /** Its words, its calls and their results. */
  readonly text: string;
  readonly images?: readonly ContentBlock[];
}

/** These records of memory come back by themselves no more, and those that the model sees now leave. */
export interface RecallRefused {
  readonly type: "recall_refused";
  /** Ids of the records in memory. */
  readonly records: readonly string[];
}

/** These records of memory were refused, and may come back by themselves again. */
export interface RecallAllowed {
  readonly type: "recall_allowed";
  /** Ids of the records in memory. */
  readonly records: readonly string[];
}

/** Another session began with the history of this one. */
export interface SessionForked {
  readonly type: "session_forked";
  /** Id of the other session. */
  readonly fork: string;
  /** The last event of this session that it knows of. */
  readonly event: number;
}

/**
 * The session began with the history of another one: the messages before this event are copies. The rest of what its
 * model sees is in here, with ids of the copies.
 */
export interface HistoryInherited extends BesideMessages {
  readonly type: "history_inherited";
  readonly from: {
    readonly session: string;
    /** The last event there that this session knows of. */
    readonly event: number;
  };
  readonly summary?: InheritedSummary;
  /** The tokens that each model counts for an estimated one. */
  readonly token_factors: Readonly<Record<string, number>>;
}

/** The parts of a session that its model sees besides messages. */
export interface BesideMessages {
  readonly pruned: readonly PrunedOutput[];
  readonly recalled?: readonly ShownRecords[];
  readonly brought_back?: readonly ShownMessage[];
  readonly recall_refused?: readonly string[];
  readonly pins: readonly number[];
  readonly task: TaskRecord;
  readonly shown_task: ShownTask | null;
  readonly denied: readonly DeniedCall[];
  readonly instructions: readonly HeldInstruction[];
  readonly instructions_left_out: readonly number[];
}

/**
 * The state of a session before a compaction: the parts that its model saw, and the places of its messages in the log.
 * An undo, and a fork at an earlier event, begin with it and read no earlier part of the log.
 */
export interface StateBefore extends BesideMessages {
  /** Whether the session was for memory. */
  readonly memory: boolean;
  readonly turns: number;
  readonly message_count: number;
  readonly history: readonly (DiscardedSpan & { readonly ordinal: number })[];
  readonly summary: { readonly seq: number; readonly index: number } | null;
  /** The score that the last records of memory had to reach, and the event that had it first. */
  readonly recall_bar?: { readonly score: number; readonly seq: number };
}

export interface TextForgotten {
  readonly type: "text_forgotten";
  /** They were older than the settings allow. What was learned from them stays. Missing when a person asked for it. */
  readonly by?: "retention";
  /** Ids of messages that were forgotten as a whole. */
  readonly messages: readonly number[];
  /** Ids of messages that lost a part. */
  readonly shortened?: readonly number[];
  /** `seq` of every event that lost text. */
  readonly events: readonly number[];
  /** The receipt: where the text was, as far as it came from this session. Logs of earlier versions have none. */
  readonly cleaned?: readonly Cleaned[];
  readonly not_cleaned?: readonly NotCleanedPlace[];
}

/** A place that forgotten texts were deleted from. */
export interface Cleaned {
  readonly place: CleanedPlace;
  /** How many: messages, summaries, sessions whose window had it, entries. */
  readonly count: number;
}

export const CLEANED_PLACES = [
  "log",
  "message",
  "summary",
  "window",
  "tool_call",
  "task",
  "approval",
  "file",
  "memory",
  "index",
  "vectors",
  "facts",
  "corrections",
  "preferences",
  "rules",
  "trash",
] as const;

export type CleanedPlace = (typeof CLEANED_PLACES)[number];

/** Each place once, with the sum of its counts. */
export function sumCleaned(cleaned: readonly Cleaned[]): readonly Cleaned[] {
  const counts = new Map<CleanedPlace, number>();
  for (const { place, count } of cleaned) counts.set(place, (counts.get(place) ?? 0) + count);
  return [...counts].flatMap(([place, count]) => (count > 0 ? [{ place, count }] : []));
}

/** Places that rkat cannot clean, or not at once. */
export const NOT_CLEANED_PLACES = [
  "open_requests",
  "write_ahead_log",
  "replicas",
  "dead_rows",
  "backups",
  "unreadable_sessions",
  "user_store",
] as const;

export type NotCleanedPlace = (typeof NOT_CLEANED_PLACES)[number];

/** A tool call waits for approval. */
export interface ToolApprovalRequested {
  readonly type: "tool_approval_requested";
  /** Answers name it by this id. */
  readonly approval_id: string;
  /** Id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  /** The user's goal, shortened. */
  readonly goal: string;
  /** Who may answer. Missing in logs of earlier versions: a user. */
  readonly may_answer?: readonly Answerer[];
}

export interface ToolApprovalResolved {
  readonly type: "tool_approval_resolved";
  readonly approval_id: string;
  readonly id: string;
  readonly name: string;
  readonly decision: "allow" | "deny";
  readonly reason?: string;
  /** `superseded`: another prompt came first. */
  readonly by: "user" | "model" | "settings" | "superseded";
  /** `seq` of the request. Missing when the settings decided without one. */
  readonly request?: number;
  /** The calls that the answer allows from now on, and how long. */
  readonly allows?: AllowedCalls & { readonly for: AllowedFor };
}

export interface CompactionCompleted {
  readonly type: "compaction_completed";
  /** Output tokens of the summary; 0 when no model was called. */
  readonly summary_tokens: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
  /** The summary without its prefix; `null` when there was no room for one. */
  readonly summary: string | null;
  /** Where the discarded messages are in the log. */
  readonly discarded: readonly DiscardedSpan[];
  readonly discarded_messages: number;
  readonly pruned: readonly PrunedOutput[];
  /** Who wrote the summary. */
  readonly summarised_by: "model" | "fallback" | "none";
  /** Its score, from 0 to 1; `null` where none was written. Logs of earlier versions do not say so. */
  readonly summary_score?: number | null;
  readonly usage: Usage;
  /** The model that wrote the summary, as `provider/model`. Missing when none was asked, and in logs of earlier versions. */
  readonly model?: string;
  /** Estimated tokens after the first change, which a provider's cache no longer has. Logs of earlier versions do not say so. */
  readonly rewritten_tokens?: number;
  /** The report: what was kept and what was lost. Logs of earlier versions have none. */
  readonly report?: CompactionReport;
  /** Missing in logs of earlier versions. */
  readonly before?: StateBefore;
}

/** Why this was done and not the other: a summary, or shortened tool output. Missing where cost decided nothing. */
export interface CompactionPlan {
  /** Calls that were expected to come. */
  readonly expected_calls: number;
  /** Their expected cost with all compactions, in input tokens that are not cached. */
  readonly expected_tokens: number;
  /** The same for the other way; null when there was none. */
  readonly other_tokens: number | null;
}

/** The report of a compaction: what it kept, what it shortened, and what only a search finds. */
export interface CompactionReport {
  /** Kept word for word in the next request to the model. */
  readonly survived: {
    /** Messages of the history. */
    readonly messages: number;
    /** Id of the last user message. */
    readonly last_request: number | null;
    /** Message ids, the first hundred. */
    readonly pins: readonly number[];
    readonly open_sub_tasks: number;
    readonly active_files: number;
    /** Denied calls with their reasons. */
    readonly corrections: number;
    /** Standing instructions, word for word. Logs of earlier versions do not say so. */
    readonly instructions?: number;
  };
  readonly cut: {
    /** Shortened tool outputs. */
    readonly outputs: number;
    /** Discarded messages. */
    readonly messages: number;
  };
  /** Messages whose standing instructions had no more room, the newest hundred. Missing when there are none. */
  readonly instructions_left_out?: readonly number[];
  /** The discarded messages that are in memory, and those only in the log. */
  readonly only_in_memory: { readonly messages: number };
  readonly only_in_log: { readonly messages: number };
  /**
   * Names in the discarded messages: paths, identifiers, links, numbers, error codes. Missing when
   * `keepAnchors` is off.
   */
  readonly anchors?: AnchorReport;
  /** Where the words of people are now. Logs of earlier versions do not say so. */
  readonly words?: WordsReport;
  readonly plan?: CompactionPlan;
  /** How the summary came about; left out where there is none. */
  readonly summary?: SummaryReport;
}

/** The words of people that a summary has. */
export interface WordsReport {
  /** Messages that stand below the summary, whole or cut in the middle. */
  readonly kept: number;
  /** Kept messages that are cut. */
  readonly cut: number;
  /** Messages that only a search finds, over all compactions of the session. */
  readonly left: number;
}

/** How a summary came about. */
export interface SummaryReport {
  /**
   * What it is worth, from 0 to 1: how much of the weighty names, words and requests that left it
   * still tells, and how much of it is about this conversation at all.
   */
  readonly score: number | null;
  /** Why answers of the model were not taken: `echo`, `refusal`, `repetition`, `wordless`, `unrelated`. */
  readonly rejected: readonly string[];
  /** The history no longer fitted the window, so that a failed summary could not leave it as it was. */
  readonly last_step: boolean;
}

/** Where the names of the discarded messages are now. */
export interface AnchorReport {
  readonly found: number;
  /** In retained messages. */
  readonly in_history: number;
  /** In the summary as the model wrote it. */
  readonly in_summary: number;
  /** Appended to the summary. */
  readonly appended: number;
  /** Only in discarded messages, where a search finds them. */
  readonly only_in_memory: number;
  /** The most important of these, at most twenty. */
  readonly names: readonly string[];
}

export type CompactionFailure =
  | "summary_failed"
  | "empty_summary"
  | "summary_timeout"
  | "worthless_summary"
  | "invalid_rebuild"
  | "interrupted";

/** Sent while a model answers. Never stored. */
export type TransientEvent =
  | { readonly type: "text_delta"; readonly delta: string }
  | { readonly type: "reasoning_delta"; readonly delta: string }
  /** The subscriber was too slow. It missed this many deltas. */
  | { readonly type: "stream_truncated"; readonly dropped: number };

const TRANSIENT: readonly SessionEvent["type"][] = [
  "text_delta",
  "reasoning_delta",
  "stream_truncated",
];

export function isTransient(event: SessionEvent): event is TransientEvent {
  return TRANSIENT.includes(event.type);
}

/** Events `from` to `to`, both included, of one session's log. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Neighbouring messages that a compaction discarded. */
export interface DiscardedSpan extends Span {
  /** User turns that had begun before the first of them. */
  readonly turns_before: number;
}

/** A tool result that the history holds shortened to `kept_bytes` of its text. */
export interface PrunedOutput {
  /** Id of the tool-results message. */
  readonly message: number;
  readonly tool_use_id: string;
  readonly kept_bytes: number;
  /** The turn that its note names, from 0. Missing in logs of older versions, whose notes name none. */
  readonly turn?: number;
}

/** Something that a user said and that holds for the rest of the session, such as "Never use the network." */
export interface StandingInstruction {
  /** Its number in the session. */
  readonly id: number;
  /** The user's words. */
  readonly text: string;
  /** The name of who said it, in a chat of several people. Nobody takes back what another one said. */
  readonly by?: string;
  /** Ids of earlier instructions that it contradicts or repeats. They no longer hold. */
  readonly replaces?: readonly number[];
  /** It also holds for later sessions: the project learns it. */
  readonly lasting?: true;
}

/** The standing instructions in a user's message. */
export interface GivenInstructions {
  /** The instructions in the message. Only a user gives any. */
  readonly instructions?: readonly StandingInstruction[];
  /** Ids of instructions, these or earlier ones, for which the session has no more room. */
  readonly instructions_left_out?: readonly number[];
}

/**
 * What may have written a prompt: a user, who typed it; a model; a file, or whatever else was piped in;
 * a program that did not say.
 */
export const AUTHORS = ["user", "model", "file", "program"] as const;

export type Author = (typeof AUTHORS)[number];

/** The origin of a message: who said it, when and where. */
export interface Origin {
  /** The author of a prompt. An origin without it belongs to a replay or an import. */
  readonly author?: Author;
  readonly speaker?: string;
  /** ISO 8601. */
  readonly time?: string;
  readonly session?: string;
}

/** Whether a prompt is what the user says here and now. Only then does it teach anything. */
export function isUsersWord(origin: { readonly author?: Author | undefined } | undefined): boolean {
  return origin === undefined || origin.author === "user";
}

/** Whether a message may be somebody's request. A program that does not say may pass on what a person typed. */
export function isRequest(origin: { readonly author?: Author | undefined } | undefined): boolean {
  return origin?.author !== "model" && origin?.author !== "file";
}

/** Who said a message, as searches show it: a name, or what wrote it when that was no user. */
export function speakerOf(origin: Origin | undefined): string | undefined {
  const { speaker: given = "", author = "user" } = origin ?? {};
  const speaker = given.trim() === "" ? undefined : given;
  if (author === "user") return speaker;
  return speaker === undefined ? author : `${speaker} (${author})`;
}

/** What a session was created with. Resuming it keeps these settings. */
export interface SessionSettings {
  readonly model: string;
  readonly memory: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** The user that the session belongs to. It never changes. */
  readonly user?: string;
  /** Where the session came from, if rkat itself did not hold it. It never changes. */
  readonly source?: LoggedSource;
  /** Whether the project learns from the session, and the session from the project. Missing means no. */
  readonly knowledge?: boolean;
  /** Tool policies of this session, by patterns of names. They can only be stricter than the service's. */
  readonly approvals?: Readonly<Record<string, ToolPolicy>>;
  readonly max_tokens?: number;
  readonly compaction?: {
    readonly auto_compact_threshold?: number;
    readonly recent_turn_budget?: number;
    readonly max_summary_tokens?: number;
    readonly min_turns_between_compactions?: number;
    readonly window_size?: number;
  };
}

/** An event to append. */
export interface NewEvent {
  /** UUIDv7. */
  readonly event_id: string;
  /** Unix time in milliseconds. */
  readonly timestamp_ms: number;
  readonly event: DurableEvent;
}

/** An event in the log. */
export interface StoredEvent extends NewEvent {
  /** Its place in the session's log: from 1, without gaps. */
  readonly seq: number;
  readonly schema_version: 1;
}

/** An event as subscribers receive it. */
export interface EventEnvelope {
  readonly event_id: string;
  /** `session:<id>`. */
  readonly source_id: string;
  /** Its place in the log. A delta has the place of the last durable event before it. */
  readonly seq: number;
  readonly timestamp_ms: number;
  readonly payload: SessionEvent;
}

export function envelope(sessionId: string, stored: StoredEvent): EventEnvelope {
  const { event_id, seq, timestamp_ms, event } = stored;
  return { event_id, source_id: `session:${sessionId}`, seq, timestamp_ms, payload: event };
}

/** The envelope of a delta that comes after the durable event at `seq`. */
export function passing(sessionId: string, seq: number, payload: TransientEvent): EventEnvelope {
  return {
    event_id: newId(),
    source_id: `session:${sessionId}`,
    seq,
    timestamp_ms: Date.now(),
    payload,
  };
}

/** The bytes that an event takes in memory, as an estimate: its texts, and a little for each field. */
export function eventBytes(root: unknown): number {
  let bytes = 0;
  const left = [root];
  while (left.length > 0) {
    const value = left.pop();
    if (typeof value === "string") bytes += 2 * value.length;
    else if (typeof value !== "object" || value === null) bytes += 8;
    else {
      for (const item of Object.values(value)) {
        bytes += 32;
        left.push(item);
      }
    }
  }
  return bytes;
}
