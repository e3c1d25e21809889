import { DIMENSIONS_MAX } from "../kernels/code-scan.ts";

/**
 * Why what an embedder gave is not a vector to keep; `undefined` when it is one. A vector
 * of zeros is alike to nothing, and one with NaN to whatever it is compared with.
 */
export function vectorProblem(
  vector: Float32Array | null | undefined,
  dimensions: number,
): string | undefined {
  if (!(vector instanceof Float32Array)) return "it gave no vector";
  if (vector.length !== dimensions) {
    return `it gave ${vector.length} dimensions instead of ${dimensions}`;
  }
  if (dimensions > DIMENSIONS_MAX) {
    return `it gave ${dimensions} dimensions, and ${DIMENSIONS_MAX} are the most`;
  }
  if (!vector.every(Number.isFinite)) return "it gave numbers that are none";
  if (vector.every((number) => number === 0)) return "it gave nothing but zeros";
  return undefined;
}
