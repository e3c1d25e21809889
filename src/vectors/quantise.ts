import { DOT_QUERY_MAX } from "../kernels/code-scan.ts";

/**
 * Two short forms of a vector. All are scanned by their codes; the best are compared by
 * their rows.
 *
 *     vector    0.12  -0.03   0.08  -0.21 …     4 bytes a dimension
 *     code        1      0      1      0  …     1 bit, whether it is negative
 *     row        73    -18     48   -127  …     1 byte, behind four that say what 1 stands for
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

/** Whether bytes can be a row of so many dimensions. */
export function isRow(row: Uint8Array, dimensions: number): boolean {
  if (row.length !== rowBytes(dimensions)) return false;
  const { unit } = numbersOf(row);
  return unit >= 0 && Number.isFinite(unit);
}

/** The numbers of a row, and what 1 stands for in them. */
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
  /** What 1 stands for. */
  readonly unit: number;
  readonly numbers: Int16Array;
  /** Of the numbers, whatever their signs … */
  readonly sum: number;
  /** … and as those of a vector. */
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
