import type { MemoryStore } from "../core/memory-store.ts";

/** Passages with and without a vector. */
export interface EmbeddingProgress {
  readonly embedded: number;
  readonly pending: number;
  /** The last failure, unless a later attempt succeeded. */
  readonly failure?: string;
}

/** A memory that merges its index and makes vectors in the background. You can wait for both. */
export interface IndexedMemory extends MemoryStore {
  /** Resolves when nothing waits to be merged. A search is a little faster then. */
  finishMerging(): Promise<void>;
  /**
   * Resolves when every passage has its vector, or when the rest keep failing. It resolves at once
   * without a trained embedder.
   */
  finishEmbedding(): Promise<EmbeddingProgress | undefined>;
}
