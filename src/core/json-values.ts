/*
 * Walks over JSON values of others: arguments of tools, items of hosts, results. None of them is recursive, so no depth
 * exhausts the stack.
 */

/**
 * Levels of lists and objects that a message, an item of a host, or a stored value may have. Many servers of models
 * refuse more in a request, and JSON itself is written by a recursive function of the runtime.
 */
export const NESTING_MAX = 100;

/** The same for what such a value stands in: an event, a request, a line of a wire. */
export const WRAPPED_NESTING_MAX = NESTING_MAX + 20;

/** Whether a value has more than `max` levels of lists and objects. A value that contains itself has. */
export function isDeeperThan(max: number, value: unknown): boolean {
  const open: { readonly value: unknown; readonly level: number }[] = [{ value, level: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (!isBranch(next.value)) continue;
    if (next.level > max) return true;
    for (const inner of Object.values(next.value)) {
      if (isBranch(inner)) open.push({ value: inner, level: next.level + 1 });
    }
  }
  return false;
}

/**
 * The value with at most `max` levels. What is deeper becomes a text, its JSON, so that nothing is lost and a search
 * finds it:
 *
 *     {"a": {"b": {"c": 1}}}   →   {"a": {"b": "{\"c\":1}"}}        two levels
 *
 * A value within the limit comes back as the same object.
 */
export function withinNesting<Value>(value: Value, max = NESTING_MAX): Value {
  if (!isDeeperThan(max, value)) return value;
  return changedJson(value, {
    leaf: (leaf) => leaf,
    whole: (inner, level) => (level > max ? jsonText(inner) : undefined),
  }) as Value;
}

/** Whether JSON gives the same value back: nothing in it is left out, replaced or written by code of its own. */
export function isPlainJson(value: unknown): boolean {
  const open: { readonly value: unknown; readonly level: number }[] = [{ value, level: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (!isBranch(next.value)) {
      if (!isPlainLeaf(next.value)) return false;
      continue;
    }
    const prototype = Object.getPrototypeOf(next.value);
    const isPlain =
      prototype === Object.prototype || prototype === Array.prototype || prototype === null;
    if (!isPlain || next.level > WRAPPED_NESTING_MAX) return false;
    for (const inner of Array.isArray(next.value) ? next.value : Object.values(next.value)) {
      if (isBranch(inner)) open.push({ value: inner, level: next.level + 1 });
      else if (!isPlainLeaf(inner)) return false;
    }
  }
  return true;
}

function isPlainLeaf(value: unknown): boolean {
  return (
    value === null ||
    typeof value === "string" ||
    typeof value === "boolean" ||
    (Number.isFinite(value) && !Object.is(value, -0))
  );
}

/** A list or an object. Bytes are none: they have no fields. */
function isBranch(value: unknown): value is object {
  return typeof value === "object" && value !== null && !ArrayBuffer.isView(value);
}

/** Every text in a value, in order. Names of fields are none. */
export function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  for (const { value: leaf } of leavesOf(value)) if (typeof leaf === "string") texts.push(leaf);
  return texts;
}

/** A value that is neither list nor object, and the name of the field that it is the value of. */
interface Leaf {
  readonly value: unknown;
  /** Missing for an item of a list. */
  readonly key?: string;
}

/** Every text, number, boolean and null in a value, in order. */
export function* leavesOf(root: unknown): Generator<Leaf> {
  const left: Leaf[] = [{ value: root }];
  for (let next = left.pop(); next; next = left.pop()) {
    if (!isBranch(next.value)) {
      yield next;
      continue;
    }
    const inner: Leaf[] = Array.isArray(next.value)
      ? next.value.map((value: unknown) => ({ value }))
      : Object.entries(next.value).map(([key, value]) => ({ key, value }));
    for (let at = inner.length - 1; at >= 0; at -= 1) left.push(inner[at] as Leaf);
  }
}

/** How a value changes. */
export interface JsonChange {
  /** The text, number, boolean or null instead. `key` is the field that it is the value of. */
  leaf(value: unknown, key: string | undefined): unknown;
  /** The name of a field instead. */
  key?(key: string): string;
  /** The change of all that is in the field of this name, where it is another one. */
  inside?(key: string): JsonChange | undefined;
  /** The value instead of a whole list or object; `undefined` goes on into it. The outermost has level 1. */
  whole?(value: object, level: number): unknown;
}

/** A list or object whose inner values are being changed. */
interface Open {
  /** Its fields; missing for a list. */
  readonly keys?: readonly string[];
  readonly values: readonly unknown[];
  readonly changed: unknown[];
  readonly change: JsonChange;
}

/** A copy of the value in which everything is changed. */
export function changedJson(root: unknown, change: JsonChange): unknown {
  const open: Open[] = [{ values: [root], changed: [], change }];
  for (;;) {
    const { keys, values, changed, change: outer } = open.at(-1) as Open;
    const at = changed.length;
    if (at === values.length) {
      open.pop();
      const around = open.at(-1);
      if (!around) return changed[0];
      around.changed.push(keys ? withKeys(keys, changed, outer) : changed);
      continue;
    }
    const value = values[at];
    const key = keys?.[at];
    const inner = (key === undefined ? undefined : outer.inside?.(key)) ?? outer;
    const isObject = typeof value === "object" && value !== null;
    const whole = isObject ? inner.whole?.(value, open.length) : undefined;
    if (whole !== undefined) changed.push(whole);
    else if (isBranch(value)) open.push(opened(value, inner));
    else changed.push(inner.leaf(value, key));
  }
}

function opened(value: object, change: JsonChange): Open {
  if (Array.isArray(value)) return { values: value, changed: [], change };
  return { keys: Object.keys(value), values: Object.values(value), changed: [], change };
}

function withKeys(keys: readonly string[], values: readonly unknown[], { key }: JsonChange) {
  return Object.fromEntries(keys.map((name, at) => [key?.(name) ?? name, values[at]]));
}

/** The value of a JSON text; undefined for any other text. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value as JSON, however deep it is; an empty text for `undefined`. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch (error) {
    if (error instanceof RangeError) return writtenJson(value, Object.entries);
    throw error;
  }
}

/** The value as JSON with the fields of its objects in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  try {
    return JSON.stringify(value, (_, item) => (isFields(item) ? inOrder(item) : item)) ?? "null";
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return writtenJson(value, (fields) => Object.entries(inOrder(fields)));
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function inOrder(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** A step of writing: a text, a value after a text, or the end of a list or object. */
type Step =
  | { readonly text: string }
  | { readonly text: string; readonly value: unknown }
  | { readonly text: string; readonly ends: object };

/** `JSON.stringify`, in steps instead of calls within calls. */
function writtenJson(
  root: unknown,
  entriesOf: (fields: Fields) => readonly (readonly [string, unknown])[],
): string {
  const texts: string[] = [];
  const around = new Set<object>();
  const left: Step[] = [{ text: "", value: root }];
  for (let step = left.pop(); step; step = left.pop()) {
    texts.push(step.text);
    if ("ends" in step) around.delete(step.ends);
    if (!("value" in step)) continue;
    const value = plain(step.value);
    if (typeof value !== "object" || value === null) {
      texts.push(JSON.stringify(value) ?? "null");
      continue;
    }
    if (around.has(value)) throw new TypeError("A value that contains itself has no JSON.");
    around.add(value);
    const steps = stepsOf(value, entriesOf);
    for (let at = steps.length - 1; at >= 0; at -= 1) left.push(steps[at] as Step);
  }
  return texts.join("");
}

function stepsOf(
  value: object,
  entriesOf: (fields: Fields) => readonly (readonly [string, unknown])[],
): readonly Step[] {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown, at) => ({ text: at === 0 ? "" : ",", value: item }));
    return [{ text: "[" }, ...items, { text: "]", ends: value }];
  }
  const fields = entriesOf(value as Fields).filter(([, inner]) => hasJson(inner));
  const members = fields.map(([key, inner], at) => ({
    text: `${at === 0 ? "" : ","}${JSON.stringify(key)}:`,
    value: inner,
  }));
  return [{ text: "{" }, ...members, { text: "}", ends: value }];
}

function hasJson(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}

/** The value that stands for one with a `toJSON`, such as a date. */
function plain(value: unknown): unknown {
  const { toJSON } = (value ?? {}) as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, "") : value;
}
