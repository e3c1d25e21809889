import { errorText, SessionError } from "./errors.ts";

/** The `name` of every process warning that rkat emits. */
export const WARNING_NAME = "RkatWarning";

/**
 * Emits a process warning for a failure that stops nothing, for example
 * `warn(error, "Memory uses words only.")`.
 *
 * Node prints it to stderr, and `process.on("warning", …)` receives it.
 */
export function warn(thrown: unknown, consequence = ""): void {
  const known = SessionError.from(thrown);
  const error = known.code === "INTERNAL_ERROR" ? thrown : known;
  const advice = SessionError.is(error) ? error.hint : "";
  const text = [consequence, errorText(error), advice].filter(Boolean).join(" ");
  const detail = error instanceof Error && !SessionError.is(error) ? error.stack : undefined;
  process.emitWarning(text, { type: WARNING_NAME, ...(detail ? { detail } : {}) });
}
