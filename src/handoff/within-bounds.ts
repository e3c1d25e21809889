import { cutMiddle } from "../compaction/cut-text.ts";
import { CUT } from "./handoff-source.ts";

/**
 * A message, or a part of one, with only the two ends of each text that is far longer than a handoff. Every look at
 * the whole of such a text would take several times its size in memory.
 */
export function withinBounds<Value>(value: Value, bytesMax: number): Value {
  if (typeof value === "string") return cutMiddle(value, bytesMax, CUT) as Value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withinBounds(item, bytesMax)) as Value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withinBounds(item, bytesMax)]),
  ) as Value;
}
