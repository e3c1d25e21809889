/**
 * Turns texts into vectors. Similar texts have vectors at a small angle.
 *
 * Contract:
 * - Vectors have `dimensions` numbers and length 1; a text without words gives zeros.
 * - The same text gives the same vector.
 * - Vectors come in the order of the texts.
 */
export interface Embedder {
  /** Provider, model and dimensions. Vectors of different ids are never compared. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * Whether the vectors come from a trained model. Vectors of hashed words know less than the word index:
   * they decide between entries whose words say the same, and find none by themselves.
   */
  readonly trained: boolean;
  /** Whether zeros may be the answer to a text with words: the embedder knows some words only. Default false. */
  readonly givesZeros?: boolean;
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Float32Array[]>;
}
