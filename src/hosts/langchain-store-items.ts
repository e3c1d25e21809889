import { isDeepStrictEqual } from "node:util";
import { SessionError } from "../core/errors.ts";
import { isDeeperThan, NESTING_MAX } from "../core/json-values.ts";

export type Namespace = readonly string[];
export type StoredValue = Readonly<Record<string, unknown>>;
/** The fields that searches find: all of them, none, or those at these paths. */
type IndexedFields = readonly string[] | false | undefined;

/** LangGraph's condition on a namespace. In `path`, `*` is any label. */
export interface NamespaceCondition {
  readonly matchType: "prefix" | "suffix";
  readonly path: Namespace;
}

const LABEL_MAX = 500;

type Test = (value: unknown, wanted: unknown) => boolean;

const isSame: Test = (value, wanted) => value === wanted || isDeepStrictEqual(value, wanted);

const OPERATORS: Readonly<Record<string, Test>> = {
  $eq: isSame,
  $ne: (value, wanted) => !isSame(value, wanted),
  $gt: (value, wanted) => Number(value) > Number(wanted),
  $gte: (value, wanted) => Number(value) >= Number(wanted),
  $lt: (value, wanted) => Number(value) < Number(wanted),
  $lte: (value, wanted) => Number(value) <= Number(wanted),
  $in: (value, wanted) => Array.isArray(wanted) && wanted.some((each) => isSame(value, each)),
  $nin: (value, wanted) => !Array.isArray(wanted) || !wanted.some((each) => isSame(value, each)),
};

/**
 * The test of a filter such as `{ color: "red", score: { $gte: 3 } }`.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function filterTest(filter: unknown = {}): (value: StoredValue) => boolean {
  if (!isObject(filter)) {
    throw invalid(
      "The filter of search() is not an object.",
      'Pass, for example, { color: "red" }.',
    );
  }
  const tests = Object.entries(filter).flatMap(([field, wanted]) => {
    if (!isObject(wanted) || !Object.keys(wanted).some((name) => name.startsWith("$"))) {
      return [(value: StoredValue) => isSame(value[field], wanted)];
    }
    return Object.entries(wanted).map(([name, operand]) => {
      const test = OPERATORS[name];
      if (test) return (value: StoredValue) => test(value[field], operand);
      throw invalid(
        `The filter of search() has the operator "${name}" for "${field}", which does not exist.`,
        `Use one of ${Object.keys(OPERATORS).join(", ")}.`,
      );
    });
  });
  return (value) => tests.every((test) => test(value));
}

export function fitsConditions(
  namespace: Namespace,
  conditions: readonly NamespaceCondition[],
): boolean {
  return conditions.every(({ matchType, path }) => {
    const part =
      matchType === "prefix" ? namespace.slice(0, path.length) : namespace.slice(-path.length);
    const isLongEnough = path.length <= namespace.length;
    return isLongEnough && path.every((label, at) => label === "*" || label === part[at]);
  });
}

/**
 * The rules of LangGraph's own stores, so that items stored here can move to another of them.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function requireNamespace(namespace: Namespace): void {
  const problem = problemOf(namespace);
  if (problem === undefined) return;
  throw invalid(
    `The namespace ${JSON.stringify(namespace)} ${problem}.`,
    'Pass labels such as ["users", "ada", "memories"].',
  );
}

function problemOf(namespace: unknown): string | undefined {
  if (!Array.isArray(namespace)) return "is not an array";
  if (namespace.length === 0) return "is empty";
  if (namespace[0] === "langgraph") return 'begins with "langgraph", a name of LangGraph itself';
  for (const label of namespace) {
    if (typeof label !== "string" || label === "") return "has a label that is not a text";
    if (/[.:\0]/.test(label)) return 'has a label with ".", ":" or a zero byte';
    if (label.length > LABEL_MAX) return `has a label of more than ${LABEL_MAX} characters`;
  }
  return undefined;
}

/**
 * A copy of the value as JSON, which is how it is stored.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function jsonOf(key: string, value: unknown): StoredValue {
  if (typeof key !== "string") throw invalid(`The key ${JSON.stringify(key)} is not a text.`);
  if (!isObject(value)) {
    throw invalid(
      `The value of "${key}" is not an object.`,
      'Pass an object, such as { text: "likes tea" }, or delete the key.',
    );
  }
  if (isDeeperThan(NESTING_MAX, value)) {
    throw invalid(
      `The value of "${key}" is nested more than ${NESTING_MAX} levels deep.`,
      "Store the inner parts as texts, or as items of their own.",
    );
  }
  try {
    return JSON.parse(JSON.stringify(value)) as StoredValue;
  } catch (cause) {
    throw new SessionError("INVALID_PARAMS", {
      message: `The value of "${key}" cannot be stored as JSON: ${(cause as Error).message}.`,
      hint: "Store texts, numbers, booleans, null, and lists and objects of them.",
      cause,
    });
  }
}

/** The searchable text of an item: its key, and a line for each text in it. Empty when it is not indexed. */
export function searchableText(key: string, value: StoredValue, index: IndexedFields): string {
  if (index === false) return "";
  const lines = index ? index.flatMap((path) => linesAt(value, path)) : linesIn(value, "");
  return lines.length === 0 ? "" : [key, ...lines].join("\n");
}

function linesAt(value: StoredValue, path: string): readonly string[] {
  const steps = path === "$" ? [] : path.replaceAll("[", ".[").split(".").filter(Boolean);
  const found = steps.reduce<readonly unknown[]>(
    (values, step) => values.flatMap((each) => stepInto(each, step)),
    [value],
  );
  return found.flatMap((each) => linesIn(each, path === "$" ? "" : path));
}

function stepInto(value: unknown, step: string): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (step === "*" || step === "[*]") return Object.values(value);
  const position = /^\[(-?\d+)\]$/.exec(step)?.[1];
  if (position !== undefined) return Array.isArray(value) ? [value.at(Number(position))] : [];
  return Object.hasOwn(value, step) ? [(value as StoredValue)[step]] : [];
}

function linesIn(root: unknown, rootName: string): readonly string[] {
  const lines: string[] = [];
  const left = [{ value: root, name: rootName }];
  for (let next = left.pop(); next; next = left.pop()) {
    const { value, name } = next;
    if (value === null || value === undefined || value === "") continue;
    if (typeof value !== "object") {
      lines.push(name === "" ? String(value) : `${name}: ${value}`);
      continue;
    }
    const inner = Object.entries(value).map(([field, each]: [string, unknown]) => {
      const longer = name === "" ? field : `${name}.${field}`;
      return { value: each, name: Array.isArray(value) ? name : longer };
    });
    for (const each of inner.reverse()) left.push(each);
  }
  return lines;
}

function isObject(value: unknown): value is StoredValue {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string, hint?: string): SessionError {
  return new SessionError("INVALID_PARAMS", { message, ...(hint ? { hint } : {}) });
}
