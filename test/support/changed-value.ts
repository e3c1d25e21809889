/** A value with one place in it changed: replaced, removed, or with something beside it. */
export function changed(value: unknown, path: readonly number[], other: unknown): unknown {
  const [at, ...rest] = path;
  if (typeof value !== "object" || value === null || at === undefined) return other;
  const keys = Object.keys(value);
  const key = keys[at % (keys.length + 1)];
  if (key === undefined) return Array.isArray(value) ? [...value, other] : { ...value, other };
  const inner = changed(Reflect.get(value, key), rest, other);
  if (Array.isArray(value))
    return value.map((each, index) => (String(index) === key ? inner : each));
  return { ...value, [key]: inner };
}
