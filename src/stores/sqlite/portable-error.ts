import { ERRORS, type ErrorCode, SessionError } from "../../core/errors.ts";

/** An error as it crosses from one thread to another, where a class would be lost. */
export type PortableError =
  | {
      readonly code: ErrorCode;
      readonly detail: string;
      readonly hint: string;
      readonly cause: unknown;
    }
  | { readonly code: undefined; readonly cause: unknown };

export function packError(error: unknown): PortableError {
  if (!SessionError.is(error)) return { code: undefined, cause: error };
  const { code, hint, cause } = error;
  return { code, detail: error.message.slice(ERRORS[code].message.length + 1), hint, cause };
}

export function unpackError(packed: PortableError): unknown {
  if (packed.code === undefined) return packed.cause;
  const { code, detail, hint, cause } = packed;
  return new SessionError(code, { detail, hint, ...(cause === undefined ? {} : { cause }) });
}
