/** The columns of a row, and how many there are. */
export const LINE = 0;
export const PARENT = 1;
export const ANSWER = 2;
export const ORDINAL = 3;
export const FLAGS = 4;
/** The answer that follows a prompt, and how many prompts are in between. */
export const NEXT = 5;
export const PROMPTS = 6;
const COLUMNS = 7;

/** Rows of numbers, 28 bytes each. As objects, the lines of a gigabyte would take hundreds of megabytes. */
export class LineRows {
  #numbers = new Int32Array(COLUMNS * 256);
  length = 0;

  /** Adds a row of zeros, and returns its place. */
  add(): number {
    const end = COLUMNS * (this.length + 1);
    if (end > this.#numbers.length) {
      const larger = new Int32Array(2 * this.#numbers.length);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.length += 1;
    return this.length - 1;
  }

  get(row: number, column: number): number {
    return this.#numbers[row * COLUMNS + column] ?? 0;
  }

  set(row: number, column: number, value: number): void {
    this.#numbers[row * COLUMNS + column] = value;
  }
}

/** Finds rows by uuid. It keeps 52 bits of each, so two of a million share them once in 9 000 files. */
export class RowsByUuid {
  readonly #rows = new Map<number, number>();

  get(uuid: string): number | undefined {
    return this.#rows.get(keyOf(uuid));
  }

  set(uuid: string, row: number): void {
    this.#rows.set(keyOf(uuid), row);
  }
}

function keyOf(uuid: string): number {
  let high = 0x811c9dc5;
  let low = 0x1b873593;
  for (let at = 0; at < uuid.length; at += 1) {
    const code = uuid.charCodeAt(at);
    high = Math.imul(high ^ code, 0x01000193);
    low = Math.imul(low ^ code, 0x85ebca6b);
    low ^= low >>> 13;
  }
  return (high >>> 0) * 2 ** 20 + ((low >>> 0) % 2 ** 20);
}
