/**
 * Plain data with U+FFFD in the place of each half of a character, as databases have texts. What was given with a half,
 * such as a name that was cut off, is looked up like this too.
 */
export function wellFormed<Value>(value: Value): Value {
  if (typeof value === "string") return value.toWellFormed() as Value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(wellFormed) as Value;
  const fields = Object.entries(value).map(([name, field]) => [
    name.toWellFormed(),
    wellFormed(field),
  ]);
  return Object.fromEntries(fields) as Value;
}
