import type { Origin } from "./event.ts";
import type { AssistantBlock, Message, StopReason } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { Usage } from "./usage.ts";

/**
 * Answers a history.
 *
 * Contract:
 * - Deltas come as the model speaks; each block comes again whole, in order, as a `block`.
 * - The last chunk is `finish`. A stream that ends without it has failed.
 * - It throws `PROVIDER_ERROR`, with `retry` set when trying again may help,
 *   `CONTEXT_WINDOW_EXCEEDED` when the provider says that the request is too long for the model,
 *   and `MODEL_UNAVAILABLE` when no request can succeed.
 * - It does not retry; the agent does.
 * - It accepts every history that is a legal rkat history: neighbours of the same role and several
 *   system messages included.
 */
export interface LanguageModel {
  /** `provider/model`. */
  readonly id: string;
  /** The model's context window in tokens, if known. */
  readonly contextWindow?: number;
  stream(request: ModelRequest): AsyncIterable<ModelChunk>;
}

export interface ModelRequest {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinition[];
  /** Output tokens at the most. */
  readonly maxTokens?: number;
  readonly signal: AbortSignal;
}

export type ModelChunk =
  | { readonly type: "text_delta"; readonly delta: string }
  | { readonly type: "reasoning_delta"; readonly delta: string }
  | { readonly type: "block"; readonly block: AssistantBlock }
  | {
      readonly type: "finish";
      readonly stopReason: StopReason;
      readonly usage: Usage;
      /** Set by a recording: who said this, and when. */
      readonly origin?: Origin;
    };

/** Finds the model that a `provider/model` name stands for. */
export type ModelResolver = (name: string) => LanguageModel | Promise<LanguageModel>;
