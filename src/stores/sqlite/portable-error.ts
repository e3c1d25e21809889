import { type ErrorCode, SessionError } from "../../core/errors.ts";

/** An error as plain data: a class does not survive the way to another thread. */
export type PortableError =
  | {
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string;
      readonly cause: unknown;
    }
  | { readonly code: undefined; readonly cause: unknown };

export function packError(error: unknown): PortableError {
  if (!SessionError.is(error)) return { code: undefined, cause: error };
  const { code, message, hint, cause } = error;
  return { code, message, hint, cause };
}

export function unpackError(packed: PortableError): unknown {
  if (packed.code === undefined) return packed.cause;
  const { code, message, hint, cause } = packed;
  return new SessionError(code, { message, hint, ...(cause === undefined ? {} : { cause }) });
}
