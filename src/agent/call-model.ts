import { errorText, SessionError } from "../core/errors.ts";
import type { Origin, TransientEvent } from "../core/event.ts";
import { isMessage } from "../core/event-shape.ts";
import { isDeeperThan, jsonText, NESTING_MAX, withinNesting } from "../core/json-values.ts";
import type { LanguageModel, ModelChunk, ModelRequest } from "../core/language-model.ts";
import { type AssistantBlock, STOP_REASONS, type StopReason } from "../core/message.ts";
import { NO_TRACES, type SpanStart, type TracedSpan, type Traces } from "../core/traces.ts";
import { exactUsage, tokenUsage, type Usage } from "../core/usage.ts";

/** All that a model said in one call. */
export interface ModelReply {
  readonly blocks: readonly AssistantBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly origin?: Origin;
}

export interface CallOptions {
  readonly retry: RetryPolicy;
  readonly traces?: Traces | undefined;
  /** For traces. */
  readonly sessionId?: string;
  /** Sees the deltas, and the text that was lost when an attempt fails. */
  readonly onDelta?: (event: TransientEvent) => void;
  readonly onRetry?: (retry: Retry) => Promise<void>;
}

interface Retry {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly error: string;
  readonly delayMs: number;
}

/** Calls a model until it answers, or fails in a way that another try will not mend. */
export async function callModel(
  model: LanguageModel,
  request: ModelRequest,
  options: CallOptions,
): Promise<ModelReply> {
  const { traces = NO_TRACES, sessionId } = options;
  const { messages: input, maxTokens } = request;
  const [, name = model.id] = /^[^/]*\/(.*)$/s.exec(model.id) ?? [];
  const start: SpanStart = {
    operation: "chat",
    of: name,
    model: model.id,
    sessionId,
    fields: { "gen_ai.request.stream": true, "gen_ai.request.max_tokens": maxTokens },
    contents: () => ({ input }),
  };
  return await traces.span(start, async (span) => {
    const reply = await answerOf(model, request, options, span);
    span.used(tokenUsage(reply.usage));
    span.set({ "gen_ai.response.finish_reasons": [reply.stopReason] });
    span.said(() => ({ output: reply.blocks }));
    return reply;
  });
}

async function answerOf(
  model: LanguageModel,
  request: ModelRequest,
  options: CallOptions,
  span: TracedSpan,
): Promise<ModelReply> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readReply(model.stream(request), options.onDelta);
    } catch (error) {
      request.signal.throwIfAborted();
      const delayMs = retryDelay(error, attempt, options.retry);
      if (delayMs === undefined) throw SessionError.from(error, "PROVIDER_ERROR");
      const { maxRetries: maxAttempts } = options.retry;
      span.set({ "rkat.retries": attempt });
      await options.onRetry?.({ attempt, maxAttempts, error: errorText(error), delayMs });
      await wait(delayMs, request.signal);
    }
  }
}

async function readReply(
  chunks: AsyncIterable<ModelChunk>,
  onDelta: CallOptions["onDelta"],
): Promise<ModelReply> {
  const blocks: AssistantBlock[] = [];
  for await (const chunk of chunks) {
    if (chunk.type === "block") blocks.push(exactBlock(withShallowArguments(chunk.block)));
    else if (chunk.type === "finish") {
      const { stopReason, origin } = chunk;
      if (!STOP_REASONS.includes(stopReason))
        throw noAnswer(`the stop reason ${String(stopReason)}`);
      const usage = exactUsage(chunk.usage);
      return { blocks: withOwnIds(blocks), stopReason, usage, ...(origin ? { origin } : {}) };
    } else if (DELTAS.includes(chunk.type) && typeof chunk.delta === "string") onDelta?.(chunk);
  }
  throw new SessionError("PROVIDER_ERROR", {
    detail: "The answer broke off before its end.",
    retry: {},
  });
}

/** Arguments that are too deep for a message stay as their JSON, as invalid JSON does. The tool does not run. */
function withShallowArguments(block: AssistantBlock): AssistantBlock {
  if (!isDeeperThan(BLOCK_NESTING_MAX, block)) return block;
  if (block.block_type !== "tool_use") return withinNesting(block, BLOCK_NESTING_MAX);
  const data = { ...block.data, args: jsonText(block.data.args) };
  return withinNesting({ ...block, data }, BLOCK_NESTING_MAX);
}

/** A block is in the list of a message. */
const BLOCK_NESTING_MAX = NESTING_MAX - 2;

const DELTAS: readonly string[] = ["text_delta", "reasoning_delta"];

/** A block as the log keeps it: a copy that the model does not change any more. */
function exactBlock(block: AssistantBlock): AssistantBlock {
  let copy: AssistantBlock | undefined;
  try {
    copy = JSON.parse(JSON.stringify(block));
  } catch {
    // It is no JSON, as said below.
  }
  if (copy && isMessage({ role: "block_assistant", blocks: [copy] })) return copy;
  throw noAnswer(`a block of the type ${String(block?.block_type)}`);
}

function noAnswer(what: string): SessionError {
  return new SessionError("PROVIDER_ERROR", {
    detail: `The model gave ${what}, which is not in the form that rkat reads.`,
    hint: "Models of the AI SDK are given with `fromAiSdk(model)`. A model of your own yields the chunks of `ModelChunk`.",
  });
}

/** Calls of one answer need distinct ids; some local servers give the same id to all. */
function withOwnIds(blocks: readonly AssistantBlock[]): readonly AssistantBlock[] {
  const seen = new Set<string>();
  return blocks.map((block) => {
    if (block.block_type !== "tool_use") return block;
    let { id } = block.data;
    for (let again = 2; seen.has(id); again += 1) id = `${block.data.id}-${again}`;
    seen.add(id);
    return id === block.data.id ? block : { ...block, data: { ...block.data, id } };
  });
}

/** How often and how long a failed model call is tried again. */
export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  /** Longest wait, and the longest `retry-after` that is waited for. */
  readonly maxDelayMs: number;
  readonly multiplier: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxRetries: 3,
  initialDelayMs: 500,
  maxDelayMs: 30_000,
  multiplier: 2,
};

/**
 * The delay before retry `attempt` (from 1): `initial · multiplier^(attempt-1)`,
 * give or take a tenth so that clients do not come back in step, or the delay that
 * the provider asked for, if that is longer. `undefined`: do not try again.
 */
function retryDelay(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number | undefined {
  if (!SessionError.is(error) || !error.retry || attempt > policy.maxRetries) return undefined;
  const asked = error.retry.afterMs ?? 0;
  if (asked > policy.maxDelayMs) return undefined;
  const backoff = policy.initialDelayMs * policy.multiplier ** (attempt - 1);
  const jittered = backoff * (0.9 + 0.2 * random());
  return Math.round(Math.max(asked, Math.min(jittered, policy.maxDelayMs)));
}

/** Waits, unless the signal aborts first; then it throws the signal's reason. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal.addEventListener("abort", abort, { once: true });
  });
}
