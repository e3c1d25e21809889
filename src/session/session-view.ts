import type { CompactionRun } from "../agent/run-compaction.ts";
import { given } from "../core/fields.ts";
import type { CompactionOutcome, SessionSummary, SessionView } from "../core/session-service.ts";
import type { SessionSnapshot } from "../core/session-snapshot.ts";
import { sourceView } from "../core/session-source.ts";
import type { SessionState } from "../core/session-state.ts";
import { taskView } from "../core/task.ts";
import { tokenUsage, totalTokens } from "../core/usage.ts";

/** A snapshot as an entry of a list. `project` is the project that the store belongs to. */
export function sessionSummary(
  snapshot: SessionSnapshot,
  project: string | undefined,
): SessionSummary {
  return {
    sessionId: snapshot.id,
    createdAt: new Date(snapshot.created_at_ms).toISOString(),
    updatedAt: new Date(snapshot.updated_at_ms).toISOString(),
    model: snapshot.settings.model,
    turns: snapshot.turns,
    messageCount: snapshot.message_count,
    totalTokens: totalTokens(snapshot.usage),
    archived: snapshot.archived,
    labels: snapshot.settings.labels,
    ...given({ user: snapshot.settings.user }),
    source: sourceView(snapshot.settings.source, snapshot.id, project),
  };
}

/** A snapshot in the trash. Its time is that of the deletion. */
export function deletedSummary(
  snapshot: SessionSnapshot,
  project: string | undefined,
): SessionSummary {
  const summary = sessionSummary(snapshot, project);
  return { ...summary, deletedAt: summary.updatedAt };
}

/** The result of `read`. */
export function sessionView(
  state: SessionState,
  isActive: boolean,
  project: string | undefined,
): SessionView {
  return {
    ...sessionSummary(state.snapshot(), project),
    isActive,
    usage: tokenUsage(state.usage),
    lastAssistantText: state.lastAssistantText,
    seq: state.seq,
    compactions: state.compactions,
    recordedCompactions: state.recordedCompactions,
    historyTokens: state.historyTokens,
    task: taskView(state.working.task),
    instructions: state.working.instructions,
    history: state.history.map(({ id, turn, message, origin }) => ({
      id,
      turn: Math.max(0, turn),
      message,
      ...(origin ? { origin } : {}),
      ...(state.working.isPinned(id) ? { pinned: true as const } : {}),
    })),
  };
}

/** The result of `compact`. */
export function compactionOutcome(
  { event, detail }: CompactionRun,
  messages: number,
): CompactionOutcome {
  if (!event || event.type === "compaction_failed") return { compacted: false, reason: detail };
  const tokens = { tokensBefore: event.tokens_before, tokensAfter: event.tokens_after };
  if (event.type === "tool_output_pruned") {
    return {
      compacted: true,
      messagesBefore: messages,
      messagesAfter: messages,
      ...tokens,
      discardedMessages: 0,
      summaryTokens: 0,
    };
  }
  return {
    compacted: true,
    messagesBefore: event.messages_before,
    messagesAfter: event.messages_after,
    ...tokens,
    discardedMessages: event.discarded_messages,
    summaryTokens: event.summary_tokens,
  };
}
