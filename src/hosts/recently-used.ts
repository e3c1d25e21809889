/** Values by their keys. The longest unused are dropped first. */
export class RecentlyUsed<Value> {
  readonly #values = new Map<string, Value>();
  readonly #max: number;

  /** Keeps this many values. */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The value of a key; made by `open` if it is not there. */
  of(key: string, open: () => Value): Value {
    const value = this.#values.get(key) ?? open();
    this.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= this.#max) break;
      this.#values.delete(oldest);
    }
  }

  delete(key: string): void {
    this.#values.delete(key);
  }
}
