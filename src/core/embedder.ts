/**
 * Turns texts into vectors whose angle says how alike the texts are.
 *
 * Contract:
 * - Vectors have `dimensions` numbers and length 1; a text without words gives zeros.
 * - The same text gives the same vector.
 * - Vectors come in the order of the texts.
 */
export interface Embedder {
  /** Who made a vector: provider, model and dimensions. Vectors of two ids are never compared. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * Whether a model has learned what words mean. Vectors of one that has are kept and
   * searched; hashed words say nothing that the word index does not know better.
   */
  readonly trained: boolean;
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Float32Array[]>;
}
