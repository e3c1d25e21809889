import { SCAN_WASM } from "./scan-wasm.ts";

/**
 * Finds, among many one-bit codes, those that differ least from a query's.
 *
 * A code has a bit for each dimension of a vector and fills whole words of 64 bits.
 * Codes and bitmaps are in the scan's own memory, where its owner puts them.
 */
export interface CodeScan {
  /** All memory. Another array after `allocate`. */
  readonly memory: Uint8Array;
  /** Reserves bytes of zeros at a multiple of 16, for good, and returns where they start. */
  allocate(bytes: number): number;
  /**
   * The `best` nearest codes, at most 4096: nearest first, of the same distance
   * the lower number first.
   */
  nearest(query: Uint8Array, best: number, chunks: readonly CodeChunk[]): NearestCodes;
  /**
   * For each code, by where it is, the sum of the query's numbers: plus where the code's bit is
   * set, minus where it is not.
   */
  judge(query: Int16Array, codes: readonly number[]): Int32Array;
  /**
   * The dot products of rows of 8-bit numbers with a query, at most 4096 numbers each. The
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

interface NearestCodes {
  readonly slots: Uint32Array;
  /** How many bits differ. */
  readonly distances: Uint32Array;
}

export const BEST_CODES_MAX = 4096;
export const DIMENSIONS_MAX = 4096;
export const DOT_QUERY_MAX = 2047;

/** The used part of WebAssembly: TypeScript's own declarations come with those of a browser. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: object };
};

/** The exports of `assembly/scan.ts`. */
interface ScanExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): void };
  readonly query: Address;
  readonly slots: Address;
  readonly distances: Address;
  readonly numbers: Address;
  readonly free: Address;
  start(best: number, words: number): void;
  scan(codes: number, one: number, other: number, bitmapWords: number, first: number): void;
  finish(): number;
  learn(bytes: number): void;
  judge(addresses: number, count: number, bytes: number): void;
  dots(rows: number, count: number, stride: number, results: number): void;
}

interface Address {
  readonly value: number;
}

const PAGE_BYTES = 65_536;
/** Rows that are compared, and codes that are judged, at a time. */
const ROWS = 128;
const CODES = 8192;

let compiled: object | undefined;

/** Scans in WebAssembly. Each has a memory of its own, which goes when it does. */
export class WasmScan implements CodeScan {
  readonly #scan: ScanExports;
  #memory: Uint8Array;
  #free: number;
  /** Where rows and addresses are put, and their results. */
  #room: number | undefined;
  /** The query that `judge` has prepared. */
  #learned: Int16Array | undefined;

  constructor() {
    compiled ??= new WebAssembly.Module(Buffer.from(SCAN_WASM, "base64"));
    this.#scan = new WebAssembly.Instance(compiled).exports as ScanExports;
    this.#memory = new Uint8Array(this.#scan.memory.buffer);
    this.#free = this.#scan.free.value;
  }

  get memory(): Uint8Array {
    return this.#memory;
  }

  allocate(bytes: number): number {
    const start = Math.ceil(this.#free / 16) * 16;
    this.#free = start + bytes;
    const lacking = this.#free - this.#memory.length;
    if (lacking > 0) {
      this.#scan.memory.grow(Math.ceil(lacking / PAGE_BYTES));
      this.#memory = new Uint8Array(this.#scan.memory.buffer);
    }
    return start;
  }

  nearest(query: Uint8Array, best: number, chunks: readonly CodeChunk[]): NearestCodes {
    this.#memory.set(query, this.#scan.query.value);
    this.#scan.start(Math.min(best, BEST_CODES_MAX), query.length / 8);
    for (const { codes, present, wanted, bitmapWords, first } of chunks) {
      this.#scan.scan(codes, present, wanted, bitmapWords, first);
    }
    const found = this.#scan.finish();
    const { buffer } = this.#scan.memory;
    return {
      slots: new Uint32Array(buffer, this.#scan.slots.value, found).slice(),
      distances: new Uint32Array(buffer, this.#scan.distances.value, found).slice(),
    };
  }

  judge(query: Int16Array, codes: readonly number[]): Int32Array {
    const bytes = Math.ceil(query.length / 8);
    if (this.#learned !== query) {
      this.#ask(query);
      this.#scan.learn(bytes);
      this.#learned = query;
    }
    const room = this.#makeRoom();
    const sums = new Int32Array(codes.length);
    for (let start = 0; start < codes.length; start += CODES) {
      const some = codes.slice(start, start + CODES);
      const places = new Int32Array(this.#scan.memory.buffer, room, some.length);
      places.set(some);
      this.#scan.judge(room, some.length, bytes);
      sums.set(places, start);
    }
    return sums;
  }

  dots(query: Int16Array, rows: readonly Int8Array[]): Int32Array {
    const room = this.#makeRoom();
    const stride = 16 * Math.ceil(query.length / 16);
    const results = room + ROWS * DIMENSIONS_MAX;
    const { buffer } = this.#scan.memory;
    this.#ask(query);
    const found = new Int32Array(rows.length);
    for (let start = 0; start < rows.length; start += ROWS) {
      const some = rows.slice(start, start + ROWS);
      for (const [index, row] of some.entries()) {
        new Int8Array(buffer, room + index * stride, stride).set(row);
      }
      this.#scan.dots(room, some.length, stride, results);
      found.set(new Int32Array(buffer, results, some.length), start);
    }
    return found;
  }

  #ask(query: Int16Array): void {
    const { numbers, memory } = this.#scan;
    new Int16Array(memory.buffer, numbers.value, DIMENSIONS_MAX).fill(0).set(query);
  }

  #makeRoom(): number {
    this.#room ??= this.allocate(ROWS * (DIMENSIONS_MAX + 4));
    return this.#room;
  }
}

/** The same as `WasmScan` where there is no WebAssembly; it takes about ten times as long. */
export class PlainScan implements CodeScan {
  #memory = new Uint8Array(PAGE_BYTES);
  #free = 0;

  get memory(): Uint8Array {
    return this.#memory;
  }

  allocate(bytes: number): number {
    const start = Math.ceil(this.#free / 16) * 16;
    this.#free = start + bytes;
    if (this.#free > this.#memory.length) {
      const larger = new Uint8Array(Math.max(this.#free, 2 * this.#memory.length));
      larger.set(this.#memory);
      this.#memory = larger;
    }
    return start;
  }

  nearest(query: Uint8Array, best: number, chunks: readonly CodeChunk[]): NearestCodes {
    const asked = new Uint32Array(query.slice().buffer);
    const words = new Uint32Array(this.#memory.buffer);
    const nearest = new Nearest(Math.min(best, BEST_CODES_MAX), 32 * asked.length);
    for (const { codes, present, wanted, bitmapWords, first } of chunks) {
      for (let half = 0; half < 2 * bitmapWords; half += 1) {
        let left = (words[present / 4 + half] ?? 0) & (words[wanted / 4 + half] ?? 0);
        while (left !== 0) {
          const slot = 32 * half + (31 - Math.clz32(left & -left));
          const code = codes / 4 + slot * asked.length;
          let distance = 0;
          for (let word = 0; word < asked.length; word += 1) {
            distance += bitsOf((words[code + word] ?? 0) ^ (asked[word] ?? 0));
          }
          if (distance < nearest.limit) nearest.keep(first + slot, distance);
          left &= left - 1;
        }
      }
    }
    return nearest.finish();
  }

  judge(query: Int16Array, codes: readonly number[]): Int32Array {
    return Int32Array.from(codes, (code) =>
      query.reduce((sum, number, index) => {
        const bit = ((this.#memory[code + (index >> 3)] ?? 0) >> (index & 7)) & 1;
        return bit === 1 ? sum + number : sum - number;
      }, 0),
    );
  }

  dots(query: Int16Array, rows: readonly Int8Array[]): Int32Array {
    return Int32Array.from(rows, (row) =>
      row.reduce((sum, number, index) => sum + Math.imul(number, query[index] ?? 0), 0),
    );
  }
}

class Nearest {
  /** Codes at a smaller distance may be among the best. */
  limit: number;
  readonly #best: number;
  readonly #histogram: Uint32Array;
  #bound: number;
  #within = 0;
  #found: { readonly slot: number; readonly distance: number }[] = [];

  constructor(best: number, bits: number) {
    this.#best = best;
    this.#histogram = new Uint32Array(bits + 1);
    this.#bound = bits;
    this.limit = bits + 1;
  }

  keep(slot: number, distance: number): void {
    this.#found.push({ slot, distance });
    this.#histogram[distance] = this.#at(distance) + 1;
    this.#within += 1;
    while (this.#within - this.#at(this.#bound) >= this.#best) {
      this.#within -= this.#at(this.#bound);
      this.#bound -= 1;
    }
    this.limit = this.#within < this.#best ? this.#bound + 1 : this.#bound;
    if (this.#found.length === FOUND_MAX) this.#found = this.#near();
  }

  finish(): NearestCodes {
    const best = this.#near()
      .sort((one, other) => one.distance - other.distance || one.slot - other.slot)
      .slice(0, this.#best);
    return {
      slots: Uint32Array.from(best, ({ slot }) => slot),
      distances: Uint32Array.from(best, ({ distance }) => distance),
    };
  }

  #near() {
    return this.#found.filter(({ distance }) => distance <= this.#bound);
  }

  #at(distance: number): number {
    return this.#histogram[distance] ?? 0;
  }
}

const FOUND_MAX = 4 * BEST_CODES_MAX;

/** How many bits are set. */
function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((nibbles + (nibbles >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
