import { compactHistory } from "../compaction/compact-history.ts";
import { mentions, rankAnchors, textsOf } from "../compaction/keep-anchors.ts";
import type { Message } from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import type { RecordedMessage } from "../transcripts/recording.ts";

/** A compaction that a transcript recorded, beside rkat's of the same messages. */
export interface RecordedCompaction {
  readonly messages_before: number;
  readonly tokens_before: number;
  /** Paths, names and numbers in these messages. */
  readonly names: number;
  /** The summary that the transcript has. */
  readonly theirs: Kept;
  /** The history after rkat's compaction, whose summary may take as many tokens. */
  readonly ours: Kept;
}

/** The whole of a session, compacted. */
export interface CompactedNow extends Kept {
  readonly tokens_before: number;
  readonly names: number;
}

interface Kept {
  readonly tokens_after: number;
  readonly names_kept: number;
}

/** Names that are looked for. The weightiest come first. */
const NAMES_MAX = 2000;
const SUMMARY_TOKENS_MIN = 256;

/**
 * Compares each compaction of a transcript with rkat's, without a model, by the same measure: how many
 * of the names in the compacted messages are in what takes their place. A message that the other
 * program kept beside its summary is not known, so it does not count for it.
 */
export async function recordedCompactions(
  messages: readonly RecordedMessage[],
): Promise<readonly RecordedCompaction[]> {
  const found: RecordedCompaction[] = [];
  let window: Message[] = [];
  for (const { message, boundary } of messages) {
    if (boundary === "compaction" && window.some(({ role }) => role !== "system")) {
      found.push(await compared(window, message));
    }
    if (boundary) window = [];
    window.push(message);
  }
  return found;
}

/** The anchors that rkat's compaction of a whole session keeps, without a model. */
export async function compactedNow(messages: readonly RecordedMessage[]): Promise<CompactedNow> {
  const before = messages.map(({ message }) => message);
  const names = rankAnchors(before).slice(0, NAMES_MAX);
  const tokens_before = estimateTokens(before);
  const after = await compacted(before, tokens_before / 5);
  return { tokens_before, names: names.length, ...keptOf(names, after) };
}

async function compared(before: readonly Message[], summary: Message): Promise<RecordedCompaction> {
  const names = rankAnchors(before).slice(0, NAMES_MAX);
  const theirs = keptOf(names, [summary]);
  return {
    messages_before: before.length,
    tokens_before: estimateTokens(before),
    names: names.length,
    theirs,
    ours: keptOf(names, await compacted(before, theirs.tokens_after)),
  };
}

async function compacted(
  messages: readonly Message[],
  summaryTokens: number,
): Promise<readonly Message[]> {
  const result = await compactHistory({
    messages,
    force: true,
    recentTurnBudget: 1,
    maxSummaryTokens: Math.max(SUMMARY_TOKENS_MIN, Math.floor(summaryTokens)),
  });
  return result.messages;
}

function keptOf(names: ReturnType<typeof rankAnchors>, after: readonly Message[]): Kept {
  const text = after
    .flatMap(textsOf)
    .map((each) => each.text)
    .join("\n");
  return {
    tokens_after: estimateTokens(after),
    names_kept: names.filter((name) => mentions(text, name.text)).length,
  };
}
