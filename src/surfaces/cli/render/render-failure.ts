import { ERRORS, type SessionError } from "../../../core/errors.ts";
import { printable } from "./printable.ts";
import type { Style } from "./style.ts";

/** What a failed command says, and what to do about it. */
export function renderFailure(error: SessionError, style: Style): string {
  const [first = "", ...rest] = printable(error.message).split("\n");
  const details = rest.map((line) => `  ${line}\n`).join("");
  const hint = error.hint ? `${style.cyan("hint:")} ${error.hint}\n` : "";
  return `${style.red("error:")} ${first}\n${details}${hint}`;
}

/** The same for scripts. */
export function failureJson({ code, message, hint }: SessionError) {
  return { code, message, hint };
}

export function exitCodeOf(error: SessionError): number {
  return ERRORS[error.code].exitCode;
}
