/**
 * Finds, among many one-bit codes, those that differ least from a query's.
 *
 * A code has a bit for each dimension of a vector and fills whole words of 64 bits.
 * Codes and bitmaps are in the scan's own memory, where its owner puts them.
 */
export interface CodeScan {
  /** All memory. Another array after `allocate`. */
  readonly memory: Uint8Array;
  /** Gives so many bytes of zeros, at a multiple of 16; they are never given back. */
  allocate(bytes: number): number;
  /**
   * The `best` nearest codes, 4096 at the most: nearest first, of the same distance
   * the lower number first.
   */
  nearest(query: Uint8Array, best: number, chunks: readonly CodeChunk[]): NearestCodes;
  /**
   * For each code, by where it is, the sum of the query's numbers: plus where the code's bit is
   * set, minus where it is not.
   */
  judge(query: Int16Array, codes: readonly number[]): Int32Array;
  /**
   * The dot products of rows of 8-bit numbers with a query, 4096 numbers each at the most. The
   * query's are from -2047 to 2047, so that no sum is larger than 32 bits hold.
   */
  dots(query: Int16Array, rows: readonly Int8Array[]): Int32Array;
}

/** Consecutive codes. Two bitmaps, which may be the same, say which of them count. */
export interface CodeChunk {
  /** Where the first code is. */
  readonly codes: number;
  readonly present: number;
  readonly wanted: number;
  /** The bitmaps' length, in words of 64 bits. */
  readonly bitmapWords: number;
  /** The number of the first code; those of one chunk are above those of the one before. */
  readonly first: number;
}

export interface NearestCodes {
  readonly slots: Uint32Array;
  /** How many bits differ. */
  readonly distances: Uint32Array;
}

export const BEST_CODES_MAX = 4096;
export const DIMENSIONS_MAX = 4096;
export const DOT_QUERY_MAX = 2047;
