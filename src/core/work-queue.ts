/** Does work in the order in which it was asked for. Each begins when the one before has ended. */
export class WorkQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Only the caller of failed work sees its error. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all work is done that was asked for before. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
