import { type EngineCompactor, isCrowded, type RebuildResult } from "../core/compactor.ts";
import { errorText } from "../core/errors.ts";
import type { CompactionPlan } from "../core/event.ts";
import { given } from "../core/fields.ts";
import { isSummary, type Message } from "../core/message.ts";
import { reading, requireOptions } from "../core/options.ts";
import { estimateTokens } from "../core/tokens.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import { checkMeasured, describeViolation } from "./check-rebuild.ts";
import {
  COMPACT_HISTORY_OPTIONS,
  type CompactHistoryOptions,
  requireHistory,
  requireSense,
} from "./compact-history-options.ts";
import {
  type CompactHistoryResult,
  discardedMessages,
  prunedOutputs,
  type UnchangedReason,
  unchangedResult,
} from "./compact-history-result.ts";
import { cutEnd, cutToSize, textSize } from "./cut-text.ts";
import { compactionThreshold, DefaultCompactor } from "./default-compactor.ts";
import { engineCompactor } from "./engine-compactor.ts";
import { cheaperChange, summarising } from "./expected-cost.ts";
import { anchorBytes, keepAnchors } from "./keep-anchors.ts";
import {
  partsFor,
  type Speakers,
  splitWords,
  withoutWords,
  wordsBytes,
  wordsIn,
  wordsSection,
} from "./kept-words.ts";
import {
  type MeasuredHistory,
  measureHistory,
  providerCount,
  roomWithin,
} from "./measure-history.ts";
import {
  carriedBytesMax,
  fixedGroups,
  looseMessages,
  ownBytes,
  PRICE_PART,
  worthOf,
} from "./plan-rebuild.ts";
import { pruneMeasured, pruning, withShortened } from "./prune-tool-output.ts";
import { summaryText } from "./render-transcript.ts";
import { withOutcomes } from "./request-outcomes.ts";
import { writeSummary } from "./write-summary.ts";

export type { CostOutlook } from "./expected-cost.ts";
export type { ContinuedRequest, Summarize, SummaryRequest } from "./write-summary.ts";

/**
 * Compacts a history before it outgrows the context window.
 *
 *     below the threshold? ─► prune old tool output ─► decide what leaves ─► summary ─► anchors ─► rebuild, check
 *            └ unchanged             └ enough: pruned       └ nothing:          └ failed: unchanged,
 *                                                             unchanged           or the fallback
 *
 * It never changes its input and never makes a history larger. It calls `summarize` at most once,
 * and once more if the first answer is worthless. Called again with its own result, it changes nothing.
 *
 * @throws SessionError `INVALID_PARAMS`
 * @throws the reason of `signal` when it aborts
 */
export async function compactHistory(
  options: CompactHistoryOptions,
): Promise<CompactHistoryResult> {
  requireOptions("compactHistory", COMPACT_HISTORY_OPTIONS, options);
  const { signal, force = false, bare = false, model, opaqueTokens, joined, turns } = options;
  signal?.throwIfAborted();
  requireHistory(options.messages);
  const messages = [...options.messages];
  const own = defaultCompactor(options);
  const compactor = options.compactor ? engineCompactor(options.compactor, own) : own;
  const pinned = new Set(options.pins);
  requireSense(options, messages.length);

  const superseded = new Set(options.superseded);
  const known = given({ model, opaqueTokens, joined, turns });
  const measured = reading("compactHistory", () =>
    measureHistory(messages, { superseded, ...known }),
  );
  const count = providerCount(measured, options.lastInputTokens);
  const wanted = options.targetTokens ?? compactor.config.autoCompactThreshold;
  const targetTokens = Math.max(1, Math.floor(roomWithin(wanted, count)));
  const contextWindow = Math.max(1, roomWithin(options.contextWindow ?? wanted, count));
  const source = unchangedResult(messages, Math.floor(measured.weight / 4));
  const outgrown =
    options.outgrown ??
    (options.contextWindow !== undefined && source.tokensBefore >= contextWindow);
  const unchanged = (reason: UnchangedReason, detail: string): CompactHistoryResult => ({
    outcome: "unchanged",
    ...source,
    reason,
    detail,
  });
  const pruned = (
    shortened: RebuildResult["shortened"],
    plan?: CompactionPlan,
  ): CompactHistoryResult => {
    const shorter = withShortened(messages, shortened);
    return {
      outcome: "pruned",
      ...given({ plan }),
      ...source,
      messages: shorter,
      pruned: prunedOutputs(shortened),
      tokensAfter: estimateTokens(shorter, model) + opaqueOf(source.retained, opaqueTokens),
    };
  };

  const loose = looseMessages(measured, fixedGroups(measured, pinned));
  const crowded = isCrowded(loose, compactor.config);
  const { ignoresTarget = false } = compactor;
  const asked = force || bare || crowded || (ignoresTarget && options.due === true);
  if (!asked && source.tokensBefore < targetTokens) {
    const detail = `The history is estimated at ${source.tokensBefore} tokens, below ${targetTokens}.`;
    return unchanged("below_threshold", detail);
  }
  // If you ask for a compaction, you want old turns summarised, not their output shortened;
  // and shorter messages are not fewer.
  const outlook = ignoresTarget ? undefined : options.outlook;
  const mayPrune = !asked && options.pruneToolOutput !== false;
  const shorter = mayPrune ? pruneMeasured(measured, { targetTokens, pinned }) : [];
  if (shorter.length > 0 && !outlook) return pruned(shorter);

  const injected = new Set((options.injected ?? []).flatMap((index) => messages[index] ?? []));
  const speakers = speakersOf(messages, options.speakers);
  const wordsMax = 4 * (options.userWordsTokens ?? Math.floor(targetTokens * WORDS_PART));
  const sentences = partsFor(typedShare(measured, injected));
  const needed =
    wordsMax === 0 ? 0 : wordsBytes(wordsIn(messages, injected, speakers), wordsMax, sentences);
  const constraints = {
    pinned,
    targetTokens,
    wordsTokens: Math.ceil(needed / 4),
    force,
    superseded,
    bare,
    ...known,
  };
  // Another's compactor may throw, and may say one thing and do another.
  const rebuild = (summary: string): RebuildResult | string => {
    try {
      const result = compactor.rebuildHistory(messages, summary, constraints);
      const { targetTokens: _, ...withoutTarget } = constraints;
      const checked = ignoresTarget && !bare ? withoutTarget : constraints;
      const violations = checkMeasured(messages, result, checked, measured);
      return violations.length > 0 ? violations.map(describeViolation).join("; ") : result;
    } catch (error) {
      return errorText(error);
    }
  };
  const dry = rebuild("");
  const compared = outlook && {
    outlook,
    threshold: targetTokens,
    prune: shorter.length > 0 ? pruning(measured, shorter) : undefined,
    summarise:
      typeof dry === "string" || dry.summaryBytesMax === 0
        ? undefined
        : summarising(measured, dry, { ...options, outlook, most: compactor.maxSummaryTokens() }),
  };
  const chosen = compared && cheaperChange(compared);
  if (shorter.length > 0 && chosen?.way !== "summarise") return pruned(shorter, chosen?.plan);
  if (typeof dry === "string") return unchanged("invalid_rebuild", dry);
  if (dry.discarded.length === 0) {
    if (dry.shortened.length > 0) return pruned(dry.shortened);
    return unchanged("nothing_to_discard", "Every message of the history has to stay.");
  }
  const { messages: retained, summaryBytesMax } = dry;
  // The summary and the names after it outlast their sources. No credential gets into them.
  const redacted = dry.discarded.map((message) => redactMessage(message));
  const notTyped = new Set(redacted.filter((_, at) => injected.has(dry.discarded[at] as Message)));
  const names = speakersOf(
    redacted,
    dry.discarded.map((message) => speakers.get(message)),
  );
  const longest = 4 * compactor.maxSummaryTokens();
  // Words that are carried on cost no call, so only a part of them counts.
  const worth = worthOf(dry.discarded);
  const whole = [...messages];
  for (const [index, at] of dry.discardedAt.entries()) whole[at] = redacted[index] as Message;
  const words = wordsIn(
    whole,
    new Set([...injected, ...notTyped]),
    names,
    new Set(dry.discardedAt),
  );
  const said = wordsSection(
    words,
    wordsMax,
    Math.min(
      summaryBytesMax - Math.min(ownBytes(summaryBytesMax), longest),
      carriedBytesMax(worth),
    ),
    sentences,
  );
  const saidBytes = textSize(said.text);
  const discarded = redacted.map(withoutWords);
  const all = Math.min(summaryBytesMax - saidBytes, worth - saidBytes * PRICE_PART);
  const room = Math.max(0, Math.floor(Math.min(all, longest)));
  const beside = Math.floor(room * PART_BESIDE);
  const roomBeside = (tokens: number) => (beside + 4 * tokens > all ? 0 : beside);
  const anchored = options.keepAnchors !== false && room > 0;
  const stays = retained.filter((message) => !isSummary(message));
  const parts = { discarded, retained: [...stays, { role: "user", content: said.text } as const] };
  const leaves = new Map(dry.discardedAt.map((at, index) => [at, discarded[index]]));
  const written = await writeSummary(
    { ...dry, discarded, summaryBytesMax: room },
    {
      ...options,
      compactor,
      contextWindow,
      onSummaryFailure: outgrown ? "fallback" : (options.onSummaryFailure ?? "keep"),
      retained: parts.retained,
      record: messages.map((message, at) => leaves.get(at) ?? message),
      reservedBytes: (most) => (anchored ? anchorBytes(parts, most) : 0),
      roomBeside,
      speakers: names,
    },
  );
  // Shortened tool output is better than a summary without a model.
  if (written.failure && shorter.length > 0) return pruned(shorter);
  if (written.text === undefined) return unchanged(written.failure.reason, written.failure.detail);
  // No model puts words into people's mouths.
  const shown = options.continues?.messages;
  const answer = withOutcomes(splitWords(written.text).summary, discarded, words, shown);
  const { item } = written;
  const summaryRoom = item ? roomBeside(item.tokens) : room;
  const kept =
    anchored && written.by !== "none" ? keepAnchors(answer, parts, summaryRoom) : undefined;
  const summary = kept?.text ?? cutToSize(summaryRoom, (bytes) => cutEnd(answer, bytes));

  const result = rebuild(summary + said.text);
  if (typeof result === "string") return unchanged("invalid_rebuild", result);
  if (!sameNumbers(result.discardedAt, dry.discardedAt)) {
    return unchanged("invalid_rebuild", "what left depends on the summary");
  }
  const inserted = result.messages.find(isSummary);
  const left = new Set(result.discardedAt);
  const stayed = source.retained.filter((index) => !left.has(index));
  return {
    outcome: "compacted",
    messages: [...result.messages],
    discarded: discardedMessages(messages, result.discardedAt),
    retained: stayed,
    pruned: prunedOutputs(result.shortened),
    summary: inserted ? summaryText(inserted) : null,
    summarizedBy: inserted ? written.by : "none",
    tokensBefore: source.tokensBefore,
    tokensAfter: estimateTokens(result.messages, model) + opaqueOf(stayed, opaqueTokens),
    ...(inserted && written.score !== undefined ? { score: written.score } : {}),
    ...(written.rejected ? { rejected: written.rejected } : {}),
    ...(outgrown && written.failure && options.onSummaryFailure !== "fallback"
      ? { lastStep: true }
      : {}),
    ...(kept ? { anchors: kept.report } : {}),
    ...given({ plan: chosen?.plan }),
    ...(said.report.kept + said.report.left > 0 ? { words: said.report } : {}),
    ...(written.failure ? { failure: written.failure } : {}),
    ...(inserted ? given({ item }) : {}),
  };
}

/** The share of a history that people typed, without system messages and summaries. */
function typedShare(
  { messages, weights }: MeasuredHistory,
  injected: ReadonlySet<Message>,
): number {
  let all = 0;
  let typed = 0;
  for (const [at, message] of messages.entries()) {
    if (message.role === "system" || isSummary(message)) continue;
    const weight = weights[at] ?? 0;
    all += weight;
    if (message.role === "user" && !injected.has(message)) typed += weight;
  }
  return typed / Math.max(1, all);
}

/** The part of its room that a summary has beside an item of a provider. */
const PART_BESIDE = 1 / 4;

/** The part of the threshold that people's words may take below a summary, where no setting says otherwise. */
const WORDS_PART = 3 / 4;

/** Every option without another meaning is a setting, so that a misspelt one is refused. */
function defaultCompactor(options: CompactHistoryOptions): EngineCompactor {
  const {
    messages,
    summarize,
    contextWindow,
    pins,
    injected,
    speakers,
    userWordsTokens,
    compactor,
    due,
    force,
    instructions,
    targetTokens,
    onSummaryFailure,
    outgrown,
    lastInputTokens,
    model,
    superseded,
    opaqueTokens,
    joined,
    turns,
    continues,
    outlook,
    bare,
    pruneToolOutput,
    keepAnchors,
    summaryTimeoutMs,
    signal,
    ...config
  } = options;
  const autoCompactThreshold = config.autoCompactThreshold ?? compactionThreshold(contextWindow);
  return new DefaultCompactor({ ...config, autoCompactThreshold });
}

/** The names of those who wrote messages, by the message. */
function speakersOf(
  messages: readonly Message[],
  names: CompactHistoryOptions["speakers"] | readonly (string | undefined)[] = [],
): Speakers {
  const byMessage = [...names.entries()].flatMap(([at, name]) => {
    const message = messages[at];
    return message === undefined || name === undefined ? [] : [[message, name] as const];
  });
  return new Map(byMessage);
}

function opaqueOf(
  positions: readonly number[],
  opaqueTokens: ReadonlyMap<number, number> = new Map(),
): number {
  return positions.reduce((sum, position) => sum + (opaqueTokens.get(position) ?? 0), 0);
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((number, index) => number === b[index]);
}
