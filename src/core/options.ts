import { nearestName } from "../text/nearest-name.ts";
import { type AllowedCalls, type ApprovalAnswer, TOOL_POLICIES } from "./approval.ts";
import { errorText, SessionError } from "./errors.ts";
import { isObject } from "./fields.ts";
import { type Issue, issuesText } from "./issues.ts";

/** The faults of a value, in sentences; empty when it has none. */
export type Check = (value: unknown) => readonly Issue[];

export type Checks = Readonly<Record<string, Check>>;

/** A value that a sentence describes: `is("a number above 0", (value) => …)`. */
export function is(what: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? [] : wrong(`it has to be ${what}, and is ${shown(value)}`));
}

export const anything: Check = () => [];
export const text = is(
  "a text that is not empty",
  (value) => typeof value === "string" && value !== "",
);
export const someText = is("a text", (value) => typeof value === "string");
export const flag = is("true or false", (value) => typeof value === "boolean");
export const callback = is("a function", (value) => typeof value === "function");
export const record = is("an object", isObject);
export const duration = is("a number of milliseconds, 0 or more", atLeast(0));
export const amount = is("a number, 0 or more", atLeast(0));
export const positive = is("a number above 0", (value) => typeof value === "number" && value > 0);
/** The signal of an AbortController, of this realm or of another. */
export const signal = is(
  "the signal of an AbortController",
  (value) =>
    typeof value === "object" &&
    value !== null &&
    "aborted" in value &&
    "addEventListener" in value,
);
export const json = is("a value that JSON has", (value) => {
  try {
    return value === undefined || JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
});
export const positions = is("a set of positions", (value) => value instanceof Set);
export const policy = oneOf(...TOOL_POLICIES);

function atLeast(least: number): (value: unknown) => boolean {
  return (value) => typeof value === "number" && value >= least;
}

export function whole(least: number): Check {
  return is(
    `a whole number from ${least}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least,
  );
}

export function oneOf(...values: readonly (string | boolean)[]): Check {
  const allowed = values.map((value) => JSON.stringify(value)).join(", ");
  return is(`one of ${allowed}`, (value) => values.some((known) => known === value));
}

export function listOf(item: Check): Check {
  return (value) =>
    Array.isArray(value)
      ? Array.from(value, (each, at) => under(at, item(each))).flat()
      : wrong(`it has to be a list, and is ${shown(value)}`);
}

export function recordOf(item: Check): Check {
  return (value) =>
    isObject(value) && isPlain(value)
      ? Object.entries(value).flatMap(([name, each]) => under(name, item(each)))
      : wrong(`it has to be an object, and is ${shown(value)}`);
}

/** Whether all that an object has are its own fields: it is no Map, Date or Promise, and of no class. */
function isPlain(value: object): boolean {
  const above = Object.getPrototypeOf(value);
  // Objects of another realm, such as that of a test, have another Object.prototype.
  return above === null || Object.getPrototypeOf(above) === null;
}

/** The first check, unless the value is the other one. */
export function unless(other: unknown, check: Check): Check {
  return (value) => (value === other ? [] : check(value));
}

/** An object that can do something: a store, a compactor. */
export function having(...methods: readonly string[]): Check {
  return (value) => {
    if (typeof value !== "object" || value === null) {
      return wrong(`it has to be an object, and is ${shown(value)}`);
    }
    const own = value as Readonly<Record<string, unknown>>;
    const missing = methods.filter((name) => typeof own[name] !== "function");
    return missing.length === 0
      ? []
      : wrong(`it lacks ${missing.map((name) => `${name}()`).join(", ")}`);
  };
}

/** An object with these fields and no others. `required` must be there; the others may. */
export function group(fields: Checks, required: readonly string[] = []): Check {
  return (value) => {
    if (!isObject(value) || kindOf(value) !== "Object") {
      return wrong(`it has to be an object, and is ${shown(value)}`);
    }
    const names = Object.keys(fields);
    const unknown = Object.keys(value)
      .filter((name) => !Object.hasOwn(fields, name) && value[name] !== undefined)
      .flatMap((name) => under(name, wrong(unknownName(name, names))));
    // A copy of the options would lack it.
    const hidden = names
      .filter(
        (name) =>
          value[name] !== undefined && !Object.prototype.propertyIsEnumerable.call(value, name),
      )
      .flatMap((name) =>
        under(name, wrong("it has to be a field of the object, and is one of its class")),
      );
    return [...unknown, ...hidden, ...fieldsOf(fields, required, value)];
  };
}

/** `Object`, `Map`, `Promise`, … */
function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/**
 * An object with these fields, which may have others too, such as those of a class. A field may be left out if its name
 * ends in `?` here: `object({ id: text, "dimensions?": whole(1) })`.
 */
export function object(fields: Checks): Check {
  const named = Object.entries(fields).map(([name, check]) => [nameOf(name), check] as const);
  return withFields(Object.fromEntries(named), Object.keys(fields));
}

function withFields(fields: Checks, required: readonly string[]): Check {
  return (value) =>
    typeof value === "object" && value !== null
      ? fieldsOf(fields, required, value as Readonly<Record<string, unknown>>)
      : wrong(`it has to be an object, and is ${shown(value)}`);
}

function nameOf(name: string): string {
  return name.endsWith("?") ? name.slice(0, -1) : name;
}

function fieldsOf(
  fields: Checks,
  required: readonly string[],
  value: Readonly<Record<string, unknown>>,
): readonly Issue[] {
  return Object.entries(fields).flatMap(([name, check]) => {
    const field = value[name];
    if (field !== undefined) return under(name, check(field));
    return required.includes(name) ? under(name, wrong("it is missing")) : [];
  });
}

/**
 * Refuses options that are not what a function takes, before anything is done with them.
 *
 * @throws SessionError `INVALID_PARAMS`, which names each option and what is allowed
 */
export function requireOptions(of: string, check: Check, given: unknown): void {
  requireRight("options", of, check, given);
}

/**
 * The same for arguments that have an order. A name that ends in `?` may be left out.
 *
 * @throws SessionError `INVALID_PARAMS`, which names each argument and what is allowed
 */
export function requireArguments(of: string, named: Checks, given: readonly unknown[]): void {
  const check: Check = () =>
    Object.entries(named).flatMap(([name, check], at) => {
      if (given[at] === undefined && name !== nameOf(name)) return [];
      return under(nameOf(name), check(given[at]));
    });
  requireRight("arguments", of, check, given);
}

function requireRight(what: string, of: string, check: Check, given: unknown): void {
  let issues: readonly Issue[];
  try {
    issues = check(given);
  } catch (error) {
    issues = wrong(`they cannot be read: ${errorText(error)}`);
  }
  if (issues.length === 0) return;
  throw new SessionError("INVALID_PARAMS", {
    message: `The ${what} of ${of} are not valid.`,
    issues,
    hint: `Correct the ${what}. The message names what is wrong, and what is allowed.`,
  });
}

/** Refuses an argument that is not what a function takes. @throws SessionError `INVALID_PARAMS` */
export function requireArgument(name: string, check: Check, given: unknown): void {
  requireOptions(name, (value) => check(value), given);
}

/**
 * Runs a function of values of your own, which look right. What it cannot read in them is refused as well.
 *
 * @throws SessionError `INVALID_PARAMS`
 */
export function reading<Result>(of: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    if (SessionError.is(error)) throw error;
    throw new SessionError("INVALID_PARAMS", {
      message: `The arguments of ${of} cannot be read.`,
      cause: error,
      hint: "Pass values of the types that the function declares.",
    });
  }
}

function wrong(message: string): readonly Issue[] {
  return [{ path: [], message }];
}

function under(name: string | number, issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, message }) => ({ path: [name, ...path], message }));
}

function unknownName(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  const meant =
    near === undefined ? `The options are ${names.join(", ")}` : `Did you mean ${near}?`;
  return `this option does not exist. ${meant}`;
}

const SHOWN_MAX = 40;

/** Short, and never the fields of an object: they may have a key. */
export function shown(value: unknown): string {
  if (value === undefined || value === null || typeof value === "boolean") return String(value);
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && kindOf(value) !== "Object") return `a ${kindOf(value)}`;
  if (typeof value === "object" && !isPlain(value)) return "one of a class";
  if (typeof value !== "string") return `a value of the type ${typeof value}`;
  return JSON.stringify(value.length > SHOWN_MAX ? `${value.slice(0, SHOWN_MAX)}…` : value);
}

/** A model of rkat, or the name of one. */
export const model: Check = (value) => {
  if (typeof value === "string") return text(value);
  const given = isObject(value) || typeof value === "function" ? Object(value) : {};
  if (typeof given.doStream === "function" || typeof given.modelId === "string") {
    return wrong("it is a model of the AI SDK. Give it as fromAiSdk(model), of rkat/ai-sdk");
  }
  return object({ id: text, "contextWindow?": positive, stream: callback })(value);
};

const definition = object({ name: text, description: someText, input_schema: record });

const TOOL: Checks = {
  definition,
  timeoutMs: duration,
  policy: (value) => (typeof value === "function" ? [] : policy(value)),
  always: callback,
  execute: callback,
};

/** A tool of rkat. One that is no instance of a class has no other fields: a misspelt policy would allow its calls. */
const tool: Check = (value) => {
  if (isOfAiSdk(value)) return wrong(FROM_AI_SDK);
  const needed = ["definition", "execute"];
  const check = isObject(value) && isPlain(value) ? group : withFields;
  return check(TOOL, needed)(value);
};

export const tools: Check = (value) => {
  const given = isObject(value) ? Object.values(value) : [];
  if (!Array.isArray(value) && given.length > 0) return wrong(FROM_AI_SDK);
  return listOf(tool)(value);
};

const FROM_AI_SDK =
  "rkat takes a list of its own tools, such as those of defineTool(). Give tools of the AI SDK as aiSdkTools({ name: tool }), of rkat/ai-sdk";

function isOfAiSdk(value: unknown): boolean {
  return (
    isObject(value) && !("definition" in value) && ("inputSchema" in value || "parameters" in value)
  );
}

/** The stores of a service, as far as every service needs them. */
const eventStore = having("append", "lastSeq", "read", "readAll", "search");
const sessionStore = having("save", "load", "list", "delete", "acquire", "release");
export const memoryStore = having("add", "search", "read", "list", "stats", "delete");
export const stores = object({
  events: eventStore,
  sessions: sessionStore,
  "memory?": memoryStore,
  "forUser?": callback,
});

/** Compaction, beside its numbers, which its own table checks. */
export const COMPACTION: Checks = {
  autoCompactThreshold: anything,
  recentTurnBudget: anything,
  maxSummaryTokens: anything,
  minTurnsBetweenCompactions: anything,
  windowSize: anything,
  compactor: anything,
  onSummaryFailure: oneOf("keep", "fallback"),
  pruneToolOutput: flag,
  keepAnchors: flag,
  userWordsTokens: amount,
  summaryTimeoutMs: duration,
};

/** The options of a service's request, and of a subscription. */
export const TURN_OPTIONS = group({ signal, onEvent: callback });
export const SUBSCRIBE_OPTIONS = group({ signal, onOpen: callback });

const price = group({ input: amount, output: amount, cacheRead: amount, cacheWrite: amount }, [
  "input",
  "output",
]);

/** Prices by the names of models. */
export const prices = recordOf(price);

/** The options of a window over the loop of another package. */
const WINDOW: Checks = {
  ...COMPACTION,
  contextWindow: positive,
  otherTokens: amount,
  summarize: anything,
};

/** The same where the host shows what the provider has in its cache. */
export const PRICED_WINDOW: Checks = { ...WINDOW, prices };

/** The options of a host whose chats are kept. */
export const HOST: Checks = {
  ...WINDOW,
  model: anything,
  stores,
  author: oneOf("user"),
  recallTokens: whole(0),
};

/** A service of rkat, or a client of one. */
export const service = having("createSession", "startTurn", "read", "capabilities", "close");
export const embedder = object({ "id?": text, "dimensions?": whole(1), embed: callback });

const allowedCalls = group({ tool: text, command: someText }, ["tool"]);

/** The calls that a text of a tool, a file or a program allows, if it has exactly that form. Anything else allows nothing. */
export function exactlyAllowed(value: unknown): AllowedCalls | undefined {
  return exactly(allowedCalls, value).data as AllowedCalls | undefined;
}

export const approvalAnswer = group(
  {
    decision: oneOf("allow", "deny"),
    reason: someText,
    by: oneOf("user", "model", "settings"),
    always: oneOf("session", "project"),
  },
  ["decision"],
);

/** An answer from outside. What is not exactly an allowance is a denial, and its reason says what it was. */
export function exactAnswer(value: unknown): ApprovalAnswer {
  const { data, why } = exactly(approvalAnswer, value);
  if (data !== undefined) return data as ApprovalAnswer;
  return {
    decision: "deny",
    by: "settings",
    reason: `The answer to the request for approval is not { decision: "allow" } or { decision: "deny" }: ${why}`,
  };
}

/** The fields of a value are read once: a getter may say something else the next time. */
function exactly(check: Check, value: unknown): { readonly data?: unknown; readonly why?: string } {
  try {
    const plain =
      typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : value;
    const issues = check(plain);
    return issues.length === 0 ? { data: plain } : { why: issuesText(issues) };
  } catch (error) {
    return { why: `${errorText(error)}.` };
  }
}
