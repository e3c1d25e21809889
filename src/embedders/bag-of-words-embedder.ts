import type { Embedder } from "../core/embedder.ts";
import { hashedWords } from "./hashed-words.ts";

/**
 * Counts the words of a text in 4096 buckets. Words are split at white space and
 * keep their punctuation. Only ASCII letters are lowercased.
 */
export class BagOfWordsEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly trained = false;

  constructor(options: { readonly dimensions?: number } = {}) {
    this.dimensions = options.dimensions ?? 4096;
    this.id = `local/bag-of-words/${this.dimensions}`;
  }

  async embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return texts.map((text) => hashedWords(wordsOf(text), this.dimensions, HASH));
  }
}

const HASH = { seed: 0, factor: 31 };

function wordsOf(text: string): readonly string[] {
  return text
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .split(/\p{White_Space}+/u)
    .filter((word) => word !== "");
}
