/** Empty slots whose links have changed since the index was opened, as far as they are remembered. */
export class LinkChanges {
  #pads: number[] = [];
  /** Changes before the first that is remembered. */
  #forgotten = 0;

  /** How many there have been. */
  get version(): number {
    return this.#forgotten + this.#pads.length;
  }

  add(pad: number): void {
    if (this.#pads.length === REMEMBERED_MAX) this.forget();
    this.#pads.push(pad);
  }

  /** Any may have changed. */
  forget(): void {
    this.#forgotten += this.#pads.length + 1;
    this.#pads = [];
  }

  since(version: number): readonly number[] | undefined {
    return version < this.#forgotten ? undefined : this.#pads.slice(version - this.#forgotten);
  }
}

const REMEMBERED_MAX = 4096;
