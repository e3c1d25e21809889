import type { CompactedHistory } from "../compaction/compact-history-result.ts";
import type { CompactionReport } from "../core/event.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import { indexableText, isSummary } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { startsTurn } from "../core/turn.ts";

/** Pins that a report names. */
const PINS_MAX = 100;

/** What a compaction of `entries` leaves in the window, and what it does not. */
export function compactionReport(
  result: CompactedHistory,
  entries: readonly HistoryEntry[],
  { working, settings }: SessionState,
): CompactionReport {
  const left = new Set(result.discarded.map(({ index }) => index));
  const stayed = entries.filter((_, index) => !left.has(index));
  const gone = entries.filter(({ message }, index) => left.has(index) && !isSummary(message));
  const remembered = settings.memory
    ? gone.filter(({ message }) => indexableText(message).trim() !== "").length
    : 0;
  const { sub_tasks, active_files } = working.task;
  return {
    survived: {
      messages: stayed.length,
      last_request: stayed.findLast(({ message }) => startsTurn(message))?.id ?? null,
      pins: stayed
        .map(({ id }) => id)
        .filter((id) => working.isPinned(id))
        .slice(0, PINS_MAX),
      open_sub_tasks: sub_tasks.filter(({ done }) => !done).length,
      active_files: active_files.length,
      corrections: working.denied.length,
    },
    cut: { outputs: result.pruned.length, messages: gone.length },
    only_in_memory: { messages: remembered },
    only_in_log: { messages: gone.length - remembered },
    ...(result.anchors ? { anchors: result.anchors } : {}),
    ...(result.summary === null ? {} : { summary: { last_step: result.lastStep ?? false } }),
  };
}
