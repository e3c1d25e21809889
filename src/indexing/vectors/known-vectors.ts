import { damagedIndex } from "../port/head.ts";
import type { Known, News, VectorRow, VectorSpace } from "../port/index-store.ts";
import { CodeTable } from "./code-table.ts";
import { CODE_BLOCK_SLOTS, codeBytes, codesIn, isRow, rowBytes } from "./vector-codes.ts";

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
