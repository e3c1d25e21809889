/** A program calls itself for each level, and has room for some thousands. */
const DEPTH_MAX = 500;

/**
 * Plain data with U+FFFD in the place of each half of a character, as databases have texts. What was given with a half,
 * such as a name that was cut off, is looked up like this too. Data without a half is given back as it is, and so is
 * what is below 500 levels.
 */
export function wellFormed<Value>(value: Value, depth = 0): Value {
  if (typeof value === "string") return value.toWellFormed() as Value;
  if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((each) => wellFormed(each, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : (items as Value);
  }
  const before = Object.entries(value);
  const after = before.map(([name, field]) => [name.toWellFormed(), wellFormed(field, depth + 1)]);
  const isSame = after.every(
    ([name, field], at) => name === before[at]?.[0] && field === before[at]?.[1],
  );
  return isSame ? value : Object.fromEntries(after);
}
