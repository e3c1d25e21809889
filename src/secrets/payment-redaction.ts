import { SessionError } from "../core/errors.ts";

let isOn = false;

/**
 * From now on, numbers of cards and IBANs are secrets in this process, wherever a credential is one. One decision for a
 * process: were it one of each service, a text that two of them share would be kept by the one that does not look.
 *
 * @throws SessionError `INVALID_PARAMS` when it is neither true nor false
 */
export function redactPayments(on = true): void {
  if (typeof on !== "boolean") {
    throw new SessionError("INVALID_PARAMS", {
      message: "redactPayments takes true or false.",
      hint: "`redactPayments()` switches it on.",
    });
  }
  isOn = on;
}

export function redactsPayments(): boolean {
  return isOn;
}
