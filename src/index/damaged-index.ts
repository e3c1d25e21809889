import { SessionError } from "../core/errors.ts";

/** Entries are kept apart from their index, so a damaged index can be rebuilt. */
export function damagedIndex(part: "words" | "columns"): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The index of memory is damaged: ${part} of it cannot be read.`,
    hint: "`rkat memory reindex` builds it anew from the entries.",
  });
}
