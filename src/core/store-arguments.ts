import { instant, isTime } from "../text/time/calendar.ts";
import { isSavedSnapshot } from "./event-shape.ts";
import { INDEXED_KINDS } from "./event-store.ts";
import { KNOWLEDGE_KINDS, KNOWLEDGE_ORIGINS } from "./knowledge.ts";
import { MEMORY_KINDS } from "./memory-store.ts";
import {
  amount,
  approvalAnswer,
  type Check,
  type Checks,
  callback,
  flag,
  group,
  is,
  json,
  listOf,
  object,
  oneOf,
  record,
  recordOf,
  requireArguments,
  signal,
  someText,
  text,
  unless,
  whole,
} from "./options.ts";

/** The methods of a store that take arguments, with these in their order. A name that ends in `?` may be left out. */
type StoreMethods = Readonly<Record<string, Checks>>;

const texts = listOf(someText);
const limit = whole(0);
const finite = is("a number", Number.isFinite);
const time = is("a time in milliseconds", isTime);
const wholeTime = is(
  "a time in whole milliseconds",
  (value) => isTime(value) && Number.isInteger(value),
);
const span = object({ from: finite, to: finite });

/**
 * Names by which a store finds something. PostgreSQL's indexes have room for names of this many bytes beside the name of a user, and none for
 * two names of sessions that are longer. All stores have the same limits, so that what one has can move to another.
 */
const [NAME_BYTES, SESSION_BYTES] = [1400, 700];
const name = nameUpTo(NAME_BYTES, 1);
const someName = nameUpTo(NAME_BYTES, 0);
const names = listOf(someName);
const sessionName = nameUpTo(SESSION_BYTES, 1);

function nameUpTo(bytes: number, least: number): Check {
  const what = least === 0 ? "a text" : "a text that is not empty,";
  return is(
    `${what} of at most ${bytes} bytes`,
    (value) =>
      typeof value === "string" && value.length >= least && Buffer.byteLength(value) <= bytes,
  );
}

/** The number of an event in its log. */
const EVENTS_MAX = 2 ** 31 - 1;
const eventNumber = (least: number) =>
  is(
    `the number of an event, ${least} to ${EVENTS_MAX}`,
    (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= EVENTS_MAX,
  );

/** Exactly one of these fields: what is deleted is never "all" for a misspelt name. */
function eitherOf(one: Checks, other: Checks): Check {
  const [[first], [second]] = [Object.keys(one), Object.keys(other)] as [[string], [string]];
  const what = is(
    `an object with either ${first} or ${second}`,
    (value) => typeof value === "object" && value !== null && first in value !== second in value,
  );
  return (value) => {
    const issues = what(value);
    if (issues.length > 0) return issues;
    const fields = first in (value as object) ? one : other;
    return group(fields, Object.keys(fields))(value);
  };
}

const owner = object({ id: text, host: someText, pid: whole(0) });
const held = object({ key: name, owner });
/** A longer lease would end at a time that a database does not have. */
const LEASE_MS_MAX = 366 * 86_400_000;
const leaseMs = is(
  `a whole number of milliseconds from 1 to ${LEASE_MS_MAX}`,
  (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LEASE_MS_MAX,
);
/** The log checks the fields of `event`, by the schema that reads them again. */
const event = object({ event_id: text, timestamp_ms: wholeTime, event: record });
const sessionChoice = eitherOf({ only: texts }, { except: texts });
const moment = is(
  "a time in ISO 8601",
  (value) => typeof value === "string" && !Number.isNaN(instant(value)),
);
const said = { since: moment, until: moment, sessions: sessionChoice } as const;

const EVENTS: StoreMethods = {
  append: { sessionId: sessionName, lastSeq: eventNumber(0), events: listOf(event), "held?": held },
  lastSeq: { sessionId: someText },
  read: { sessionId: someText, afterSeq: whole(0), "toSeq?": unless(Infinity, whole(0)) },
  readKinds: {
    sessionId: someText,
    kinds: listOf(oneOf(...INDEXED_KINDS)),
    range: object({ afterSeq: whole(0), toSeq: whole(0), limit }),
  },
  turnsAt: { sessionId: someText, seq: whole(0) },
  readAll: { afterPosition: whole(0), limit },
  backlog: { afterPosition: whole(0) },
  endings: { places: listOf(object({ sessionId: someText, seq: whole(0) })) },
  search: {
    query: group(
      {
        query: someText,
        limit,
        sessionId: someText,
        fromTurn: whole(0),
        toTurn: unless(Infinity, whole(0)),
        ...said,
      },
      ["query", "limit"],
    ),
  },
  checkpoint: { projection: text },
  saveCheckpoint: { projection: name, position: whole(0) },
  delete: { sessionId: someText },
  redact: {
    sessionId: sessionName,
    lastSeq: eventNumber(0),
    redactions: listOf(object({ seq: eventNumber(1), event: object({ type: text }) })),
    told: event,
  },
  watch: { sessionId: someText, listener: callback },
};

/** A list has to be able to read it again: one wrong snapshot would refuse the whole list. */
const isSnapshot = is("the snapshot of a session", isSavedSnapshot);
const ofSnapshot = object({ id: sessionName, seq: eventNumber(0), updated_at_ms: wholeTime });
const snapshot: Check = (value) => {
  const issues = isSnapshot(value);
  return issues.length > 0 ? issues : ofSnapshot(value);
};

const SESSIONS: StoreMethods = {
  save: { snapshot, "held?": held },
  load: { sessionId: someText },
  list: {
    query: group({
      limit,
      offset: limit,
      labels: recordOf(someText),
      includeArchived: flag,
      archivedBefore: time,
      idPrefix: someText,
      source: record,
    }),
  },
  delete: { sessionId: someText },
  sources: { sessionIds: texts },
  withSource: { filter: record, passing: flag },
  acquire: { key: name, owner, ttlMs: leaseMs },
  renew: { key: name, owner, ttlMs: leaseMs },
  release: { key: text, owner },
  saveAndRelease: { snapshot, held },
  askToStop: { key: text },
  askedToStop: { owner },
  leases: { limit: whole(0) },
};

const memoryFilter = {
  sessionId: someText,
  role: someText,
  kind: oneOf(...MEMORY_KINDS),
  ...said,
} as const;
const questions: Check = (value) => (Array.isArray(value) ? texts(value) : someText(value));
const watch = group({ signal, onProgress: callback });
const pinned = oneOf(true);
const earlier = listOf(object({ id: text, content: someText, "time?": someText, until: someText }));
const keeps = listOf(object({ id: text, since: someText, "until?": someText }));
const MEMORY: StoreMethods = {
  add: {
    entries: listOf(
      object({
        id: name,
        content: someText,
        sessionId: name,
        turn: unless(null, whole(0)),
        kind: oneOf(...MEMORY_KINDS),
        "time?": someText,
        "role?": someName,
        "speaker?": someName,
        "source?": object({ from: whole(0), to: whole(0) }),
        "pinned?": pinned,
        "earlier?": earlier,
        "keeps?": keeps,
      }),
    ),
    "log?": record,
  },
  search: {
    query: group(
      {
        ...memoryFilter,
        query: questions,
        limit,
        at: someText,
        minScore: finite,
        bestMatch: finite,
        neighbours: whole(0),
        neighboursMatch: finite,
        explain: flag,
      },
      ["query", "limit"],
    ),
  },
  read: { ids: texts },
  list: { page: group({ ...memoryFilter, limit, after: someText, marked: flag }, ["limit"]) },
  mark: { id: text, marks: group({ pinned, earlier, keeps }) },
  stats: { "of?": group({ sessionId: someText }, ["sessionId"]) },
  delete: { which: eitherOf({ ids: texts }, { sessionId: someText }) },
  verify: { "watch?": watch },
  reindex: { "watch?": watch },
};

const approvals = listOf(
  object({
    approvalId: name,
    sessionId: name,
    toolUseId: someText,
    tool: someText,
    "args?": json,
    goal: someText,
    requestedAt: someText,
    "mayAnswer?": listOf(oneOf("user", "model")),
  }),
);
const APPROVALS: StoreMethods = {
  add: { approvals },
  replace: { approvals },
  list: { of: group({ sessionId: someText }) },
  answer: { approvalId: someText, sessionId: someText, answer: approvalAnswer },
  answers: { approvalIds: texts },
  remove: { which: eitherOf({ approvalIds: texts }, { sessionId: someText }) },
};

const kind = oneOf(...KNOWLEDGE_KINDS);
const likeness = object({ bands: names, signature: listOf(finite) });
/** The fields that new and stored knowledge have in common. */
const learned = {
  id: name,
  kind,
  content: someText,
  tags: texts,
  origin: oneOf(...KNOWLEDGE_ORIGINS),
  "sessionId?": someName,
  "source?": span,
  time: someText,
  "tool?": someText,
  "args?": someText,
  "reason?": someText,
  "goal?": someText,
  "sources?": texts,
} as const;
const newKnowledge = listOf(
  object({
    ...learned,
    "pinned?": flag,
    "count?": whole(0),
    keys: names,
    "likeness?": likeness,
  }),
);
const entry = object({
  ...learned,
  pinned: flag,
  "earlier?": earlier,
  "keeps?": keeps,
  count: whole(0),
  lastTime: someText,
  edited: flag,
  "usedAt?": someText,
});
const limits = object({
  max: object(Object.fromEntries(KNOWLEDGE_KINDS.map((name) => [name, amount]))),
  eviction: oneOf("fifo", "spare_used"),
});
const KNOWLEDGE: StoreMethods = {
  record: { batch: object({ from: whole(0), to: whole(0), entries: newKnowledge, limits }) },
  add: { entries: newKnowledge, limits },
  list: {
    page: group({ kind, pinned: flag, tag: someText, query: someText, limit, after: someText }, [
      "limit",
    ]),
  },
  read: { ids: texts },
  edit: {
    id: someText,
    change: group({
      content: someText,
      goal: someText,
      earlier,
      keeps,
      keys: names,
      tags: texts,
      pinned: flag,
    }),
  },
  forget: { ids: texts },
  deleteSession: { sessionId: someText },
  markUsed: { ids: texts, time: someText },
  saveRules: { revision: whole(0), rules: newKnowledge },
  unheard: { limit },
  heard: {
    unheard: object({ changed: listOf(object({ entry, version: whole(0) })), gone: texts }),
  },
  restore: {
    copy: object({
      position: whole(0),
      entries: listOf(object({ entry, keys: names, "likeness?": likeness })),
      forgotten: names,
    }),
  },
};

const FORGOTTEN: StoreMethods = {
  add: { sessionId: someText, texts },
  has: { sessionId: someText, texts },
  restore: { copy: names },
};

const importedFile = object({
  agent: someText,
  stamp: someText,
  sessions: whole(0),
  messages: whole(0),
  "subagents?": flag,
  "places?": texts,
  "readOn?": object({
    offset: whole(0),
    line: whole(0),
    messages: whole(0),
    hash: someText,
    "state?": json,
  }),
});
const files: Check = (value) =>
  value instanceof Map && names([...value.keys()]).length === 0
    ? recordOf(importedFile)(Object.fromEntries(value))
    : is(`a Map from paths of at most ${NAME_BYTES} bytes to files`, () => false)(value);
const eachBatch = listOf(
  object({
    sessionId: sessionName,
    lastSeq: eventNumber(0),
    events: listOf(event),
    snapshot,
    ids: texts,
  }),
);
const ofSessionsOnce = is(
  "a list with each session once",
  (value) =>
    new Set((value as readonly { sessionId: string }[]).map(({ sessionId }) => sessionId)).size ===
    (value as readonly unknown[]).length,
);
const batches: Check = (value) => {
  const issues = eachBatch(value);
  return issues.length > 0 ? issues : ofSessionsOnce(value);
};
const IMPORTS: StoreMethods = {
  known: { ids: texts },
  commit: { batches, "files?": files, "options?": group({ durable: flag }) },
  keys: { after: someText, limit },
  restore: { keys: texts },
};

/** The arguments of each store's methods, by the store's name among `Stores`. */
const STORE_METHODS: Readonly<Record<string, StoreMethods>> = {
  events: EVENTS,
  sessions: SESSIONS,
  memory: MEMORY,
  approvals: APPROVALS,
  knowledge: KNOWLEDGE,
  forgotten: FORGOTTEN,
  imports: IMPORTS,
};

/** Methods that return something to read or a function instead of a promise: they throw at once. */
const AT_ONCE: ReadonlySet<string> = new Set(["read of events", "watch of events"]);

/** The method, which refuses arguments that are not what it takes before it does anything. */
export function checkedMethod<Method extends (...args: never[]) => unknown>(
  store: string,
  name: string,
  method: Method,
): Method {
  const named = STORE_METHODS[store]?.[name];
  if (!named) return method;
  const of = `${store}.${name}()`;
  const throwsAtOnce = AT_ONCE.has(`${name} of ${store}`);
  const checked = function (this: unknown, ...args: never[]) {
    try {
      requireArguments(of, named, args);
    } catch (error) {
      if (throwsAtOnce) throw error;
      return Promise.reject(error);
    }
    return method.apply(this, args);
  };
  return checked as Method;
}

/** Lets the methods of a class refuse arguments that are not what they take. */
export function checkMethods(store: string, { prototype }: { readonly prototype: object }): void {
  for (const name of Object.keys(STORE_METHODS[store] ?? {})) {
    const method = Object.getOwnPropertyDescriptor(prototype, name)?.value;
    if (typeof method !== "function") continue;
    const value = checkedMethod(store, name, method);
    Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  }
}
