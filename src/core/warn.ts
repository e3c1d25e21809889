import { causeText, errorText, SessionError } from "./errors.ts";
import type { EventEnvelope } from "./event.ts";

/** The `name` of every process warning that rkat emits. */
export const WARNING_NAME = "RkatWarning";

/** A process warning of rkat. */
export class RkatWarning extends Error {
  override readonly name = WARNING_NAME;
  /** The consequence of the failure. Empty when there is none that a user has to know. */
  readonly consequence: string;
  /** The failure. Undefined for a note that no failure led to. */
  readonly causeText: string | undefined;
  /** Node prints it below the message. */
  readonly detail: string | undefined;

  constructor(thrown: unknown, consequence: string) {
    const known = SessionError.from(thrown);
    const error = known.code === "INTERNAL_ERROR" ? thrown : known;
    const advice = SessionError.is(error) ? error.hint : "";
    super([consequence, errorText(error), advice].filter(Boolean).join(" "), { cause: error });
    this.consequence = consequence;
    this.causeText = typeof thrown === "string" ? undefined : causeText(thrown);
    this.detail = error instanceof Error && !SessionError.is(error) ? error.stack : undefined;
  }
}

/**
 * Emits a process warning for a failure that stops nothing, for example
 * `warn(error, "Memory uses words only.")`.
 *
 * Node prints it to stderr, and `process.on("warning", …)` receives it.
 */
export function warn(thrown: unknown, consequence = ""): void {
  process.emitWarning(new RkatWarning(thrown, consequence));
}

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

/** Work in the background whose failures become process warnings. */
export const warnedOutages = new Outages(warn);

type Listener = (event: EventEnvelope) => void;

/**
 * A listener that cannot end the turn it listens to. If it throws or rejects, the first failure is a
 * process warning, and it still gets every later event.
 */
export function harmlessListener(listener: Listener): Listener {
  let hasFailed = false;
  const failed = (error: unknown) => {
    if (!hasFailed) warn(error, "An event listener failed. The turn goes on.");
    hasFailed = true;
  };
  return (event) => {
    try {
      // It may be an async function.
      const result: unknown = listener(event);
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}
