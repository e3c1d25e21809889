import type { Writable } from "node:stream";

/** Writes lines in order, with backpressure. When the reader is gone, lines are dropped. */
export class LineWriter {
  readonly #output: Writable;
  #gone = false;
  /** Resolves when the slow reader has caught up. Undefined while the reader keeps up. */
  #behind: Promise<void> | undefined;

  constructor(output: Writable, onGone: () => void = () => {}) {
    this.#output = output;
    const gone = () => {
      if (this.#gone) return;
      this.#gone = true;
      onGone();
    };
    output.on("error", gone);
    output.on("close", gone);
  }

  /** Resolves when more may be written. */
  write(line: string): Promise<void> {
    if (!this.#gone && !this.#output.write(`${line}\n`)) {
      this.#behind ??= drained(this.#output).then(() => {
        this.#behind = undefined;
      });
    }
    return this.ready();
  }

  /** Resolves when more may be written. */
  async ready(): Promise<void> {
    await this.#behind;
  }

  /**
   * Waits until the reader keeps up, and then writes one line. Of many that wait, the next one
   * waits again when the reader falls behind, so an untaken connection does not hold a line of each.
   */
  async writeWhenReady(line: () => string): Promise<void> {
    while (this.#behind) await this.#behind;
    await this.write(line());
  }

  /** Flushes and closes. Gives up after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    if (this.#gone) return;
    const timer = setTimeout(() => this.#output.destroy(), timeoutMs);
    await new Promise<void>((resolve) => {
      this.#output.once("close", resolve);
      this.#output.end(resolve);
    });
    clearTimeout(timer);
  }
}

function drained(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    const events = ["drain", "error", "close"];
    const done = () => {
      for (const event of events) output.off(event, done);
      resolve();
    };
    for (const event of events) output.on(event, done);
  });
}
