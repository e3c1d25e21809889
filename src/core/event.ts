import type { ErrorCode } from "./errors.ts";
import { newId } from "./ids.ts";
import type { ContentBlock, Message, ProviderMeta, StopReason } from "./message.ts";
import type { Usage } from "./usage.ts";

/**
 * What happens to a session, in the order that it happens.
 *
 * A session's history is a fold of these (`SessionState`), so whoever listens
 * has all that the session itself has:
 *
 *     run_started                          the user message
 *     ├ turn_started                       the model is called
 *     │   reasoning_complete, text_complete, tool_call_requested …   its blocks
 *     ├ turn_completed                     the assistant message is whole
 *     │   tool_execution_started/_completed …, tool_result_received … the tool results
 *     ├ turn_started … turn_completed      and so on, until no tool is asked for
 *     run_completed | run_failed
 *
 * Everything but the deltas is durable: it is in the log, with a `seq`, before
 * anybody sees it.
 */
export type SessionEvent = DurableEvent | TransientEvent;

export type DurableEvent =
  | {
      readonly type: "session_created";
      readonly session_id: string;
      readonly settings: SessionSettings;
    }
  | { readonly type: "session_archived"; readonly session_id: string }
  /** A message that no turn made: a system prompt, or a history that the session began with. */
  | { readonly type: "message_added"; readonly message: Message; readonly origin?: Origin }
  | {
      readonly type: "skills_resolved";
      readonly skills: readonly string[];
      readonly injection_bytes: number;
    }
  | {
      readonly type: "run_started";
      readonly session_id: string;
      readonly prompt: string;
      /** The whole prompt where it is more than its text. */
      readonly content?: readonly ContentBlock[];
      readonly origin?: Origin;
    }
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
    }
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
      readonly input_tokens: number;
      readonly estimated_history_tokens: number;
      readonly message_count: number;
    }
  | CompactionCompleted
  | {
      readonly type: "compaction_failed";
      readonly error: string;
      readonly reason: CompactionFailure;
    }
  /** Old tool output was shortened in the history; the log keeps it whole. */
  | {
      readonly type: "tool_output_pruned";
      readonly pruned: readonly PrunedOutput[];
      readonly tokens_before: number;
      readonly tokens_after: number;
    }
  | {
      readonly type: "budget_warning";
      readonly budget_type: "tokens" | "time" | "tool_calls";
      readonly used: number;
      readonly limit: number;
      /** Share of the limit that is used: 1 is all of it. */
      readonly percent: number;
    }
  | {
      readonly type: "retrying";
      readonly attempt: number;
      readonly max_attempts: number;
      readonly error: string;
      readonly delay_ms: number;
    };

export interface CompactionCompleted {
  readonly type: "compaction_completed";
  /** Output tokens of the call that wrote the summary; 0 when no model was called. */
  readonly summary_tokens: number;
  readonly messages_before: number;
  readonly messages_after: number;
  readonly tokens_before: number;
  readonly tokens_after: number;
  /** What the summary message says after its prefix; `null` when there was no room for one. */
  readonly summary: string | null;
  /** Where in the log the messages are that left the history. */
  readonly discarded: readonly DiscardedSpan[];
  readonly discarded_messages: number;
  readonly pruned: readonly PrunedOutput[];
  /** Who wrote the summary. */
  readonly summarised_by: "model" | "fallback" | "none";
  readonly usage: Usage;
}

export type CompactionFailure =
  | "summary_failed"
  | "empty_summary"
  | "summary_timeout"
  | "invalid_rebuild"
  | "interrupted";

/** What passes by while a model speaks. Never stored. */
export type TransientEvent =
  | { readonly type: "text_delta"; readonly delta: string }
  | { readonly type: "reasoning_delta"; readonly delta: string }
  /** Said to a subscriber who was too slow: so many deltas did not reach it. */
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

/** Messages that left the history together. */
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
}

/** Who said something, when and where, for what was not said here and now: a replay, an import. */
export interface Origin {
  readonly speaker?: string;
  /** ISO 8601. */
  readonly time?: string;
  readonly session?: string;
}

/** What a session was created with; a resumed session goes on with the same. */
export interface SessionSettings {
  readonly model: string;
  readonly memory: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly max_tokens?: number;
  readonly compaction?: {
    readonly auto_compact_threshold?: number;
    readonly recent_turn_budget?: number;
    readonly max_summary_tokens?: number;
    readonly min_turns_between_compactions?: number;
  };
}

/** An event on its way into the log. */
export interface NewEvent {
  /** UUIDv7. */
  readonly event_id: string;
  /** Unix time in milliseconds. */
  readonly timestamp_ms: number;
  readonly event: DurableEvent;
}

/** An event in the log. */
export interface StoredEvent extends NewEvent {
  /** Its place in its session's log: from 1, without gaps. */
  readonly seq: number;
  readonly schema_version: 1;
}

/** An event as subscribers get it. */
export interface EventEnvelope {
  readonly event_id: string;
  /** `session:<id>`. */
  readonly source_id: string;
  /** Its place in the log; a delta carries that of the last durable event before it. */
  readonly seq: number;
  readonly timestamp_ms: number;
  readonly payload: SessionEvent;
}

export function envelope(sessionId: string, stored: StoredEvent): EventEnvelope {
  const { event_id, seq, timestamp_ms, event } = stored;
  return { event_id, source_id: `session:${sessionId}`, seq, timestamp_ms, payload: event };
}

/** An event that passes by after the durable one at `seq`. */
export function passing(sessionId: string, seq: number, payload: TransientEvent): EventEnvelope {
  return {
    event_id: newId(),
    source_id: `session:${sessionId}`,
    seq,
    timestamp_ms: Date.now(),
    payload,
  };
}
