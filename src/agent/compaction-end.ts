import type { CompactHistoryResult } from "../compaction/compact-history-result.ts";
import type { DurableEvent } from "../core/event.ts";
import { type HistoryEntry, spansOf } from "../core/history-entry.ts";
import { isSummary } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import type { Usage } from "../core/usage.ts";
import { compactionReport } from "./compaction-report.ts";

/** How a compaction ended. */
export type CompactionEnd = Extract<
  DurableEvent,
  { type: "compaction_completed" | "tool_output_pruned" | "compaction_failed" }
>;

/** What the log is told of a compaction's end; nothing when there was nothing to do. */
export function compactionEnd(
  compacted: CompactHistoryResult,
  made: {
    /** The history that was compacted. */
    readonly entries: readonly HistoryEntry[];
    readonly before: number;
    readonly usage: Usage;
    readonly state: SessionState;
  },
): CompactionEnd | undefined {
  const { entries, before, usage, state } = made;
  const result = unlessPinned(compacted, entries, state);
  if (result.outcome === "unchanged") {
    const { reason, detail: error } = result;
    if (reason === "below_threshold" || reason === "nothing_to_discard") return undefined;
    return { type: "compaction_failed", error, reason, usage };
  }
  const pruned = result.pruned.map(({ index, toolUseId, keptBytes }) => ({
    message: entries[index]?.id ?? 0,
    tool_use_id: toolUseId,
    kept_bytes: keptBytes,
  }));
  const tokens = { tokens_before: before, tokens_after: result.tokensAfter };
  if (result.outcome === "pruned") return { type: "tool_output_pruned", pruned, ...tokens };
  const left = result.discarded.flatMap(({ index }) => entries[index] ?? []);
  const messages = left.filter((entry) => !isSummary(entry.message));
  return {
    type: "compaction_completed",
    summary_tokens: usage.output_tokens,
    messages_before: entries.length,
    messages_after: result.messages.length,
    ...tokens,
    summary: result.summary,
    discarded: spansOf(messages),
    discarded_messages: messages.length,
    pruned,
    summarised_by: result.summarizedBy,
    usage,
    report: compactionReport(result, entries, state),
  };
}

/** Refuses the result when a message that it changes was pinned while the summary was written. */
function unlessPinned(
  result: CompactHistoryResult,
  entries: readonly HistoryEntry[],
  { working }: SessionState,
): CompactHistoryResult {
  const changes = [
    ...result.discarded.map(({ index }) => index),
    ...result.pruned.map(({ index }) => index),
  ];
  const pinned = changes.some((index) => working.isPinned(entries[index]?.id ?? 0));
  if (!pinned) return result;
  const detail = "A message that would have changed was pinned meanwhile.";
  return { ...result, outcome: "unchanged", reason: "invalid_rebuild", detail };
}
