import { SessionError } from "../core/errors.ts";

/**
 * A provider's vectors, made as long as 1. What is no vector is refused: once
 * stored, it would be found by everything or by nothing.
 *
 * @throws SessionError `PROVIDER_ERROR`
 */
export function checkedVectors(
  embeddings: readonly (readonly number[])[],
  {
    of,
    count,
    dimensions,
  }: { readonly of: string; readonly count: number; readonly dimensions: number },
): readonly Float32Array[] {
  if (embeddings.length !== count) {
    throw refused(`${of} answered ${count} texts with ${embeddings.length} vectors.`);
  }
  return embeddings.map((embedding) => {
    if (embedding.length !== dimensions) {
      throw refused(
        `${of} made a vector of ${embedding.length} numbers, not of ${dimensions}.`,
        `Set dimensions = ${embedding.length} under [embeddings], or name a model that makes ${dimensions}.`,
      );
    }
    const length = Math.hypot(...embedding);
    if (!Number.isFinite(length)) throw refused(`${of} made a vector that has no length.`);
    if (length === 0) throw refused(`${of} made a vector of zeros for a text that has words.`);
    return Float32Array.from(embedding, (number) => number / length);
  });
}

function refused(detail: string, hint?: string): SessionError {
  return new SessionError("PROVIDER_ERROR", { detail, ...(hint === undefined ? {} : { hint }) });
}
