import { FORGOTTEN } from "../core/forgotten.ts";

/** Any JSON with each of its texts changed, and the names of its fields where they are texts. */
export function inJson(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => inJson(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      /\s/.test(key) ? change(key) : key,
      inJson(item, change),
    ]),
  );
}

/** Any JSON of which only the form is left: texts and numbers are forgotten. */
export function emptiedJson(value: unknown): unknown {
  if (typeof value === "string" || typeof value === "number") return FORGOTTEN;
  if (Array.isArray(value)) return value.map(emptiedJson);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      /\s/.test(key) ? FORGOTTEN : key,
      emptiedJson(item),
    ]),
  );
}
