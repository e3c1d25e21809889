import {
  type CompactionConfig,
  type Compactor,
  type EngineCompactor,
  isCrowded,
  type RebuildResult,
} from "../core/compactor.ts";
import { errorText, SessionError } from "../core/errors.ts";
import type { CompactionPlan } from "../core/event.ts";
import { isMessage } from "../core/event-shape.ts";
import { given } from "../core/fields.ts";
import { isSummary, type Message } from "../core/message.ts";
import {
  amount,
  anything,
  COMPACTION,
  flag,
  group,
  is,
  listOf,
  reading,
  requireOptions,
  shown,
  someText,
  withFields,
} from "../core/options.ts";
import { estimateTokens } from "../core/tokens.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import { checkMeasured, describeViolation } from "./check-rebuild.ts";
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
import { type CostOutlook, cheaperChange, OUTLOOK, summarising } from "./expected-cost.ts";
import { anchorBytes, keepAnchors } from "./keep-anchors.ts";
import { splitWords, withoutWords, wordsBytes, wordsIn, wordsSection } from "./kept-words.ts";
import { measureHistory, providerCount, roomWithin } from "./measure-history.ts";
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
import { type ContinuedRequest, type Summarize, writeSummary } from "./write-summary.ts";

export type { CostOutlook } from "./expected-cost.ts";
export type { ContinuedRequest, Summarize, SummaryRequest } from "./write-summary.ts";

/**
 * How a history is compacted. A service takes these in `compaction`, and `compactHistory` beside its
 * other options:
 *
 *     const compaction = { autoCompactThreshold: 50_000, keepAnchors: false };
 *     createSessionService({ model, compaction });
 *     await compactHistory({ messages, ...compaction });
 */
export interface HistoryCompaction extends Partial<CompactionConfig> {
  /** Your own strategy, instead of `DefaultCompactor`: the specification's four methods are enough. */
  readonly compactor?: Compactor | EngineCompactor;
  /**
   * After a failed summary: `"keep"`, the default, leaves the history as it is while it fits the
   * window; `"fallback"` uses a summary that needs no model.
   */
  readonly onSummaryFailure?: "keep" | "fallback";
  /** Whether to shorten old tool output before summarising. Default true. */
  readonly pruneToolOutput?: boolean;
  /** Whether to append paths, names and numbers that a summary lost. Default true. */
  readonly keepAnchors?: boolean;
  /**
   * Tokens that the words of people may take below a summary, where they stand as they were typed. Default: four
   * fifths of the threshold. 0 keeps none.
   */
  readonly userWordsTokens?: number;
  /** Time limit of a summary. Default 120 000. */
  readonly summaryTimeoutMs?: number;
}

export interface CompactHistoryOptions extends HistoryCompaction {
  readonly messages: readonly Message[];
  /** Asks a model for a summary. Without it, `smartFallbackSummary` writes summaries without a model. */
  readonly summarize?: Summarize;
  /** Tokens that the model takes. Without an `autoCompactThreshold`, 80 % of it is the threshold. */
  readonly contextWindow?: number;
  /** Positions of user messages that no person typed. A summary does not carry their words on. */
  readonly injected?: readonly number[];
  /** Positions of messages that stay, with the tool calls or results that belong to them. */
  readonly pins?: readonly number[];
  /** Whether your compactor's `shouldCompact` was true. It counts for a compactor that ignores the target. */
  readonly due?: boolean;
  /** Compacts down to the turn budget even if the history is below the threshold. */
  readonly force?: boolean;
  /** Topics that the summary should pay attention to, added to the prompt. */
  readonly instructions?: string;
  /** Estimated tokens to end below. Default: the threshold. */
  readonly targetTokens?: number;
  /** Set it when a provider refused the history as too long. Default: a comparison with `contextWindow`. */
  readonly outgrown?: boolean;
  /**
   * Input tokens of the last model call, as the provider counted them. They correct the estimate:
   * that call contained everything before the last answer.
   */
  readonly lastInputTokens?: number;
  /** The name of the model as `provider/model`. Its rules say how many tokens an image has. */
  readonly model?: string;
  /** Positions of system messages that later ones replaced. They may be discarded. */
  readonly superseded?: readonly number[];
  /**
   * Estimated tokens that are sent with a message but not visible in it, by the message's position. An example is
   * a part that only its provider can read.
   */
  readonly opaqueTokens?: ReadonlyMap<number, number>;
  /**
   * The last request to the model with all that came after it, if the provider has it in its cache. The summary is then
   * asked for at its end, where it fits `contextWindow`.
   */
  readonly continues?: ContinuedRequest;
  /**
   * The expected cost of the rest of the session. With it, the cheaper of shortened tool output and a summary is
   * chosen, where both are possible. Without it, tool output is shortened if that frees enough.
   */
  readonly outlook?: CostOutlook;
  /** Keeps only the messages that must stay, without a summary. */
  readonly bare?: boolean;
  readonly signal?: AbortSignal;
}

/** Lists and limits have checks of their own, which know the history. */
const OPTIONS = group({
  ...COMPACTION,
  messages: anything,
  summarize: anything,
  contextWindow: anything,
  injected: anything,
  pins: anything,
  due: flag,
  force: flag,
  instructions: someText,
  targetTokens: anything,
  outgrown: flag,
  lastInputTokens: amount,
  model: someText,
  superseded: anything,
  opaqueTokens: is("a Map", (value) => value instanceof Map),
  continues: withFields({ messages: listOf(is("a message", isMessage)), toolTokens: amount }, [
    "messages",
    "toolTokens",
  ]),
  outlook: OUTLOOK,
  bare: flag,
  signal: is("an AbortSignal", (value) => value instanceof AbortSignal),
});

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
  requireOptions("compactHistory", OPTIONS, options);
  const { signal, force = false, bare = false, model, opaqueTokens } = options;
  signal?.throwIfAborted();
  requireHistory(options.messages);
  const messages = [...options.messages];
  const own = defaultCompactor(options);
  const compactor = options.compactor ? engineCompactor(options.compactor, own) : own;
  const pinned = new Set(options.pins);
  requireSense(options, messages.length);

  const superseded = new Set(options.superseded);
  const known = { ...(model ? { model } : {}), ...(opaqueTokens ? { opaqueTokens } : {}) };
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
  const wordsMax = 4 * (options.userWordsTokens ?? Math.floor(targetTokens * WORDS_PART));
  const needed = wordsMax === 0 ? 0 : wordsBytes(wordsIn(messages, injected), wordsMax);
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
  const longest = 4 * compactor.maxSummaryTokens();
  // What is carried on costs no call: only a part of it counts.
  const worth = worthOf(dry.discarded);
  const said = wordsSection(
    wordsIn(redacted, notTyped),
    wordsMax,
    Math.min(
      summaryBytesMax - Math.min(ownBytes(summaryBytesMax), longest),
      carriedBytesMax(worth),
    ),
  );
  const saidBytes = textSize(said.text);
  const discarded = redacted.map(withoutWords);
  const most = Math.min(summaryBytesMax - saidBytes, worth - saidBytes * PRICE_PART, longest);
  const room = Math.max(0, Math.floor(most));
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
      reservedBytes: () => (anchored ? anchorBytes(parts, room) : 0),
    },
  );
  // Shortened tool output is better than a summary without a model.
  if (written.failure && shorter.length > 0) return pruned(shorter);
  if (written.text === undefined) return unchanged(written.failure.reason, written.failure.detail);
  // No model puts words into people's mouths.
  const answer = splitWords(written.text).summary;
  const kept = anchored && written.by !== "none" ? keepAnchors(answer, parts, room) : undefined;
  const summary = kept?.text ?? cutToSize(room, (bytes) => cutEnd(answer, bytes));

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
  };
}

/** The part of the threshold that people's words may take below a summary, where no setting says otherwise. */
const WORDS_PART = 4 / 5;

/** Every option without another meaning is a setting, so that a misspelt one is refused. */
function defaultCompactor(options: CompactHistoryOptions): EngineCompactor {
  const {
    messages,
    summarize,
    contextWindow,
    pins,
    injected,
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

function requireSense(options: CompactHistoryOptions, messageCount: number): void {
  const { contextWindow = 1, targetTokens = 1, summaryTimeoutMs = 1, summarize } = options;
  const { pins = [], superseded = [], messages } = options;
  const isPosition = (pin: number) => Number.isInteger(pin) && pin >= 0 && pin < messageCount;
  const wrongPin = pins.find((pin) => !isPosition(pin));
  if (wrongPin !== undefined) {
    refuse(`pins names position ${wrongPin}; the history has ${messageCount} messages, from 0.`);
  }
  const wrongMessage = superseded.find((index) => messages[index]?.role !== "system");
  if (wrongMessage !== undefined) {
    refuse(`superseded names position ${wrongMessage}, where there is no system message.`);
  }
  for (const [name, value] of Object.entries({ contextWindow, targetTokens, summaryTimeoutMs })) {
    if (!(typeof value === "number" && value > 0))
      refuse(`${name} is ${shown(value)}; it has to be above 0.`);
  }
  if (summarize !== undefined && typeof summarize !== "function") {
    refuse("summarize has to be a function.");
  }
}

function refuse(message: string): never {
  throw new SessionError("INVALID_PARAMS", { message });
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

/** The field that every message of a role has, and the kinds of values in it. */
const FIELDS: Record<
  Message["role"],
  { readonly name: string; readonly text: boolean; readonly list: boolean }
> = {
  system: { name: "content", text: true, list: false },
  user: { name: "content", text: true, list: true },
  assistant: { name: "content", text: true, list: false },
  block_assistant: { name: "blocks", text: false, list: true },
  tool_results: { name: "results", text: false, list: true },
};

/**
 * Refuses a value that is not a history, such as messages in another library's shape.
 * `messageSchema` looks deeper.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireHistory(messages: unknown): asserts messages is readonly Message[] {
  if (!Array.isArray(messages)) refuse("messages has to be an array.");
  for (const [index, message] of messages.entries()) {
    if (typeof message !== "object" || message === null) {
      refuse(`messages[${index}] is not an object.`);
    }
    const role = String(message.role);
    const field = Object.hasOwn(FIELDS, role) ? FIELDS[role as Message["role"]] : undefined;
    if (!field) {
      refuse(`messages[${index}].role is "${role}"; it may be ${Object.keys(FIELDS).join(", ")}.`);
    }
    const value: unknown = message[field.name];
    if ((field.text && typeof value === "string") || (field.list && Array.isArray(value))) {
      if (isMessage(message)) continue;
      refuse(`messages[${index}].${field.name} has a part that is none of such a message.`);
    }
    const allowed = [field.text ? "a text" : "", field.list ? "an array" : ""].filter(Boolean);
    refuse(`messages[${index}].${field.name} has to be ${allowed.join(" or ")}.`);
  }
}
