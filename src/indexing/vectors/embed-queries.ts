import type { Embedder } from "../../core/embedder.ts";
import { vectorProblem } from "../../vectors/vector-problem.ts";

/** The vectors of questions, in their order, or why there are none. */
export type EmbeddedQueries =
  | { readonly vectors: readonly Float32Array[] }
  | { readonly problem: string };

/** Embeds questions in one call. A search does not wait long for it, since words alone find something too. */
export async function embedQueries(
  embedder: Embedder,
  texts: readonly string[],
  timeoutMs: number,
): Promise<EmbeddedQueries> {
  try {
    const vectors = await embedInTime(embedder, texts, AbortSignal.timeout(timeoutMs));
    const problem = texts
      .map((_, index) => vectorProblem(vectors[index], embedder.dimensions))
      .find((found) => found !== undefined);
    return problem === undefined ? { vectors } : { problem };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

/** Gives up when the signal aborts, even if the embedder ignores it. */
export async function embedInTime(
  embedder: Embedder,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly Float32Array[]> {
  signal.throwIfAborted();
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await Promise.race([embedder.embed(texts, { signal }), givenUp]);
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
}
