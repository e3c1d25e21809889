import type { StoredEvent } from "../core/event.ts";
import type { MemoryHit, MemoryStats } from "../core/memory-store.ts";
import type {
  CompactionOutcome,
  SessionSummary,
  SessionView,
  TurnResult,
} from "../core/session-service.ts";

/** Results as every wire shows them: snake_case, what is the user's own untouched. */

export function turnResultJson(result: TurnResult) {
  const { sessionId, text, stopReason, turns, toolCalls, usage } = result;
  return {
    session_id: sessionId,
    text,
    stop_reason: stopReason,
    turns,
    tool_calls: toolCalls,
    usage: { ...usage, total_tokens: usage.input_tokens + usage.output_tokens },
  };
}

export function sessionSummaryJson(summary: SessionSummary) {
  return {
    session_id: summary.sessionId,
    created_at: summary.createdAt,
    updated_at: summary.updatedAt,
    model: summary.model,
    turns: summary.turns,
    message_count: summary.messageCount,
    total_tokens: summary.totalTokens,
    archived: summary.archived,
    labels: summary.labels,
  };
}

export function sessionViewJson(view: SessionView) {
  return {
    ...sessionSummaryJson(view),
    is_active: view.isActive,
    usage: view.usage,
    last_assistant_text: view.lastAssistantText,
    seq: view.seq,
    compactions: view.compactions,
    history_tokens: view.historyTokens,
    history: view.history,
  };
}

export function compactionOutcomeJson(outcome: CompactionOutcome) {
  if (!outcome.compacted) return { compacted: false, reason: outcome.reason };
  return {
    compacted: true,
    messages_before: outcome.messagesBefore,
    messages_after: outcome.messagesAfter,
    tokens_before: outcome.tokensBefore,
    tokens_after: outcome.tokensAfter,
    discarded_messages: outcome.discardedMessages,
    summary_tokens: outcome.summaryTokens,
  };
}

/** A hit as the specification's `memory_search` shows it. */
export function memoryHitJson(hit: MemoryHit) {
  return {
    content: hit.content,
    score: Math.round(hit.score * 1000) / 1000,
    session_id: hit.sessionId,
    turn: hit.turn,
  };
}

export function memoryStatsJson(stats: MemoryStats) {
  return {
    entries: stats.entries,
    sessions: stats.sessions,
    text_bytes: stats.textBytes,
    index: stats.index,
  };
}

/** An event as it stands in the log. */
export function storedEventJson(stored: StoredEvent) {
  const { seq, schema_version, event_id, timestamp_ms, event } = stored;
  return { seq, schema_version, event_id, timestamp_ms, event };
}
