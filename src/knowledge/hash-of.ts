import { createHash } from "node:crypto";

/** A short hash of several values, the same in every process. */
export function hashOf(...values: readonly unknown[]): string {
  return createHash("sha256").update(canonicalJson(values)).digest("base64url").slice(0, 22);
}

/** JSON with sorted fields. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, item) => (isObject(item) ? sorted(item) : item)) ?? "null";
}

function sorted(object: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(object).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
