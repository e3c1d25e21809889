import type { EngineCompactor, ProviderItem, RebuildResult } from "../core/compactor.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { given, isObject } from "../core/fields.ts";
import { joinSignals } from "../core/join-signals.ts";
import { isSummary, type Message } from "../core/message.ts";
import { startsTurn } from "../core/turn.ts";
import { redactMessage } from "../secrets/redact-message.ts";
import { redactSecrets } from "../secrets/redact-secrets.ts";
import type { SummaryFailure } from "./compact-history-result.ts";
import { correctFacts } from "./correct-facts.ts";
import { cutEnd } from "./cut-text.ts";
import type { Speakers } from "./kept-words.ts";
import { summaryText } from "./render-transcript.ts";
import { type RejectedSummary, scoreSummary } from "./score-summary.ts";
import { smartFallbackSummary } from "./smart-fallback-summary.ts";
import { closingRequest, continuedRequest, summaryRequest } from "./summary-request.ts";
import { looksLikeError } from "./worthless-text.ts";

/** Asks for a summary. A provider's item in its place has a summary beside it that needs no model. */
export type Summarize = (request: SummaryRequest) => Promise<string | ProviderItem>;

/** The messages that a window would send if it compacted nothing. */
export interface SentNow {
  readonly messages: readonly object[];
  /** Expected tokens of the request with them. */
  readonly tokens: number;
  /** Tokens that the context window has beside it, if the window is known. */
  readonly room?: number;
  /** The same without the newest calls and their results, where these stay: no request has had them yet. */
  readonly withoutNewest?: SentNow;
}

export interface SummaryRequest {
  /** Fits the context window together with `maxTokens`. */
  readonly messages: Message[];
  readonly maxTokens: number;
  readonly signal: AbortSignal;
  /** Asks for the same summary at the end of the conversation itself, in the place of `messages`. */
  readonly closing: string;
  /** It begins as the last request did. Sent with the same tools, its beginning is in the provider's cache. */
  readonly continues?: true;
  /** The newest message is among those that leave. */
  readonly newestLeaves?: true;
  /**
   * In a window: the messages that a provider may make an item of. None when something in them is kept out of summaries: a
   * credential, or a text that was forgotten.
   */
  readonly sent?: () => SentNow | undefined;
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
  readonly reservedBytes?: (room: number) => number;
  /** Bytes that a summary has beside an item of so many tokens; 0: there is no room for the item. */
  readonly roomBeside: (tokens: number) => number;
  readonly speakers?: Speakers;
  /** The messages that stay. A summary does not have to repeat them. */
  readonly retained: readonly Message[];
  /** The last request, if the summary may be asked for at its end. */
  readonly continues?: ContinuedRequest;
  /** The whole history in its order, with which the model's summary is compared. */
  readonly record: readonly Message[];
}

/** A request whose beginning the provider has in its cache, with all that came after it. */
export interface ContinuedRequest {
  readonly messages: readonly Message[];
  /** Estimated tokens of the tools that are sent with it. */
  readonly toolTokens: number;
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
      /** It stands beside the summary. */
      readonly item?: ProviderItem;
    }
  | { readonly text?: undefined; readonly failure: SummaryFailure };

const TIMEOUT_MS = 120_000;

/** No summary gets more of the window than this, whatever the settings say: the record needs room. */
const WINDOW_PART = 1 / 4;

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
  const fallback = (room = summaryBytesMax) => {
    const bytesMax = Math.max(0, room - (options.reservedBytes?.(room) ?? 0));
    const text = smartFallbackSummary(discarded, bytesMax);
    return { text, by: "fallback", score: worth(text).score } as const;
  };
  const asked = [options.compactor.compactionPrompt(), options.instructions ?? ""].join("\n");
  const worth = (text: string) => scoreSummary(text, { ...options, discarded }, asked);
  const { summarize, instructions = "" } = options;
  const request = requestFor(discarded, summaryBytesMax, options);
  const continued = continuedFor(summaryBytesMax, options, request.newestLeaves);
  if (!summarize || (request.messages.length === 0 && !continued)) return fallback();

  const rejected: RejectedSummary[] = [];
  // A model is asked once more when its first answer is worth nothing, and then as if it had not been asked before.
  for (const isFirst of [true, false]) {
    const again = { ...options, instructions: `${instructions}\n\n${ASK_AGAIN}` };
    const record = rejected.length === 0 ? request : requestFor(discarded, summaryBytesMax, again);
    const next = isFirst && continued ? continued : record;
    const answer = await ask(summarize, next, options);
    if (isItem(answer)) {
      const room = options.roomBeside(answer.tokens);
      if (room > 0) return { ...fallback(room), item: answer, rejected };
      continue;
    }
    if (typeof answer !== "string") {
      if (next.continues && answer.isOfRequest && request.messages.length > 0) continue;
      const { reason, detail } = answer;
      const failure = { reason, detail };
      if (options.onSummaryFailure !== "fallback") return { failure };
      return { ...fallback(), failure, rejected };
    }
    const { score, problem } = worth(answer);
    if (problem === undefined) {
      const text = redactSecrets(
        correctFacts(answer, options.record, options.speakers).text.trim(),
      );
      return isBlank(text) ? fallback() : { text, by: "model", score, rejected };
    }
    rejected.push(problem);
  }
  // This is no outage: a model that does not follow the prompt will not follow it later.
  const detail = `The model's answers are no summaries: ${rejected.join(", ")}.`;
  return { ...fallback(), failure: { reason: "worthless_summary", detail }, rejected };
}

type Asking = Omit<SummaryRequest, "signal">;

function isItem(answer: unknown): answer is ProviderItem {
  return isObject(answer) && typeof answer.reader === "string" && Number(answer.tokens) > 0;
}

function requestFor(
  discarded: readonly Message[],
  summaryBytesMax: number,
  options: SummaryOptions,
): Asking {
  const { maxTokens, ...limits } = limitsOf(summaryBytesMax, options);
  const closing = closingRequest(limits);
  const messages = summaryRequest({
    discarded,
    ...limits,
    ...given({ speakers: options.speakers }),
  });
  const isLeaving = discarded.at(-1) === options.record.at(-1);
  return { messages, maxTokens, closing, ...(isLeaving ? { newestLeaves: true } : {}) };
}

/** The request as the end of the last one, if there is room for it and nothing in it is to be kept out of summaries. */
function continuedFor(
  summaryBytesMax: number,
  options: SummaryOptions,
  newestLeaves = false,
): Asking | undefined {
  const { continues } = options;
  if (!continues || continues.messages.some(hasSecret)) return undefined;
  const { maxTokens, tokensMax, ...limits } = limitsOf(summaryBytesMax, options);
  const room = tokensMax - continues.toolTokens;
  const limitsBeside = { ...limits, tokensMax: room };
  const asked = newestLeaves ? continues.messages : withoutNewestStep(continues.messages);
  const messages = continuedRequest({ ...limitsBeside, messages: asked });
  if (messages.length === 0) return undefined;
  return { messages, maxTokens, closing: closingRequest(limitsBeside), continues: true };
}

/** A request without the newest calls and their results, which no request has had yet, and without their prompt. */
function withoutNewestStep(messages: readonly Message[]): readonly Message[] {
  if (messages.at(-1)?.role !== "tool_results") return messages;
  const had = messages.slice(
    0,
    messages.findLastIndex(({ role }) => role !== "tool_results"),
  );
  const last = had.at(-1);
  return last && startsTurn(last) ? had.slice(0, -1) : had;
}

export function hasSecret(message: Message): boolean {
  let found = false;
  redactMessage(message, () => {
    found = true;
  });
  return found;
}

function limitsOf(
  summaryBytesMax: number,
  { compactor, contextWindow, instructions }: SummaryOptions,
) {
  const most = compactor.maxSummaryTokens();
  const maxTokens = Math.max(1, Math.min(most, Math.floor(contextWindow * WINDOW_PART)));
  return {
    prompt: compactor.compactionPrompt(),
    maxTokens,
    tokensMax: Math.floor(contextWindow) - maxTokens,
    ...(instructions === undefined ? {} : { instructions }),
    ...(summaryBytesMax < most * 4 ? { summaryBytesMax } : {}),
  };
}

/** A failed call. It is of the request when another request may succeed: a model that called a tool, or too long a history. */
type FailedAsking = SummaryFailure & { readonly isOfRequest?: true };

async function ask(
  summarize: Summarize,
  request: Asking,
  { summaryTimeoutMs = TIMEOUT_MS, signal }: SummaryOptions,
): Promise<string | ProviderItem | FailedAsking> {
  const either = joinSignals([signal], summaryTimeoutMs);
  const stopped = new Promise<never>((_, reject) => {
    either.signal.addEventListener("abort", () => reject(either.signal.reason), { once: true });
  });
  const answer = (async () => summarize({ ...request, signal: either.signal }))();
  try {
    return judged(await Promise.race([answer, stopped]));
  } catch (error) {
    signal?.throwIfAborted();
    const isTooLong = SessionError.is(error) && error.code === "CONTEXT_WINDOW_EXCEEDED";
    if (isTooLong) {
      return { reason: "summary_failed", detail: errorText(error), isOfRequest: true };
    }
    return either.timedOut
      ? { reason: "summary_timeout", detail: `No summary came within ${summaryTimeoutMs} ms.` }
      : { reason: "summary_failed", detail: errorText(error) };
  } finally {
    either.release();
  }
}

/** The answer, unless it is not a summary. */
function judged(answer: unknown): string | ProviderItem | FailedAsking {
  if (isItem(answer)) return answer;
  if (typeof answer !== "string" || isBlank(answer)) {
    return { reason: "empty_summary", detail: "The summary is empty.", isOfRequest: true };
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
