import { damagedIndex } from "../port/asking.ts";
import type { Known, News, VectorRow, VectorSpace } from "../port/index-store.ts";
import { type CodeChunk, type CodeScan, PlainScan, WasmScan } from "./code-scan.ts";
import {
  askedNumbers,
  bitsIn,
  CODE_BLOCK_SLOTS,
  codeBytes,
  codeOf,
  codesIn,
  isRow,
  numbersOf,
  rowBytes,
  rowLengthMost,
} from "./vector-codes.ts";

/** Slots with a bit each, the lowest bit first. */
export type SlotBitmap = Uint32Array;

export interface SimilarSlot {
  readonly slot: number;
  /** About the cosine. */
  readonly similarity: number;
}

/** A query, with its likeness to codes and rows. */
export interface VectorQuestion {
  /**
   * The `best` slots whose codes say that they are most like the query, most alike first; of
   * those in `wanted`, when it is given. The `scanned` with the fewest bits that differ are judged.
   */
  nearest(options: {
    readonly scanned: number;
    readonly best: number;
    readonly wanted?: SlotBitmap | undefined;
  }): readonly SimilarSlot[];
  /**
   * The slots that have a code, by how alike it says that they are. It knows the query in full,
   * so it orders codes far better than the number of bits that differ. Most alike first, of
   * those equally alike the one that was given first.
   */
  judge(slots: ArrayLike<number>): readonly SimilarSlot[];
  /** The cosines of rows, to the second digit. */
  compare(rows: readonly Uint8Array[]): readonly number[];
  /** Nothing that `judge` or `compare` says of vectors of length 1 is larger. */
  readonly most: number;
}

/**
 * The codes of vectors by slot, in memory: 48 bytes each at 384 dimensions, and room for
 * slots that have none.
 */
export class CodeTable {
  readonly dimensions: number;
  readonly #scan: CodeScan;
  readonly #codeBytes: number;
  readonly #chunks: CodeChunk[] = [];
  #count = 0;

  constructor(dimensions: number, scan = openCodeScan()) {
    this.dimensions = dimensions;
    this.#scan = scan;
    this.#codeBytes = codeBytes(dimensions);
  }

  /** How many slots have a code. */
  get count(): number {
    return this.#count;
  }

  /** Bytes that it keeps. */
  get bytes(): number {
    return this.#chunks.length * CHUNK_SLOTS * this.#codeBytes;
  }

  has(slot: number): boolean {
    const chunk = this.#chunks[Math.floor(slot / CHUNK_SLOTS)];
    return chunk !== undefined && this.#bit(chunk, slot) !== 0;
  }

  set(slot: number, code: Uint8Array): void {
    const chunk = this.#chunkOf(slot);
    if (this.#bit(chunk, slot) === 0) this.#flip(chunk, slot, 1);
    this.#scan.memory.set(code, this.#address(chunk, slot));
  }

  remove(slot: number): void {
    const chunk = this.#chunks[Math.floor(slot / CHUNK_SLOTS)];
    if (chunk && this.#bit(chunk, slot) !== 0) this.#flip(chunk, slot, -1);
  }

  /**
   * Makes the codes of consecutive slots again, from `first`, a multiple of 8: those whose bit
   * is set have one, and theirs follow each other in `codes`.
   */
  replace(first: number, bitmap: Uint8Array, codes: Uint8Array): void {
    const chunk = this.#chunkOf(first);
    const slots = 8 * bitmap.length;
    const present = chunk.present + (first - chunk.first) / 8;
    const { memory } = this.#scan;
    this.#count -= bitsIn(memory.subarray(present, present + bitmap.length));
    this.#count += bitsIn(bitmap);
    memory.set(bitmap, present);
    const has = (place: number) => ((bitmap[place >> 3] ?? 0) >> (place & 7)) & 1;
    let from = 0;
    for (let start = 0; start < slots; start += 1) {
      if (has(start) === 0) continue;
      let end = start + 1;
      while (end < slots && has(end) === 1) end += 1;
      const to = from + (end - start) * this.#codeBytes;
      memory.set(codes.subarray(from, to), this.#address(chunk, first + start));
      from = to;
      start = end;
    }
  }

  /** A question to the codes: one query, of length 1. */
  ask(query: Float32Array): VectorQuestion {
    const code = codeOf(query);
    const { unit, numbers, sum, length } = askedNumbers(query);
    // The sum of the query itself is about this, because its numbers are spread like those of a bell curve.
    const judgedUnit = unit / Math.sqrt((2 / Math.PI) * query.length);
    const judge = (known: readonly number[], best = known.length) => {
      const sums = this.#scan.judge(
        numbers,
        known.map((slot) => this.#address(this.#chunkOf(slot), slot)),
      );
      // Numbers sort many times faster than objects: a sum and its place make one.
      const count = known.length;
      const keys = new Float64Array(count);
      for (let place = 0; place < count; place += 1) {
        keys[place] = place - (sums[place] as number) * count;
      }
      const found: SimilarSlot[] = [];
      for (const key of keys.sort().subarray(0, best)) {
        const place = ((key % count) + count) % count;
        found.push({ slot: known[place] ?? 0, similarity: judgedUnit * (sums[place] ?? 0) });
      }
      return found;
    };
    return {
      judge: (slots) => judge(Array.from(slots).filter((slot) => this.has(slot))),
      most: Math.max(judgedUnit * sum, unit * length * rowLengthMost(query.length)),
      nearest: ({ scanned, best, wanted }) => {
        const chunks = wanted
          ? this.#chunks.map((chunk) => this.#filtered(chunk, wanted))
          : this.#chunks;
        return judge([...this.#scan.nearest(code, scanned, chunks).slots], best);
      },
      compare: (rows) => {
        const all = rows.map(numbersOf);
        const dots = this.#scan.dots(
          numbers,
          all.map((row) => row.numbers),
        );
        return all.map((row, index) => unit * row.unit * (dots[index] ?? 0));
      },
    };
  }

  #chunkOf(slot: number): CodeChunk {
    const index = Math.floor(slot / CHUNK_SLOTS);
    while (this.#chunks.length <= index) {
      // A filter's bits go next to those that say which codes there are.
      const present = this.#scan.allocate(2 * CHUNK_BITMAP_BYTES);
      this.#chunks.push({
        codes: this.#scan.allocate(CHUNK_SLOTS * this.#codeBytes),
        present,
        wanted: present,
        bitmapWords: CHUNK_SLOTS / 64,
        first: this.#chunks.length * CHUNK_SLOTS,
      });
    }
    return this.#chunks[index] as CodeChunk;
  }

  #filtered(chunk: CodeChunk, wanted: SlotBitmap): CodeChunk {
    const words = wanted.subarray(chunk.first / 32, (chunk.first + CHUNK_SLOTS) / 32);
    const start = chunk.present + CHUNK_BITMAP_BYTES;
    const place = new Uint32Array(this.#scan.memory.buffer, start, CHUNK_SLOTS / 32);
    place.fill(0);
    place.set(words);
    return { ...chunk, wanted: start };
  }

  #address(chunk: CodeChunk, slot: number): number {
    return chunk.codes + (slot - chunk.first) * this.#codeBytes;
  }

  #bit(chunk: CodeChunk, slot: number): number {
    const at = slot - chunk.first;
    return ((this.#scan.memory[chunk.present + (at >> 3)] ?? 0) >> (at & 7)) & 1;
  }

  #flip(chunk: CodeChunk, slot: number, more: 1 | -1): void {
    const at = slot - chunk.first;
    const { memory } = this.#scan;
    memory[chunk.present + (at >> 3)] = (memory[chunk.present + (at >> 3)] ?? 0) ^ (1 << (at & 7));
    this.#count += more;
  }
}

/** A multiple of the slots that `replace` gets. */
const CHUNK_SLOTS = 16_384;
const CHUNK_BITMAP_BYTES = CHUNK_SLOTS / 8;

/**
 * A scan in WebAssembly. Under `node --jitless` there is none, and a plain one gives the same results: the
 * embedders of rkat need WebAssembly too, but a program may bring its own.
 */
function openCodeScan(): CodeScan {
  return "WebAssembly" in globalThis ? new WasmScan() : new PlainScan();
}

/** Rows of this many bytes stay in memory: those of 30 000 passages at 384 dimensions. */
const ROW_BYTES_MAX = 12_000_000;

/** The vectors of a namespace in memory: all codes of one embedder, and rows that were read before. */
export class KnownVectors {
  readonly #cacheBytes: number;
  #loaded:
    | { readonly space: VectorSpace; readonly table: CodeTable; readonly rows: RowCache }
    | undefined;

  constructor(cacheBytes = ROW_BYTES_MAX) {
    this.#cacheBytes = Math.min(cacheBytes, ROW_BYTES_MAX);
  }

  get bytes(): number {
    return this.#loaded ? this.#loaded.table.bytes + this.#loaded.rows.bytes : 0;
  }

  /** The space and the change up to which the codes of an embedder are known. */
  known(embedder: string): NonNullable<Known["vectors"]> {
    const space = this.#loaded?.space;
    return space?.embedder === embedder
      ? { embedder, space: space.number, changes: space.changes }
      : { embedder, space: 0, changes: -1 };
  }

  take({ space, codes }: News): void {
    if (!space) {
      this.#loaded = undefined;
      return;
    }
    const { table, rows } =
      this.#loaded?.space.number === space.number ? this.#loaded : this.#empty(space.dimensions);
    for (const block of codes) {
      const first = block.block * CODE_BLOCK_SLOTS;
      const { bitmap, codes } = codesIn(block.codes, codeBytes(space.dimensions));
      table.replace(first, bitmap, codes);
      // One of its slots may belong to another passage now.
      rows.forget(first, CODE_BLOCK_SLOTS);
    }
    this.#loaded = { space, table, rows };
  }

  get space(): VectorSpace | undefined {
    return this.#loaded?.space;
  }

  get table(): CodeTable | undefined {
    return this.#loaded?.table;
  }

  /** The row of a slot, if it is in memory. */
  row(slot: number): Uint8Array | undefined {
    return this.#loaded?.rows.get(slot);
  }

  keep(rows: readonly VectorRow[]): void {
    if (!this.#loaded) return;
    const { space, rows: cache } = this.#loaded;
    for (const { slot, row } of rows) {
      if (!row) continue;
      if (!isRow(row, space.dimensions)) throw damagedIndex("vectors");
      cache.set(slot, row);
    }
  }

  #empty(dimensions: number): { readonly table: CodeTable; readonly rows: RowCache } {
    const rows = new RowCache(rowBytes(dimensions), this.#cacheBytes);
    return { table: new CodeTable(dimensions), rows };
  }
}

/** A cache of rows with a limit in bytes. Each slot has one place, and shares it with others. */
export class RowCache {
  readonly #rowBytes: number;
  readonly #slots: Float64Array;
  readonly #rows: Uint8Array;
  #used = 0;

  constructor(rowBytes: number, bytesMax: number) {
    const places = Math.max(1, Math.floor(bytesMax / rowBytes));
    this.#rowBytes = rowBytes;
    this.#slots = new Float64Array(places).fill(NEVER_USED);
    this.#rows = new Uint8Array(places * rowBytes);
  }

  /** Bytes of the rows that it has ever had at once: room that was never used takes none. */
  get bytes(): number {
    return this.#used * this.#rowBytes;
  }

  /** A copy: its place may be given to another at any time. */
  get(slot: number): Uint8Array | undefined {
    const place = slot % this.#slots.length;
    if (this.#slots[place] !== slot) return undefined;
    return this.#rows.slice(place * this.#rowBytes, (place + 1) * this.#rowBytes);
  }

  set(slot: number, row: Uint8Array): void {
    const place = slot % this.#slots.length;
    if (this.#slots[place] === NEVER_USED) this.#used += 1;
    this.#slots[place] = slot;
    this.#rows.set(row, place * this.#rowBytes);
  }

  forget(first: number, count: number): void {
    for (let slot = first; slot < first + count; slot += 1) {
      const place = slot % this.#slots.length;
      if (this.#slots[place] === slot) this.#slots[place] = FORGOTTEN;
    }
  }
}

const NEVER_USED = -1;
const FORGOTTEN = -2;
