import type { Index } from "usearch";
import { SessionError } from "../../core/errors.ts";

/** The specification's parameters of the graph. The library chooses the layers itself. */
export const CONNECTIVITY = 16;
export const EXPANSION_ADD = 200;
const EXPANSION_SEARCH = 200;

/** Makes an empty graph of cosine distances, for vectors with this number of dimensions. */
export type MakeGraph = (dimensions: number) => Index;

/**
 * Loads the library, which is an optional package.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when it is not installed.
 */
export async function loadUsearch(): Promise<MakeGraph> {
  const { Index, MetricKind, ScalarKind } = await importUsearch();
  return (dimensions) =>
    new Index({
      dimensions,
      metric: MetricKind.Cos,
      // Half the memory of f32. Cosines differ by less than 0.0002.
      quantization: ScalarKind.F16,
      connectivity: CONNECTIVITY,
      expansion_add: EXPANSION_ADD,
      expansion_search: EXPANSION_SEARCH,
      multi: false,
    });
}

async function importUsearch() {
  try {
    return await import("usearch");
  } catch (cause) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: "The HNSW memory store needs the package usearch, which cannot be loaded.",
      hint: 'Install it: npm install usearch. Or leave the store out: store = "sqlite" under [memory] needs nothing.',
      cause,
    });
  }
}
