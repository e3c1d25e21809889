import { createHash } from "node:crypto";
import { canonicalJson } from "../core/json-values.ts";

/** A short hash of several values, the same in every process. */
export function hashOf(...values: readonly unknown[]): string {
  return createHash("sha256").update(canonicalJson(values)).digest("base64url").slice(0, 22);
}
