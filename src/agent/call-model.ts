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
      return { blocks: withOwnIds(blocks), stopReason, usage, ...(origin ? { origin } : {}) };
    } else onDelta?.(chunk);
  }
  throw new SessionError("PROVIDER_ERROR", {
    detail: "The answer broke off before its end.",
    retry: {},
  });
}

/** Calls of one answer are told apart by their ids; some local servers give the same to all. */
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
