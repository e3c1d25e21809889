import { errorText, SessionError } from "../core/errors.ts";
import type { Origin, TransientEvent } from "../core/event.ts";
import type { LanguageModel, ModelChunk, ModelRequest } from "../core/language-model.ts";
import type { AssistantBlock, StopReason } from "../core/message.ts";
import type { Usage } from "../core/usage.ts";
import { type RetryPolicy, retryDelay, wait } from "./retry.ts";

/** All that a model said in one call. */
export interface ModelReply {
  readonly blocks: readonly AssistantBlock[];
  readonly stopReason: StopReason;
  readonly usage: Usage;
  readonly origin?: Origin;
}

export interface CallOptions {
  readonly retry: RetryPolicy;
  /** Sees the deltas, and the text that was lost when an attempt fails. */
  readonly onDelta?: (event: TransientEvent) => void;
  readonly onRetry?: (retry: Retry) => Promise<void>;
}

export interface Retry {
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
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await readReply(model.stream(request), options.onDelta);
    } catch (error) {
      request.signal.throwIfAborted();
      const delayMs = retryDelay(error, attempt, options.retry);
      if (delayMs === undefined) throw SessionError.from(error, "PROVIDER_ERROR");
      const { maxRetries: maxAttempts } = options.retry;
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
    if (chunk.type === "block") blocks.push(chunk.block);
    else if (chunk.type === "finish") {
      const { stopReason, usage, origin } = chunk;
      return { blocks, stopReason, usage, ...(origin ? { origin } : {}) };
    } else onDelta?.(chunk);
  }
  throw new SessionError("PROVIDER_ERROR", {
    detail: "The answer broke off before its end.",
    retry: {},
  });
}
