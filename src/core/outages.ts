import { causeText } from "./errors.ts";

/** Told causes that are kept. A message with a number in it is a cause of its own each time. */
const TOLD_MAX = 1000;

/**
 * Tells failures of work in the background: each cause once per outage, however many parts of rkat meet it.
 *
 *     part a   ✗ told   ✗        ✓   ✗ told
 *     part b        ✗       ✗  ✓        ✗
 *
 * A part that fails has something new to tell only if it was well since the cause was told. A part whose first work
 * fails counts as well when any other last was.
 */
export class Outages {
  readonly #tell: (error: unknown, consequence?: string) => void;
  /** Counts what begins and what is told, to order them. */
  #now = 0;
  /** When each cause was told last. */
  readonly #told = new Map<string, number>();
  /** When the last work of a part began that succeeded. */
  readonly #well = new WeakMap<object, number>();
  #lastWell = 0;

  constructor(tell: (error: unknown, consequence?: string) => void) {
    this.#tell = tell;
  }

  /** Does work of a part, and notes that the part is well if it succeeds. */
  async watch<Result>(part: object, work: () => Promise<Result>): Promise<Result> {
    this.#now += 1;
    // Work that began before an outage may end in the middle of it.
    const beganAt = this.#now;
    const result = await work();
    this.#well.set(part, beganAt);
    this.#lastWell = Math.max(this.#lastWell, beganAt);
    return result;
  }

  /** The same for work whose failure stops nothing: it is told, and the result is undefined. */
  async attempt<Result>(
    part: object,
    work: () => Promise<Result>,
    consequence?: string,
  ): Promise<Result | undefined> {
    try {
      return await this.watch(part, work);
    } catch (error) {
      this.failed(part, error, consequence);
      return undefined;
    }
  }

  /** Tells a failure of a part, unless it is known. */
  failed(part: object, error: unknown, consequence = ""): void {
    const cause = `${consequence} ${causeText(error)}`;
    const wellAt = this.#well.get(part) ?? this.#lastWell;
    this.#well.set(part, wellAt);
    if ((this.#told.get(cause) ?? 0) > wellAt) return;
    this.#now += 1;
    this.#told.delete(cause);
    this.#told.set(cause, this.#now);
    const [oldest] = this.#told.keys();
    if (this.#told.size > TOLD_MAX && oldest !== undefined) this.#told.delete(oldest);
    this.#tell(error, ...(consequence === "" ? [] : [consequence]));
  }

  /** Begins again, as if nothing had been told. */
  forget(): void {
    this.#told.clear();
  }
}
