import { textSize } from "../compaction/cut-text.ts";
import { anchorBytes, keepAnchors } from "../compaction/keep-anchors.ts";
import { type Words, withoutWords, wordsIn, wordsSection } from "../compaction/kept-words.ts";
import { scoreSummary } from "../compaction/score-summary.ts";
import { smartFallbackSummary } from "../compaction/smart-fallback-summary.ts";
import { type CompactionCompleted, isRequest } from "../core/event.ts";
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
  const entries = parts.discarded.filter(({ message }) => hasText(message));
  const discarded = entries.map(({ message }) => withoutWords(message));
  const source = { discarded, retained: parts.retained.map(({ message }) => message) };
  const saved = event.tokens_before - event.tokens_after;
  const before = textSize(event.summary);
  const bytesMax = Math.max(before, Math.min(BYTES_MIN, before + 2 * saved));
  const said = event.report?.words ? wordsSection(wordsOf(entries), bytesMax * WORDS_PART) : NONE;
  const room = bytesMax - textSize(said.text);
  const anchors = event.report?.anchors;
  const reserved = anchors ? anchorBytes(source, room) : 0;
  const written = smartFallbackSummary(discarded, Math.max(0, room - reserved));
  const kept = anchors ? keepAnchors(written, source, room) : undefined;
  const summary = discarded.length === 0 ? FORGOTTEN : (kept?.text ?? written) + said.text;
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
            ...(said.report ? { words: said.report } : {}),
            ...(report.summary ? { summary: { ...report.summary, score } } : {}),
          },
        }
      : {}),
  };
}

/** The part of a rewritten summary that people's words may take. */
const WORDS_PART = 2 / 3;

const NONE = { text: "", report: undefined };

function wordsOf(entries: readonly HistoryEntry[]): Words {
  const injected = entries.flatMap(({ message, origin }) => (isRequest(origin) ? [] : [message]));
  return wordsIn(
    entries.map(({ message }) => message),
    new Set(injected),
  );
}

/** Whether a message has more than the marker. */
function hasText(message: Message): boolean {
  const texts = [indexableText(message), ...toolResults(message).map(({ content }) => content)];
  const said = texts.filter((text) => text.trim() !== "");
  return said.length === 0 || !said.every(isForgotten);
}
