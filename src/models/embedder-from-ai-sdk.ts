import { setTimeout as wait } from "node:timers/promises";
import type { EmbeddingModelV3, EmbeddingModelV4 } from "@ai-sdk/provider";
import type { Embedder } from "../core/embedder.ts";
import { SessionError } from "../core/errors.ts";
import { joinSignals } from "../core/join-signals.ts";
import { duration, group, requireArgument, requireOptions, text, whole } from "../core/options.ts";
import { headWithin } from "../core/tokens.ts";
import { aiSdkModel } from "./from-ai-sdk.ts";
import { type FailureContext, providerFailure } from "./provider-failure.ts";

export interface AiSdkEmbedderOptions {
  /** `provider/model`. Default: from the model's own names. */
  readonly id?: string;
  /** Dimensions of a vector. Known for OpenAI's models and some of Ollama's. */
  readonly dimensions?: number;
  /** Texts in one request. Default 32. */
  readonly batchSize?: number;
  /** Timeout of one request. Default 30 000. */
  readonly timeoutMs?: number;
  /** Retries after a temporary failure. Default 3. */
  readonly maxRetries?: number;
  /** Delay before the first retry. It doubles each time. Default 500. */
  readonly initialDelayMs?: number;
}

/** An embedding model of a provider package for the AI SDK 7 (`EmbeddingModelV4`) or 6 (`EmbeddingModelV3`). */
export interface AiSdkEmbeddingModel {
  readonly specificationVersion: "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doEmbed(options: never): PromiseLike<{ readonly embeddings: number[][] }>;
}

/**
 * Makes an embedder from an embedding model of the AI SDK, such as
 * `openai.embedding("text-embedding-3-small")`.
 *
 * Its `embed` throws `PROVIDER_ERROR` when the provider fails after all retries, or does
 * not return one vector of the right size for each text.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when the dimensions are not given and not known.
 */
export function embedderFromAiSdk(
  model: AiSdkEmbeddingModel,
  options: AiSdkEmbedderOptions = {},
): Embedder {
  requireArgument("the model of embedderFromAiSdk", aiSdkModel("doEmbed"), model);
  requireOptions("embedderFromAiSdk", OPTIONS, options);
  const id = options.id ?? `${model.provider.split(".")[0]}/${model.modelId}`;
  return makeEmbedder(model.modelId, async () => model as EmbeddingModelV4 | EmbeddingModelV3, {
    ...options,
    id,
  });
}

const OPTIONS = group({
  id: text,
  dimensions: whole(1),
  batchSize: whole(1),
  timeoutMs: duration,
  maxRetries: whole(0),
  initialDelayMs: duration,
});

/** Like `embedderFromAiSdk`, for a caller that knows the provider's key. The model is loaded lazily. */
export function makeEmbedder(
  modelId: string,
  load: () => Promise<EmbeddingModelV4 | EmbeddingModelV3>,
  options: AiSdkEmbedderOptions & FailureContext,
): Embedder {
  const usual = embeddingDimensions(modelId);
  const dimensions = options.dimensions ?? usual;
  if (dimensions === undefined) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: `The dimensions of ${options.id} are unknown.`,
      hint: "Set dimensions under [embeddings], or the option `dimensions`. The model's documentation has the number.",
    });
  }
  const request: Request = {
    load,
    options,
    dimensions,
    // Sent only when it differs from the model's own, because other models refuse the parameter.
    ...(dimensions === usual || usual === undefined ? {} : { shortenedTo: dimensions }),
  };
  return {
    id: `${options.id}/${dimensions}`,
    dimensions,
    trained: true,
    embed: (texts, { signal } = {}) => embedAll(request, texts, signal),
  };
}

interface Request {
  readonly load: () => Promise<EmbeddingModelV4 | EmbeddingModelV3>;
  readonly options: AiSdkEmbedderOptions & FailureContext;
  readonly dimensions: number;
  readonly shortenedTo?: number;
}

/** Longer texts are cut: this is about 8192 tokens of English. */
const TEXT_BYTES_MAX = 24_000;
const TEXT_BYTES_MIN = 500;

async function embedAll(
  request: Request,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const { batchSize = 32 } = request.options;
  const vectors: Float32Array[] = texts.map(() => new Float32Array(request.dimensions));
  // Providers refuse blank texts. They get zeros instead.
  const asked = texts.flatMap((text, index) => (text.trim() === "" ? [] : [{ text, index }]));
  for (let at = 0; at < asked.length; at += batchSize) {
    const batch = asked.slice(at, at + batchSize);
    const wellFormed = batch.map(({ text }) => text.toWellFormed());
    const found = await embedBatch(request, wellFormed, TEXT_BYTES_MAX, signal);
    batch.forEach(({ index }, place) => {
      const vector = found[place];
      if (vector) vectors[index] = vector;
    });
  }
  return vectors;
}

/** When the model reports that a text is too long, it is cut in half and sent again. */
async function embedBatch(
  request: Request,
  texts: readonly string[],
  bytesMax: number,
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const cut = texts.map((text) => headWithin(text, bytesMax));
  try {
    return await withRetries(request, cut, signal);
  } catch (error) {
    const isTooLong = SessionError.is(error) && error.code === "CONTEXT_WINDOW_EXCEEDED";
    if (!isTooLong || bytesMax <= TEXT_BYTES_MIN) throw error;
    return embedBatch(request, texts, bytesMax / 2, signal);
  }
}

const DELAY_MAX_MS = 30_000;

async function withRetries(
  request: Request,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const { maxRetries = 3, initialDelayMs = 500 } = request.options;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await ask(request, texts, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const retry = SessionError.is(error) ? error.retry : undefined;
      const delayMs = Math.max(retry?.afterMs ?? 0, initialDelayMs * 2 ** attempt);
      if (!retry || attempt >= maxRetries || delayMs > DELAY_MAX_MS) throw error;
      await wait(delayMs, undefined, signal ? { signal } : {}).catch(() => {});
      signal?.throwIfAborted();
    }
  }
}

async function ask(
  { load, options, dimensions, shortenedTo }: Request,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const model = await load();
  const either = joinSignals([signal], options.timeoutMs ?? 30_000);
  try {
    const { embeddings } = await model.doEmbed({
      values: [...texts],
      abortSignal: either.signal,
      ...(shortenedTo === undefined ? {} : { dimensions: shortenedTo }),
    });
    return checkedVectors(embeddings, { of: options.id, count: texts.length, dimensions });
  } catch (error) {
    throw providerFailure(error, options);
  } finally {
    either.release();
  }
}

/** Dimensions by model name. */
const DIMENSIONS: Readonly<Record<string, number>> = {
  "text-embedding-3-small": 1536,
  "text-embedding-3-large": 3072,
  "text-embedding-ada-002": 1536,
  "nomic-embed-text": 768,
  "mxbai-embed-large": 1024,
  "all-minilm": 384,
  "bge-m3": 1024,
  "snowflake-arctic-embed2": 1024,
  embeddinggemma: 768,
  "gemini-embedding-001": 3072,
};

/** Undefined when not known. A tag, as in `nomic-embed-text:latest`, is ignored. */
export function embeddingDimensions(modelId: string): number | undefined {
  const name = modelId.split(":")[0] ?? "";
  return Object.hasOwn(DIMENSIONS, name) ? DIMENSIONS[name] : undefined;
}

/**
 * A provider's vectors, normalised to length 1. Invalid vectors are refused, because a
 * stored one would match every search or none.
 *
 * @throws SessionError `PROVIDER_ERROR`
 */
function checkedVectors(
  embeddings: readonly (readonly number[])[],
  {
    of,
    count,
    dimensions,
  }: { readonly of: string; readonly count: number; readonly dimensions: number },
): readonly Float32Array[] {
  if (embeddings.length !== count) {
    throw refused(`${of} returned ${embeddings.length} vectors for ${count} texts.`);
  }
  return embeddings.map((embedding) => {
    if (embedding.length !== dimensions) {
      throw refused(
        `${of} returned a vector with ${embedding.length} dimensions, not ${dimensions}.`,
        `Set dimensions = ${embedding.length} under [embeddings], or set a model with ${dimensions}.`,
      );
    }
    const length = Math.hypot(...embedding);
    if (!Number.isFinite(length))
      throw refused(`${of} returned a vector with numbers that are not finite.`);
    if (length === 0) throw refused(`${of} returned a vector of zeros for a text with words.`);
    return Float32Array.from(embedding, (number) => number / length);
  });
}

function refused(detail: string, hint?: string): SessionError {
  return new SessionError("PROVIDER_ERROR", { detail, ...(hint === undefined ? {} : { hint }) });
}
