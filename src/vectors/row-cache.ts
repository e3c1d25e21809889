/** Rows that were read, so many bytes of them at the most. Each slot has one place, and shares it with others. */
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
