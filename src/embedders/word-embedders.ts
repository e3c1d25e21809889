import type { Embedder } from "../core/embedder.ts";
import { group, requireOptions, whole } from "../core/options.ts";

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
    requireOptions("an embedder of words", group({ dimensions: whole(1) }), options);
    this.dimensions = options.dimensions ?? 128;
    this.id = `local/djb2/${this.dimensions}`;
  }

  async embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return texts.map((text) => hashedWords(lettersAndDigits(text), this.dimensions, DJB2));
  }
}

const DJB2 = { seed: 5381, factor: 33 };

function lettersAndDigits(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{Alphabetic}\p{N}]+/gu) ?? [];
}

/**
 * Counts the words of a text in 4096 buckets. Words are split at white space and
 * keep their punctuation. Only ASCII letters are lowercased.
 */
export class BagOfWordsEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly trained = false;

  constructor(options: { readonly dimensions?: number } = {}) {
    requireOptions("an embedder of words", group({ dimensions: whole(1) }), options);
    this.dimensions = options.dimensions ?? 4096;
    this.id = `local/bag-of-words/${this.dimensions}`;
  }

  async embed(texts: readonly string[]): Promise<readonly Float32Array[]> {
    return texts.map((text) => hashedWords(spacedWords(text), this.dimensions, HASH));
  }
}

const HASH = { seed: 0, factor: 31 };

function spacedWords(text: string): readonly string[] {
  return text
    .replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
    .split(/\p{White_Space}+/u)
    .filter((word) => word !== "");
}

/** `h = h * factor + byte` over the UTF-8 bytes of a word, starting at `seed`, in 64 bits. */
interface WordHash {
  readonly seed: number;
  readonly factor: number;
}

/** Counts words in buckets, as a vector of length 1. Without words, all numbers are 0. */
export function hashedWords(
  words: readonly string[],
  dimensions: number,
  hash: WordHash,
): Float32Array {
  const bucketOf = isPowerOfTwo(dimensions) ? bucketByLowBits : bucketBy64Bits;
  const vector = new Float32Array(dimensions);
  for (const word of words) {
    const bucket = bucketOf(encoder.encode(word), dimensions, hash);
    vector[bucket] = (vector[bucket] ?? 0) + 1;
  }
  const length = Math.sqrt(vector.reduce((sum, count) => sum + count * count, 0));
  return length === 0 ? vector : vector.map((count) => count / length);
}

const encoder = new TextEncoder();

function isPowerOfTwo(dimensions: number): boolean {
  return dimensions <= 2 ** 16 && (dimensions & (dimensions - 1)) === 0;
}

/** The low bits of sums and products depend on low bits only, so 64-bit numbers are not needed. */
function bucketByLowBits(bytes: Uint8Array, dimensions: number, { seed, factor }: WordHash) {
  let hash = seed & (dimensions - 1);
  for (const byte of bytes) hash = (hash * factor + byte) & (dimensions - 1);
  return hash;
}

function bucketBy64Bits(bytes: Uint8Array, dimensions: number, { seed, factor }: WordHash) {
  let hash = BigInt(seed);
  for (const byte of bytes) hash = BigInt.asUintN(64, hash * BigInt(factor) + BigInt(byte));
  return Number(hash % BigInt(dimensions));
}
