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
  vector.forEach((number, index) => {
    if (number >= 0) code[index >> 3] = (code[index >> 3] ?? 0) | (1 << (index & 7));
  });
  return code;
}

/** Bytes of a code: whole words of 64 bits. */
export function codeBytes(dimensions: number): number {
  return 8 * Math.ceil(dimensions / 64);
}

export function rowOf(vector: Float32Array): Uint8Array {
  const largest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const unit = largest / 127;
  const row = new Uint8Array(UNIT_BYTES + vector.length);
  const view = new DataView(row.buffer);
  view.setFloat32(0, unit, true);
  vector.forEach((number, index) => {
    view.setInt8(UNIT_BYTES + index, Math.round(number / unit));
  });
  return row;
}

export function rowBytes(dimensions: number): number {
  return UNIT_BYTES + dimensions;
}

/** The numbers of a row, and what 1 stands for in them. */
export function numbersOf(row: Uint8Array): { readonly unit: number; readonly numbers: Int8Array } {
  const unit = new DataView(row.buffer, row.byteOffset).getFloat32(0, true);
  const start = row.byteOffset + UNIT_BYTES;
  return { unit, numbers: new Int8Array(row.buffer, start, row.length - UNIT_BYTES) };
}

/** A query in 12 bits a dimension, which costs no recall, and what 1 stands for. */
export function askedNumbers(query: Float32Array): {
  readonly unit: number;
  readonly numbers: Int16Array;
} {
  const largest = query.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const unit = largest / DOT_QUERY_MAX;
  return { unit, numbers: Int16Array.from(query, (number) => Math.round(number / unit)) };
}

const UNIT_BYTES = 4;
