/** `h = h * factor + byte` over the UTF-8 bytes of a word, starting at `seed`, in 64 bits. */
export interface WordHash {
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
