import { ERRORS, type SessionError } from "../../core/errors.ts";
import type { EventEnvelope } from "../../core/event.ts";
import { fitLines, printable, wrapText } from "../render/printable.ts";
import { styleFor } from "../render/style.ts";
import type { Output, Terminal } from "./terminal.ts";

/** Prints one value: on one line for a script, indented for a person. */
export function printJson(output: Output, value: unknown): Promise<void> {
  return output.write(`${jsonText(value, output.isTerminal ? 2 : undefined)}\n`);
}

/** JSON without control characters. `JSON.stringify` leaves some that terminals obey. */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f]/g,
    (control) => `\\u00${control.charCodeAt(0).toString(16)}`,
  );
}

/** Prints sentences for a person, whose words a terminal would break anywhere. */
export async function printText(output: Output, text: string): Promise<void> {
  await output.write(output.isTerminal ? wrapText(text, output.columns) : text);
}

/** The columns that a table has room for. A pipe has no edge. */
export function roomIn({ isTerminal, columns }: Pick<Output, "isTerminal" | "columns">): number {
  return isTerminal ? columns : Number.POSITIVE_INFINITY;
}

/** Prints lines with ids and paths, which a terminal would break anywhere. */
export async function printPlaces(output: Output, text: string): Promise<void> {
  await output.write(output.isTerminal ? fitLines(text, output.columns) : text);
}

/**
 * Prints an event for `--output jsonl`.
 *
 * Each event is one line, as it happens. The last line is the end: it has a `type`,
 * which is `result` or `error`. Events have no `type` of their own; their `payload` has one.
 */
export function printEvent(output: Output, event: EventEnvelope): void {
  void output.write(`${jsonText(event)}\n`);
}

export function printEnd(output: Output, type: "result" | "error", fields: unknown): Promise<void> {
  return output.write(`${jsonText({ type, ...(fields as object) })}\n`);
}

/** Prints what failed, and the hint that says what to do about it. */
export async function printFailure(
  { stderr, env }: Pick<Terminal, "stderr" | "env">,
  error: SessionError,
): Promise<void> {
  const style = styleFor(stderr, env);
  const [first = "", ...rest] = printable(error.message).split("\n");
  const details = rest.map((line) => `  ${line}\n`).join("");
  const hint = error.hint ? `${style.cyan("hint:")} ${printable(error.hint)}\n` : "";
  await printText(stderr, `${style.red("error:")} ${first}\n${details}${hint}`);
}

/** A failure for scripts. */
export function failureJson({ code, message, hint, archived }: SessionError) {
  return { code, message, hint, ...(archived ? { archived } : {}) };
}

export function exitCodeOf(error: SessionError): number {
  return ERRORS[error.code].exitCode;
}
