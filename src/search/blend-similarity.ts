import type { Embedder } from "../core/embedder.ts";
import type { MemoryHit } from "../core/memory-store.ts";

/** The same hits, scored in part by how alike an embedder finds them to the query, best first. */
export async function blendSimilarity(
  hits: readonly MemoryHit[],
  query: string,
  embedder: Embedder,
  weight: number,
): Promise<readonly MemoryHit[]> {
  const [asked, ...vectors] = await embedder.embed([query, ...hits.map(({ content }) => content)]);
  return hits
    .map((hit, index) => {
      const similarity = Math.max(0, cosine(asked, vectors[index]));
      // The same text is the same text, whatever the embedder makes of it.
      const score = hit.score === 1 ? 1 : (1 - weight) * hit.score + weight * similarity;
      return { ...hit, score };
    })
    .sort((one, other) => other.score - one.score);
}

/** Of vectors of length 1, or of zeros. */
function cosine(one: Float32Array | undefined, other: Float32Array | undefined): number {
  return one?.reduce((sum, number, index) => sum + number * (other?.[index] ?? 0), 0) ?? 0;
}
