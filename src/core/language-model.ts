import type { Origin } from "./event.ts";
import type { AssistantBlock, Message, StopReason } from "./message.ts";
import type { ToolDefinition } from "./tool.ts";
import type { Usage } from "./usage.ts";

/**
 * A language model. It answers a history.
 *
 * Contract:
 * - Deltas come while the model answers. Each block then comes as a whole, in order, as a `block`.
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
  /** Limit of output tokens. */
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
      /** Set in a replay: who said this, and when. */
      readonly origin?: Origin;
    };

/** Finds a model by its `provider/model` name. */
export type ModelResolver = (name: string) => LanguageModel | Promise<LanguageModel>;
