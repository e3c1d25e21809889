import { type ErrorCode, SessionError } from "../../core/errors.ts";
import { isWrongRow } from "../stored-json.ts";

/** The problem by SQLite's primary result code, and what to do about it. */
const FAILURES: Readonly<Record<number, { readonly what: string; readonly hint: string }>> = {
  3: { what: "may not be opened", hint: "Check the permissions of the file and its folder." },
  8: {
    what: "cannot be written",
    hint: "Check the permissions of the file and its folder, and that the file system is not read-only.",
  },
  10: { what: "could not be read or written", hint: "Check the disk." },
  11: {
    what: "is damaged",
    hint: "Restore it from a backup, or move it away: a new store is made in its place.",
  },
  13: { what: "could not grow, the disk is full", hint: "Free some space and try again." },
  14: { what: "cannot be opened", hint: "Check the path and the permissions of its folder." },
  26: {
    what: "is not a database",
    hint: "Name another path, or move the file away: a new store is made in its place.",
  },
};

/** The error for the caller, made of anything thrown while working on the store at `path`. */
export function storeFailure(error: unknown, path: string): unknown {
  if (SessionError.is(error)) return error;
  const known = knownFailure(error);
  if (known) return failure(path, known.what, known.hint, error);
  if (isOfSqlite(error)) return failure(path, "failed", UNREADABLE[1], error);
  if (isWrongRow(error)) return failure(path, ...UNREADABLE, error);
  if (isSystemError(error))
    return failure(path, "cannot be opened", FAILURES[14]?.hint ?? "", error);
  return error;
}

/** The fault of a file and the way out, for the codes of SQLite that rkat knows. */
export function knownFailure(error: unknown): (typeof FAILURES)[number] | undefined {
  return FAILURES[resultCode(error) ?? -1];
}

/** Whether another connection holds the lock: the same command can be run again. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code === 5 || code === 6;
}

/**
 * Whether an error of a copy is about the file that is read: it is busy, may not be opened, is damaged, no database, or
 * in a folder where the files that even a reader needs beside it cannot be made.
 */
export function isAboutSource(error: unknown): boolean {
  return [3, 5, 6, 8, 11, 26].includes(resultCode(error) ?? -1);
}

/** Whether an error is one of SQLite's. */
export function isOfSqlite(error: unknown): boolean {
  return resultCode(error) !== undefined;
}

/** SQLite's primary result code, if the error is one of SQLite's. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return Number(error.errcode) & 0xff;
}

const UNREADABLE = [
  "has a row that rkat did not write",
  "Restore it from a backup. `rkat doctor` and `rkat memory verify` check it, and `rkat memory reindex` makes the index again.",
] as const;

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function failure(path: string, what: string, hint: string, cause: unknown) {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `${path} ${what} (${reason}).`,
    cause,
    hint,
  });
}

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
