import { causeText, errorText, SessionError } from "./errors.ts";
import { Outages } from "./outages.ts";

/** The `name` of every process warning that rkat emits. */
export const WARNING_NAME = "RkatWarning";

/** A process warning of rkat. */
export class RkatWarning extends Error {
  override readonly name = WARNING_NAME;
  /** What follows from the failure. Empty when nothing does that a user has to know. */
  readonly consequence: string;
  /** What failed. Undefined for a note that no failure led to. */
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

/** Work in the background whose failures become process warnings. */
export const warnedOutages = new Outages(warn);
