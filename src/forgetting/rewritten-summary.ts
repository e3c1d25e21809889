import { textSize } from "../compaction/cut-text.ts";
import { anchorBytes, keepAnchors } from "../compaction/keep-anchors.ts";
import { scoreSummary } from "../compaction/score-summary.ts";
import { smartFallbackSummary } from "../compaction/smart-fallback-summary.ts";
import type { CompactionCompleted } from "../core/event.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import {
  FORGOTTEN,
  indexableText,
  isForgotten,
  isSummary,
  type Message,
  toolResults,
} from "../core/message.ts";

/** A rewritten summary may take this much, even where the old one was shorter. */
const BYTES_MIN = 1_000;

/** The history of a compaction, in two parts. */
export interface CompactedParts {
  readonly discarded: readonly HistoryEntry[];
  readonly retained: readonly HistoryEntry[];
}

/** The messages that a compaction of `history` discarded, including the previous summary. */
export function compactedParts(
  history: readonly HistoryEntry[],
  { discarded: spans }: CompactionCompleted,
): CompactedParts {
  const leaves = ({ id, message }: HistoryEntry) =>
    isSummary(message) || spans.some(({ from, to }) => from <= id && id <= to);
  return {
    discarded: history.filter(leaves),
    retained: history.filter((entry) => !leaves(entry)),
  };
}

/**
 * The compaction with a summary that is written again, without a model, from messages that no longer
 * have the forgotten text. A model may have told it in its own words, which no search finds.
 */
export function withRewrittenSummary(
  event: CompactionCompleted,
  parts: CompactedParts,
): CompactionCompleted {
  if (event.summary === null) return event;
  const discarded = parts.discarded.map(({ message }) => message).filter(hasText);
  const source = { discarded, retained: parts.retained.map(({ message }) => message) };
  const saved = event.tokens_before - event.tokens_after;
  const before = textSize(event.summary);
  const bytesMax = Math.max(before, Math.min(BYTES_MIN, before + 2 * saved));
  const anchors = event.report?.anchors;
  const reserved = anchors ? anchorBytes(source, bytesMax) : 0;
  const written = smartFallbackSummary(discarded, bytesMax - reserved);
  const kept = anchors ? keepAnchors(written, source, bytesMax) : undefined;
  const summary = discarded.length === 0 ? FORGOTTEN : (kept?.text ?? written);
  const { score } = scoreSummary(summary, source, "");
  const { report } = event;
  return {
    ...event,
    summary,
    summarised_by: "fallback",
    summary_score: score,
    tokens_after: Math.max(1, event.tokens_after + Math.ceil((textSize(summary) - before) / 4)),
    ...(report
      ? {
          report: {
            ...report,
            ...(kept ? { anchors: kept.report } : {}),
            ...(report.summary ? { summary: { ...report.summary, score } } : {}),
          },
        }
      : {}),
  };
}

/** Whether a message has more than the marker. */
function hasText(message: Message): boolean {
  const texts = [indexableText(message), ...toolResults(message).map(({ content }) => content)];
  const said = texts.filter((text) => text.trim() !== "");
  return said.length === 0 || !said.every(isForgotten);
}
