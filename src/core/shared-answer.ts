/** How long those who ask wait. They come again in seconds, and a scrape of Prometheus gives up after ten. */
const WAIT_MS = 2000;

/**
 * The answer of something that may be silent, such as a store whose server is away. It is asked by one at a time, however
 * many come, and those who come meanwhile wait for the same answer. After two seconds they get `late()` instead.
 */
export class SharedAnswer<Value> {
  readonly #ask: () => Promise<Value>;
  readonly #late: () => Value;
  #asking: Promise<Value> | undefined;

  constructor(ask: () => Promise<Value>, late: () => Value) {
    this.#ask = ask;
    this.#late = late;
  }

  async read(): Promise<Value> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Value>((resolve) => {
      timer = setTimeout(() => resolve(this.#late()), WAIT_MS);
    });
    return await Promise.race([this.#asking, late]).finally(() => clearTimeout(timer));
  }
}
