import { BEST_CODES_MAX, type CodeChunk, type CodeScan, type NearestCodes } from "./code-scan.ts";

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

const PAGE_BYTES = 65_536;

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
