/** A program calls itself for each level, and has room for some thousands. */
const DEPTH_MAX = 500;

/**
 * Plain data with U+FFFD in the place of each half of a character, as databases have texts. What was given with a half,
 * such as a name that was cut off, is looked up like this too. Data below 500 levels stays as it is.
 */
export function wellFormed<Value>(value: Value, depth = 0): Value {
  if (typeof value === "string") return value.toWellFormed() as Value;
  if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) return value.map((each) => wellFormed(each, depth + 1)) as Value;
  const fields = Object.entries(value).map(([name, field]) => [
    name.toWellFormed(),
    wellFormed(field, depth + 1),
  ]);
  return Object.fromEntries(fields) as Value;
}
