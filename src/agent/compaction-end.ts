import type {
  CompactedHistory,
  CompactHistoryResult,
} from "../compaction/compact-history-result.ts";
import type { CompactionReport, DurableEvent } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { type HistoryEntry, spansOf } from "../core/history-entry.ts";
import { indexableText, isSummary } from "../core/message.ts";
import type { SessionState } from "../core/session-state.ts";
import { startsTurn } from "../core/turn.ts";
import type { Usage } from "../core/usage.ts";

/** How a compaction ended. */
export type CompactionEnd = Extract<
  DurableEvent,
  { type: "compaction_completed" | "tool_output_pruned" | "compaction_failed" }
>;

/** The event that ends a compaction. Undefined when there was nothing to do. */
export function compactionEnd(
  compacted: CompactHistoryResult,
  made: {
    /** The history that was compacted. */
    readonly entries: readonly HistoryEntry[];
    readonly before: number;
    readonly usage: Usage;
    /** The model that was asked for a summary, if one was. */
    readonly model: string | undefined;
    readonly state: SessionState;
  },
): CompactionEnd | undefined {
  const { entries, before, usage, state } = made;
  const model = given({ model: made.model });
  const result = unlessPinned(compacted, entries, state);
  if (result.outcome === "unchanged") {
    const { reason, detail: error } = result;
    if (reason === "below_threshold" || reason === "nothing_to_discard") return undefined;
    return { type: "compaction_failed", error, reason, usage, ...model };
  }
  const pruned = result.pruned.map(({ index, toolUseId, keptBytes, turn }) => ({
    message: entries[index]?.id ?? 0,
    tool_use_id: toolUseId,
    kept_bytes: keptBytes,
    ...given({ turn }),
  }));
  const tokens = {
    tokens_before: before,
    tokens_after: result.tokensAfter,
    rewritten_tokens: rewrittenTokens(result, entries),
  };
  if (result.outcome === "pruned") {
    // A summary that failed before has its price.
    const asked = made.model === undefined ? {} : { usage, ...model };
    const plan = given({ plan: result.plan });
    return { type: "tool_output_pruned", pruned, ...tokens, ...asked, ...plan };
  }
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
    summary_score: result.score ?? null,
    usage,
    ...model,
    report: compactionReport(result, entries, state),
  };
}

/** Estimated tokens from the first change on: what a provider has in its cache ends there. */
function rewrittenTokens(
  { discarded, pruned, tokensAfter }: Exclude<CompactHistoryResult, { outcome: "unchanged" }>,
  entries: readonly HistoryEntry[],
): number {
  const first = Math.min(...[...discarded, ...pruned].map(({ index }) => index));
  const before = entries.slice(0, first).reduce((sum, { weight }) => sum + weight, 0);
  return Math.max(0, tokensAfter - Math.floor(before / 4));
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

/** Pins that a report names. */
const PINS_MAX = 100;

/** Counts the parts of `entries` that stay in the window and those that leave it. */
function compactionReport(
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
      instructions: working.instructions.length,
    },
    cut: { outputs: result.pruned.length, messages: gone.length },
    ...(working.leftOut.length > 0 ? { instructions_left_out: working.leftOut } : {}),
    only_in_memory: { messages: remembered },
    only_in_log: { messages: gone.length - remembered },
    ...(result.anchors ? { anchors: result.anchors } : {}),
    ...given({ plan: result.plan }),
    ...(result.words ? { words: result.words } : {}),
    ...(result.summary === null
      ? {}
      : {
          summary: {
            score: result.score ?? null,
            rejected: result.rejected ?? [],
            last_step: result.lastStep ?? false,
          },
        }),
  };
}

/** System messages whose first characters are the same, except for digits, are of one kind. */
const KIND_CHARACTERS = 24;

/**
 * Positions of system messages that have been superseded. Those that the session
 * began with never are. Of those that came with later turns:
 *
 *     S  U A  Stime 9:00  U A  Srule  U A  Stime 9:05  U A
 *             └ superseded: a later one begins alike, or is the same
 *
 * When the others still take more than `tokensMax`, the oldest of them count as
 * superseded too, except those of the newest turn that has any.
 */
export function supersededMessages(
  history: readonly HistoryEntry[],
  tokensMax: number,
): readonly number[] {
  const system = history.flatMap((entry, position) =>
    entry.message.role === "system"
      ? [{ entry, position, kind: kindOf(entry.message.content) }]
      : [],
  );
  const newestTurn = system.at(-1)?.entry.turn ?? -1;
  const later = system.filter(({ entry }) => entry.turn >= 0);
  const last = new Map(later.map(({ kind, position }) => [kind, position]));
  const isReplaced = ({ kind, position }: (typeof later)[number]) => last.get(kind) !== position;
  const superseded = new Set(later.filter(isReplaced).map(({ position }) => position));
  let weight = system
    .filter(({ position }) => !superseded.has(position))
    .reduce((sum, { entry }) => sum + entry.weight, 0);
  for (const { entry, position } of later) {
    if (weight <= tokensMax * 4) break;
    if (superseded.has(position) || entry.turn === newestTurn) continue;
    superseded.add(position);
    weight -= entry.weight;
  }
  return [...superseded].sort((a, b) => a - b);
}

function kindOf(content: string): string {
  return content.trim().replace(/\d+/g, "0").slice(0, KIND_CHARACTERS).toLowerCase();
}
