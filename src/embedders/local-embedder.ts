import type { Embedder } from "../core/embedder.ts";
import { hashedWords } from "./hashed-words.ts";

/**
 * Counts the words of a text in 128 buckets, chosen by the hash djb2. It needs no
 * model and no network.
 *
 * Texts are similar when they share words. With 128 buckets, different words often
 * share a bucket, so texts can also be similar by chance.
 */
export class LocalEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly trained = false;

  constructor(options: { readonly dimensions?: number } = {}) {
    this.dimensions = options.dimensions ?? 128;
    this.id = `local/djb2/${this.dimensions}`;
  }

  async embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return texts.map((text) => hashedWords(wordsOf(text), this.dimensions, DJB2));
  }
}

const DJB2 = { seed: 5381, factor: 33 };

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{Alphabetic}\p{N}]+/gu) ?? [];
}
