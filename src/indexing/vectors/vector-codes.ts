import { damagedIndex } from "../port/asking.ts";
import type { CodeBlockRow } from "../port/index-store.ts";
import { DIMENSIONS_MAX, DOT_QUERY_MAX } from "./code-scan.ts";

/**
 * Two short forms of a vector. All are scanned by their codes; the best are compared by
 * their rows.
 *
 *     vector    0.12  -0.03   0.08  -0.21 …     4 bytes a dimension
 *     code        1      0      1      0  …     1 bit, whether it is negative
 *     row        73    -18     48   -127  …     1 byte, behind four with the value of 1
 */
export function codeOf(vector: Float32Array): Uint8Array {
  const code = new Uint8Array(codeBytes(vector.length));
  for (let index = 0; index < vector.length; index += 1) {
    if ((vector[index] as number) >= 0) (code[index >> 3] as number) |= 1 << (index & 7);
  }
  return code;
}

/** Bytes of a code: whole words of 64 bits. */
export function codeBytes(dimensions: number): number {
  return 8 * Math.ceil(dimensions / 64);
}

export function rowOf(vector: Float32Array): Uint8Array {
  const unit = largestOf(vector) / 127;
  const row = new Uint8Array(rowBytes(vector.length));
  new DataView(row.buffer).setFloat32(0, unit, true);
  for (let index = 0; index < vector.length; index += 1) {
    // `Math.round` takes three times as long.
    row[UNIT_BYTES + index] = Math.floor((vector[index] as number) / unit + 0.5);
  }
  return row;
}

export function rowBytes(dimensions: number): number {
  return UNIT_BYTES + dimensions;
}

/** Whether bytes can be a row with this number of dimensions. */
export function isRow(row: Uint8Array, dimensions: number): boolean {
  if (row.length !== rowBytes(dimensions)) return false;
  const { unit } = numbersOf(row);
  return unit >= 0 && Number.isFinite(unit);
}

/** The numbers of a row, and the value that 1 stands for. */
export function numbersOf(row: Uint8Array): { readonly unit: number; readonly numbers: Int8Array } {
  const unit = new DataView(row.buffer, row.byteOffset).getFloat32(0, true);
  const start = row.byteOffset + UNIT_BYTES;
  return { unit, numbers: new Int8Array(row.buffer, start, row.length - UNIT_BYTES) };
}

/** No row of a vector of length 1 is longer: each number may have been rounded up by half a unit. */
export function rowLengthMost(dimensions: number): number {
  return 1 + Math.sqrt(dimensions) / 2 / 127;
}

export interface AskedNumbers {
  /** The value that 1 stands for. */
  readonly unit: number;
  readonly numbers: Int16Array;
  /** The sum of the numbers without their signs. */
  readonly sum: number;
  /** The length of the numbers as a vector. */
  readonly length: number;
}

/** A query in 12 bits a dimension, which costs no recall. */
export function askedNumbers(query: Float32Array): AskedNumbers {
  const unit = largestOf(query) / DOT_QUERY_MAX;
  const numbers = new Int16Array(query.length);
  let [sum, squares] = [0, 0];
  for (let at = 0; at < query.length; at += 1) {
    const number = Math.round((query[at] as number) / unit);
    numbers[at] = number;
    sum += Math.abs(number);
    squares += number * number;
  }
  return { unit, numbers, sum, length: Math.sqrt(squares) };
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let index = 0; index < vector.length; index += 1) {
    largest = Math.max(largest, Math.abs(vector[index] as number));
  }
  return largest;
}

const UNIT_BYTES = 4;

/**
 * The codes of a space are in blocks of 256 slots: a bit for each slot that has a code, then the codes.
 * Blocks are small, so that a new vector rewrites little.
 */
export const CODE_BLOCK_SLOTS = 256;
const BITMAP_BYTES = CODE_BLOCK_SLOTS / 8;

/** Slots by their blocks. */
export function codeBlocksOf(slots: Iterable<number>): number[] {
  return [...new Set(Array.from(slots, (slot) => Math.floor(slot / CODE_BLOCK_SLOTS)))];
}

/** Blocks as they are after some slots get a code, and those with `undefined` lose theirs. */
export function changedCodes(
  known: readonly CodeBlockRow[],
  space: { readonly number: number; readonly changes: number },
  codeBytes: number,
  codes: ReadonlyMap<number, Uint8Array | undefined>,
): CodeBlockRow[] {
  const blocks = new Map(known.map((row) => [row.block, unpack(row.codes, codeBytes)]));
  for (const [slot, code] of codes) {
    const block = Math.floor(slot / CODE_BLOCK_SLOTS);
    const all = blocks.get(block) ?? new Map<number, Uint8Array>();
    blocks.set(block, all);
    if (code) all.set(slot % CODE_BLOCK_SLOTS, code);
    else all.delete(slot % CODE_BLOCK_SLOTS);
  }
  return [...blocks].map(([block, all]) => ({
    space: space.number,
    block,
    changed: space.changes,
    codes: pack(all, codeBytes),
  }));
}

/** A block without codes. */
export function emptyBlock(
  { number: space, changes: changed }: { readonly number: number; readonly changes: number },
  block: number,
): CodeBlockRow {
  return { space, block, changed, codes: new Uint8Array(BITMAP_BYTES) };
}

/** The slots that have a code in a block. */
export function codedSlots({ block, codes }: CodeBlockRow, codeBytes: number): number[] {
  return [...unpack(codes, codeBytes).keys()].map((place) => block * CODE_BLOCK_SLOTS + place);
}

function pack(codes: ReadonlyMap<number, Uint8Array>, bytes: number): Uint8Array {
  const packed = new Uint8Array(BITMAP_BYTES + codes.size * bytes);
  const places = [...codes.keys()].sort((one, other) => one - other);
  for (const [index, place] of places.entries()) {
    packed[place >> 3] = (packed[place >> 3] ?? 0) | (1 << (place & 7));
    packed.set(codes.get(place) as Uint8Array, BITMAP_BYTES + index * bytes);
  }
  return packed;
}

/** The bitmap and the codes of a block, each whole. */
export function codesIn(packed: Uint8Array, bytes: number) {
  const bitmap = packed.subarray(0, BITMAP_BYTES);
  const codes = packed.subarray(BITMAP_BYTES);
  const isWhole = bitmap.length === BITMAP_BYTES && codes.length === bitsIn(bitmap) * bytes;
  if (!isWhole) throw damagedIndex("vectors");
  return { bitmap, codes };
}

function unpack(packed: Uint8Array, bytes: number): Map<number, Uint8Array> {
  const { bitmap, codes } = codesIn(packed, bytes);
  const found = new Map<number, Uint8Array>();
  for (let place = 0; place < CODE_BLOCK_SLOTS; place += 1) {
    if ((((bitmap[place >> 3] ?? 0) >> (place & 7)) & 1) === 0) continue;
    const start = found.size * bytes;
    found.set(place, codes.slice(start, start + bytes));
  }
  return found;
}

/**
 * The reason why a vector of an embedder cannot be kept; `undefined` when it can. A vector
 * of zeros is alike to nothing, and one with NaN is alike to everything.
 */
export function vectorProblem(
  vector: Float32Array | null | undefined,
  dimensions: number,
): string | undefined {
  if (dimensions > DIMENSIONS_MAX) {
    return `it gave ${dimensions} dimensions, and ${DIMENSIONS_MAX} are the most`;
  }
  const isZero = vector?.every((number) => number === 0) ?? false;
  return formProblem(vector, dimensions) ?? (isZero ? "it gave nothing but zeros" : undefined);
}

/** The reason why an answer of an embedder is no vector with these dimensions; `undefined` when it is one. */
export function formProblem(
  vector: Float32Array | null | undefined,
  dimensions: number,
): string | undefined {
  if (!(vector instanceof Float32Array)) return "it gave no vector";
  if (vector.length !== dimensions) {
    return `it gave ${vector.length} dimensions instead of ${dimensions}`;
  }
  return vector.every(Number.isFinite) ? undefined : "it gave numbers that are none";
}

/** How many bits are set. */
export function bitsIn(bytes: Uint8Array): number {
  let bits = 0;
  for (const byte of bytes) for (let left = byte; left > 0; left &= left - 1) bits += 1;
  return bits;
}
