import { SessionError } from "../core/errors.ts";

/**
 * A provider's vectors, normalised to length 1. Invalid vectors are refused, because a
 * stored one would match every search or none.
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
