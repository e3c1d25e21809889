/** The columns of a row, and how many there are. */
export const LINE = 0;
export const PARENT = 1;
export const ANSWER = 2;
export const ORDINAL = 3;
export const FLAGS = 4;
/** The answer that follows a prompt, and how many prompts are in between. */
export const NEXT = 5;
export const PROMPTS = 6;
export const LINE_COLUMNS = 7;

const FIRST_SIZE = 256;

/**
 * Rows of whole numbers, 4 bytes each. As objects and strings, the lines of a gigabyte would take hundreds of
 * megabytes.
 */
export class NumberRows {
  readonly #columns: number;
  #numbers: Int32Array;
  length = 0;

  constructor(columns: number) {
    this.#columns = columns;
    this.#numbers = new Int32Array(columns * FIRST_SIZE);
  }

  /** Adds a row of zeros, and returns its place. */
  add(): number {
    if (this.#columns * (this.length + 1) > this.#numbers.length) {
      const larger = new Int32Array(2 * this.#numbers.length);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.length += 1;
    return this.length - 1;
  }

  get(row: number, column: number): number {
    return this.#numbers[row * this.#columns + column] ?? 0;
  }

  set(row: number, column: number, value: number): void {
    this.#numbers[row * this.#columns + column] = value;
  }
}

/**
 * Finds rows by an id, 12 bytes each place. It keeps 52 bits of each id, so two of a million share them once in 9 000
 * files.
 */
export class RowsById {
  /** The key of each id, at its place or behind it. 0 for an empty place. */
  #keys = new Float64Array(FIRST_SIZE);
  #rows = new Int32Array(FIRST_SIZE);
  #size = 0;

  get(id: string): number | undefined {
    const place = this.#placeOf(keyOf(id));
    return this.#keys[place] === 0 ? undefined : this.#rows[place];
  }

  set(id: string, row: number): void {
    if (4 * (this.#size + 1) > 3 * this.#keys.length) this.#grow();
    this.#put(keyOf(id), row);
  }

  #put(key: number, row: number): void {
    const place = this.#placeOf(key);
    if (this.#keys[place] === 0) this.#size += 1;
    this.#keys[place] = key;
    this.#rows[place] = row;
  }

  #placeOf(key: number): number {
    const places = this.#keys.length;
    let place = key % places;
    while (this.#keys[place] !== 0 && this.#keys[place] !== key) place = (place + 1) % places;
    return place;
  }

  #grow(): void {
    const keys = this.#keys;
    const rows = this.#rows;
    const places = Math.ceil(1.5 * keys.length);
    this.#keys = new Float64Array(places);
    this.#rows = new Int32Array(places);
    this.#size = 0;
    keys.forEach((key, place) => {
      if (key !== 0) this.#put(key, rows[place] ?? 0);
    });
  }
}

/** 1 to 2 ** 52. */
function keyOf(id: string): number {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x85ebca6b);
    low ^= low >>> 13;
  }
  return (high >>> 0) * 2 ** 20 + ((low >>> 0) % 2 ** 20) + 1;
}

/** Texts by number, one byte for each ASCII character. */
export class PackedTexts {
  #bytes = Buffer.alloc(32 * FIRST_SIZE);
  #ends: Int32Array = new Int32Array(FIRST_SIZE);
  length = 0;

  /** Adds a text, and returns its number. */
  add(text: string): number {
    const start = this.#startOf(this.length);
    const end = start + Buffer.byteLength(text);
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(2 * end);
      this.#bytes.copy(larger);
      this.#bytes = larger;
    }
    if (this.length === this.#ends.length) {
      const larger = new Int32Array(2 * this.#ends.length);
      larger.set(this.#ends);
      this.#ends = larger;
    }
    this.#bytes.write(text, start);
    this.#ends[this.length] = end;
    this.length += 1;
    return this.length - 1;
  }

  get(number: number): string | undefined {
    if (number < 0 || number >= this.length) return undefined;
    return this.#bytes.toString("utf8", this.#startOf(number), this.#ends[number]);
  }

  #startOf(number: number): number {
    return this.#ends[number - 1] ?? 0;
  }
}
