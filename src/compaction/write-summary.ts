import type { EngineCompactor, RebuildResult } from "../core/compactor.ts";
import { errorText } from "../core/errors.ts";
import { joinSignals } from "../core/join-signals.ts";
import { isSummary, type Message } from "../core/message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { SummaryFailure } from "./compact-history-result.ts";
import { correctFacts } from "./correct-facts.ts";
import { cutEnd } from "./cut-text.ts";
import { summaryText } from "./render-transcript.ts";
import { type RejectedSummary, scoreSummary } from "./score-summary.ts";
import { smartFallbackSummary } from "./smart-fallback-summary.ts";
import { summaryRequest } from "./summary-request.ts";
import { looksLikeError } from "./worthless-text.ts";

export type Summarize = (request: SummaryRequest) => Promise<string>;

export interface SummaryRequest {
  /** Fits the context window together with `maxTokens`. */
  readonly messages: Message[];
  readonly maxTokens: number;
  readonly signal: AbortSignal;
}

export interface SummaryOptions {
  readonly compactor: EngineCompactor;
  readonly contextWindow: number;
  readonly summarize?: Summarize;
  readonly instructions?: string;
  readonly onSummaryFailure?: "keep" | "fallback";
  readonly summaryTimeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Bytes that the fallback leaves free for appended anchors. */
  readonly reservedBytes?: () => number;
  /** The messages that stay. A summary does not have to repeat them. */
  readonly retained: readonly Message[];
  /** The whole history in its order, with which the model's summary is compared. */
  readonly record: readonly Message[];
}

export type WrittenSummary =
  | {
      readonly text: string;
      readonly by: "model" | "fallback" | "none";
      /** The summary's score. Missing when no summary was written. */
      readonly score?: number;
      /** Why answers of the model were not taken. */
      readonly rejected?: readonly RejectedSummary[];
      readonly failure?: SummaryFailure;
    }
  | { readonly text?: undefined; readonly failure: SummaryFailure };

const TIMEOUT_MS = 120_000;

/** No summary gets more of the window than this, whatever the settings say: the record needs room. */
const WINDOW_PART = 1 / 4;

/** How often a model is asked: once more when its first answer is worth nothing. */
const TRIES = 2;

const ASK_AGAIN =
  "An earlier answer to this was no summary of the record. Everything needed is in the record above. Write the summary itself, with the names, paths, numbers and requests that the record has.";

/** Gets a summary of the discarded messages, from the model if one is needed. */
export async function writeSummary(
  { discarded, summaryBytesMax }: RebuildResult,
  options: SummaryOptions,
): Promise<WrittenSummary> {
  if (summaryBytesMax === 0) return { text: "", by: "none" };
  // Only an old summary has to give way: it is cut to its room, and nothing needs summarising.
  if (discarded.every(isSummary)) {
    return { text: discarded.map(summaryText).join("\n\n"), by: "none" };
  }
  const fallback = () => {
    const bytesMax = Math.max(0, summaryBytesMax - (options.reservedBytes?.() ?? 0));
    const text = smartFallbackSummary(discarded, bytesMax);
    return { text, by: "fallback", score: worth(text).score } as const;
  };
  const asked = [options.compactor.compactionPrompt(), options.instructions ?? ""].join("\n");
  const worth = (text: string) => scoreSummary(text, { ...options, discarded }, asked);
  const { summarize, instructions = "" } = options;
  const request = requestFor(discarded, summaryBytesMax, options);
  if (!summarize || request.messages.length === 0) return fallback();

  const rejected: RejectedSummary[] = [];
  while (rejected.length < TRIES) {
    const again = { ...options, instructions: `${instructions}\n\n${ASK_AGAIN}` };
    const next = rejected.length === 0 ? request : requestFor(discarded, summaryBytesMax, again);
    const answer = await ask(summarize, next, options);
    if (typeof answer !== "string") {
      if (options.onSummaryFailure !== "fallback") return { failure: answer };
      return { ...fallback(), failure: answer, rejected };
    }
    const { score, problem } = worth(answer);
    if (problem === undefined) {
      const text = redactSecrets(correctFacts(answer, options.record).text.trim());
      return isBlank(text) ? fallback() : { text, by: "model", score, rejected };
    }
    rejected.push(problem);
  }
  // This is no outage: a model that does not follow the prompt will not follow it later.
  const detail = `The model's answers are no summaries: ${rejected.join(", ")}.`;
  return { ...fallback(), failure: { reason: "worthless_summary", detail }, rejected };
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
  { summaryTimeoutMs = TIMEOUT_MS, signal }: SummaryOptions,
): Promise<string | SummaryFailure> {
  const either = joinSignals([signal], summaryTimeoutMs);
  const stopped = new Promise<never>((_, reject) => {
    either.signal.addEventListener("abort", () => reject(either.signal.reason), { once: true });
  });
  const answer = (async () => summarize({ ...request, signal: either.signal }))();
  try {
    return judged(await Promise.race([answer, stopped]));
  } catch (error) {
    signal?.throwIfAborted();
    return either.timedOut
      ? { reason: "summary_timeout", detail: `No summary came within ${summaryTimeoutMs} ms.` }
      : { reason: "summary_failed", detail: errorText(error) };
  } finally {
    either.release();
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
  return redactSecrets(answer.trim());
}

/** Invisible characters: white space, control and format characters. */
function isBlank(text: string): boolean {
  return /^[\s\p{Z}\p{Cc}\p{Cf}]*$/u.test(text);
}
