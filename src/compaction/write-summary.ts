import type { CompactionResult, Compactor } from "../core/compactor.ts";
import { errorText } from "../core/errors.ts";
import { isSummary, type Message } from "../core/message.ts";
import type { SummaryFailure } from "./compact-history-result.ts";
import { cutEnd } from "./cut-text.ts";
import { looksLikeError } from "./looks-like-error.ts";
import { summaryText } from "./render-transcript.ts";
import { smartFallbackSummary } from "./smart-fallback-summary.ts";
import { summaryRequest } from "./summary-request.ts";

export type Summarize = (request: SummaryRequest) => Promise<string>;

export interface SummaryRequest {
  /** Fits the context window together with `maxTokens`. */
  readonly messages: Message[];
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

export interface SummaryOptions {
  readonly compactor: Compactor;
  readonly contextWindow: number;
  readonly summarize?: Summarize;
  readonly instructions?: string;
  readonly onSummaryFailure?: "keep" | "fallback";
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Bytes that the fallback leaves free for what is appended to it. */
  readonly reservedBytes?: () => number;
}

export type WrittenSummary =
  | {
      readonly text: string;
      readonly by: "model" | "fallback" | "none";
      readonly failure?: SummaryFailure;
    }
  | { readonly text?: undefined; readonly failure: SummaryFailure };

const TIMEOUT_MS = 120_000;
/** What a timer can count to; it takes a longer time for none at all. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** No summary gets more of the window than this, whatever the settings say: the record needs room. */
const WINDOW_PART = 1 / 4;

/** Gets a text for what a rebuild discards, from the model where one is needed. */
export async function writeSummary(
  { discarded, summaryBytesMax }: CompactionResult,
  options: SummaryOptions,
): Promise<WrittenSummary> {
  if (summaryBytesMax === 0) return { text: "", by: "none" };
  // Only an old summary has to give way: it is cut to its room, and nothing needs summarising.
  if (discarded.every(isSummary)) {
    return { text: discarded.map(summaryText).join("\n\n"), by: "none" };
  }
  const fallback = () => {
    const bytesMax = summaryBytesMax - (options.reservedBytes?.() ?? 0);
    return { text: smartFallbackSummary(discarded, bytesMax), by: "fallback" } as const;
  };
  const request = requestFor(discarded, summaryBytesMax, options);
  if (!options.summarize || request.messages.length === 0) return fallback();

  const answer = await ask(options.summarize, request, options);
  if (typeof answer === "string") return { text: answer, by: "model" };
  if (options.onSummaryFailure !== "fallback") return { failure: answer };
  return { ...fallback(), failure: answer };
}

function requestFor(
  discarded: readonly Message[],
  summaryBytesMax: number,
  { compactor, contextWindow, instructions }: SummaryOptions,
): Omit<SummaryRequest, "signal"> {
  const most = compactor.maxSummaryTokens();
  const maxTokens = Math.max(1, Math.min(most, Math.floor(contextWindow * WINDOW_PART)));
  const messages = summaryRequest({
    discarded,
    prompt: compactor.compactionPrompt(),
    tokensMax: Math.floor(contextWindow) - maxTokens,
    ...(instructions === undefined ? {} : { instructions }),
    ...(summaryBytesMax < most * 4 ? { summaryBytesMax } : {}),
  });
  return { messages, maxTokens };
}

async function ask(
  summarize: Summarize,
  request: Omit<SummaryRequest, "signal">,
  { timeoutMs = TIMEOUT_MS, signal }: SummaryOptions,
): Promise<string | SummaryFailure> {
  const timeout = new AbortController();
  const either = AbortSignal.any(signal ? [signal, timeout.signal] : [timeout.signal]);
  const stopped = new Promise<never>((_, reject) => {
    either.addEventListener("abort", () => reject(either.reason), { once: true });
  });
  const answer = (async () => summarize({ ...request, signal: either }))();
  const timer = setTimeout(() => timeout.abort(), Math.min(timeoutMs, TIMER_MS_MAX));
  try {
    return judged(await Promise.race([answer, stopped]));
  } catch (error) {
    signal?.throwIfAborted();
    return timeout.signal.aborted
      ? { reason: "summary_timeout", detail: `No summary came within ${timeoutMs} ms.` }
      : { reason: "summary_failed", detail: errorText(error) };
  } finally {
    clearTimeout(timer);
  }
}

/** The answer, unless it is not a summary. */
function judged(answer: unknown): string | SummaryFailure {
  if (typeof answer !== "string" || isBlank(answer)) {
    return { reason: "empty_summary", detail: "The summary is empty." };
  }
  if (looksLikeError(answer)) {
    return { reason: "summary_failed", detail: `Instead of a summary: ${cutEnd(answer, 300)}` };
  }
  return answer.trim();
}

/** Nothing that a reader would see: white space, control and format characters. */
function isBlank(text: string): boolean {
  return /^[\s\p{Z}\p{Cc}\p{Cf}]*$/u.test(text);
}
