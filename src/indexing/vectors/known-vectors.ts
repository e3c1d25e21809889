import { CodeTable } from "../../vectors/code-table.ts";
import { codeBytes, isRow, rowBytes } from "../../vectors/quantise.ts";
import { RowCache } from "../../vectors/row-cache.ts";
import { damagedIndex } from "../head.ts";
import type { Known, News, VectorRow, VectorSpace } from "../index-store.ts";
import { CODE_BLOCK_SLOTS, codesIn } from "./code-blocks.ts";

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

  /** What it knows of an embedder's codes. */
  known(embedder: string | undefined): Known["vectors"] {
    if (embedder === undefined) return undefined;
    const space = this.#loaded?.space;
    return space?.embedder === embedder
      ? { embedder, space: space.number, changes: space.changes }
      : { embedder, space: 0, changes: -1 };
  }

  take(embedder: string | undefined, { space, codes }: News): void {
    if (embedder === undefined) return;
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
