import type { Summarize } from "../compaction/compact-history.ts";
import type { HistoryCompaction } from "../compaction/compact-history-options.ts";
import { compactionThreshold, DefaultCompactor } from "../compaction/default-compactor.ts";
import { engineCompactor } from "../compaction/engine-compactor.ts";
import type { EngineCompactor } from "../core/compactor.ts";
import { SessionError } from "../core/errors.ts";
import {
  amount,
  anything,
  flag,
  group,
  object,
  requireOptions,
  shown,
  signal,
  someText,
} from "../core/options.ts";
import type { ApplyOptions, CachedModel, HistoryWindowOptions } from "./history-window.ts";

/** The options of one call of a window, with those of the window. */
export interface WindowCall {
  readonly summarize: Summarize | "fallback";
  readonly contextWindow: number | undefined;
  readonly reader: string | undefined;
  readonly compactor: EngineCompactor;
  readonly threshold: number;
  readonly lastInputTokens: number;
  readonly cached: CachedModel | undefined;
  readonly otherTokens: number;
  readonly edited: boolean;
  readonly outgrown: boolean;
  readonly force: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The options of one call. The window's own names have their checks. */
const APPLY = group({
  summarize: anything,
  contextWindow: anything,
  model: someText,
  reader: someText,
  lastInputTokens: amount,
  cached: object({ model: someText, atMs: amount }),
  otherTokens: amount,
  edited: flag,
  outgrown: flag,
  force: flag,
  signal,
});

/** Refuses what is not right in the options of a call. */
export function requireApplyOptions(options: ApplyOptions): void {
  requireOptions("apply()", APPLY, options);
  options.signal?.throwIfAborted();
}

/** The options of a call come before those of the window. */
export function windowCall(
  window: Pick<HistoryWindowOptions<object>, "summarize" | "contextWindow" | "otherTokens">,
  settings: HistoryCompaction,
  options: ApplyOptions,
): WindowCall {
  const { summarize = window.summarize, lastInputTokens = 0, outgrown = false } = options;
  const {
    contextWindow = window.contextWindow,
    edited = false,
    force = false,
    cached,
    signal,
    reader,
  } = options;
  const otherTokens = (window.otherTokens ?? 0) + (options.otherTokens ?? 0);
  requireSummarize(summarize);
  requirePositive("contextWindow", contextWindow);
  if (summarize === undefined) throw missingSummarize();
  const compactor = windowCompactor(settings, contextWindow, otherTokens);
  const { autoCompactThreshold: threshold } = compactor.config;
  const limits = { contextWindow, compactor, threshold, reader };
  const counted = { lastInputTokens, cached, otherTokens };
  return { ...limits, ...counted, summarize, edited, outgrown, force, signal };
}

/** The compactor of a window. */
export function windowCompactor(
  settings: HistoryCompaction,
  contextWindow: number | undefined,
  otherTokens = 0,
): EngineCompactor {
  const {
    compactor,
    onSummaryFailure,
    pruneToolOutput,
    keepAnchors,
    userWordsTokens,
    summaryTimeoutMs,
    ...config
  } = settings;
  const autoCompactThreshold =
    config.autoCompactThreshold ?? thresholdBeside(otherTokens, contextWindow);
  const own = new DefaultCompactor({ ...config, autoCompactThreshold });
  return compactor ? engineCompactor(compactor, own) : own;
}

/** The part of the usual threshold that the history has beside instructions and tools, however large these are. */
const HISTORY_SHARE = 1 / 8;

/** The threshold when none is configured: above the usual one where instructions and tools take most of that. */
function thresholdBeside(otherTokens: number, contextWindow: number | undefined): number {
  const usual = compactionThreshold(contextWindow);
  if (contextWindow === undefined) return usual;
  const share = Math.min(usual * HISTORY_SHARE, (contextWindow - otherTokens) / 2);
  return Math.max(usual, Math.floor(otherTokens + share));
}

export function requireView(view: unknown): void {
  const given = (typeof view === "object" && view !== null ? view : {}) as Record<string, unknown>;
  const missing = ["read", "summary", "shorten"].filter(
    (name) => typeof given[name] !== "function",
  );
  if (missing.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `view lacks ${missing.map((name) => `${name}()`).join(", ")}.`,
    hint: "A MessageView is an object with read(), summary() and shorten().",
  });
}

export function requireSummarize(summarize: unknown): void {
  if (summarize === undefined || summarize === "fallback" || typeof summarize === "function")
    return;
  throw new SessionError("INVALID_PARAMS", {
    message: `summarize is ${shown(summarize)}; it has to be a function or "fallback".`,
  });
}

function missingSummarize(): SessionError {
  return new SessionError("INVALID_PARAMS", {
    message: "summarize is missing: the window needs a function that asks a model for a summary.",
    hint: 'Pass `summarize`, or `summarize: "fallback"` for summaries without a model.',
  });
}

export function requirePositive(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === "number" && value > 0)) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `${name} is ${shown(value)}; it has to be above 0.`,
  });
}

export function requireMessages(history: unknown): void {
  if (!Array.isArray(history)) {
    const found = history === null ? "null" : typeof history;
    throw new SessionError("INVALID_PARAMS", {
      message: `The history is ${found}, not an array of messages.`,
      hint: "Pass the messages of your loop, oldest first.",
    });
  }
}

export function requireRoom(systemTokens: number, otherTokens: number, threshold: number): void {
  if (systemTokens + otherTokens < threshold) return;
  throw new SessionError("PROMPT_EXCEEDS_THRESHOLD", {
    detail: `System messages take about ${systemTokens} tokens, instructions and tools about ${otherTokens}; the threshold is ${threshold}.`,
  });
}
