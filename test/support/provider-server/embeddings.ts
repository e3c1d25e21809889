import { hashedWords } from "../../../src/embedders/word-embedders.ts";
import { embeddingDimensions } from "../../../src/models/embedder-from-ai-sdk.ts";
import type { Failure, Json } from "./reply.ts";

/** Where OpenAI's embeddings are asked for, and those of servers that speak its protocol. */
export const EMBEDDINGS = /\/v1\/embeddings$/;

/** Vectors in the place of those that the server would make, such as broken ones. */
export interface Embeddings {
  readonly embeddings: readonly unknown[];
}

/** What the real API would refuse the request for. */
export function embeddingsProblem({ model, input, dimensions }: Json): Failure | undefined {
  const refused = (message: string) => ({ status: 400, message, code: "invalid_request_error" });
  if (!Array.isArray(input) || input.length === 0) return refused("'$.input' is invalid.");
  if (input.length > 2048) return refused("'$.input' is too long.");
  if (input.some((text) => typeof text !== "string" || text === "")) {
    return refused("input cannot be an empty string");
  }
  if (dimensions !== undefined && !String(model).startsWith("text-embedding-3")) {
    return refused("This model does not support specifying dimensions.");
  }
  const tokens = Math.max(...input.map((text: string) => Math.ceil(text.length / 2.5)));
  if (tokens > 8192) {
    return refused(
      `This model's maximum context length is 8192 tokens, however you requested ${tokens} tokens (${tokens} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
    );
  }
  return undefined;
}

/** The answer to a request: counted words, twice as long as they should be. */
export function embeddingsAnswer(body: Json, own: Embeddings | undefined): Json {
  const { model, input, dimensions } = body;
  const size = Number(dimensions ?? embeddingDimensions(String(model)) ?? 768);
  const made = own?.embeddings ?? (input as readonly string[]).map((text) => vector(text, size));
  return {
    object: "list",
    model,
    data: made.map((embedding, index) => ({ object: "embedding", index, embedding })),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  };
}

function vector(text: string, size: number): readonly number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return [...hashedWords(words, size, { seed: 5381, factor: 33 })].map((number) => 2 * number);
}
