import { SessionError } from "../../../core/errors.ts";

/** The error of whoever reads what nobody wrote. Entries are apart from their index, which can be built from them. */
export function damagedIndex(part: "words" | "columns"): SessionError {
  return new SessionError("SESSION_STORE_ERROR", {
    detail: `The index of memory is damaged: ${part} of it cannot be read.`,
    hint: "`rkat memory reindex` builds it anew from the entries.",
  });
}
