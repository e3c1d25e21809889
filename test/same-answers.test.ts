import assert from "node:assert/strict";
import { join } from "node:path";
import fc from "fast-check";
import { describe, onTestFinished, test } from "vitest";
import { SessionError } from "../src/core/errors.ts";
import { SessionState } from "../src/core/session-state.ts";
import { type PostgresStores, postgresStores } from "../src/postgres.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresAccess } from "./support/postgres.ts";
import { trials } from "./support/trials.ts";

const SAID = { type: "run_started", session_id: "s", prompt: "The heron waits." } as const;

/** A call of a store's method. */
interface Call {
  readonly store: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Digits that no compression makes short. */
function noise(length: number, seed: number): string {
  let [digits, state] = ["", seed];
  while (digits.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    digits += state.toString(36);
  }
  return digits.slice(0, length);
}

/** Names that a database may not take: long ones, and those with characters of no text. */
const name = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom("a", "b", "c") },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "",
      "a\0b",
      "\u0001",
      "\ud800",
      "x\udc00y",
      "👩",
      "日本",
      " ",
      "%_\\'\"",
      "\u{10ffff}",
      noise(400, 1),
      noise(1400, 2),
      noise(1401, 3),
      noise(3000, 4),
      noise(9000, 5),
      "日".repeat(500),
      "a".repeat(9000),
    ),
  },
);
const words = fc.oneof(
  fc.constantFrom("The heron waits.", "What is it?", "a heron", "", " ", "wills", "heron\0pier"),
  name,
);
/** Numbers that a column may not take. */
const number = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(0, 1, 2, 5) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      -1,
      0.5,
      2 ** 31 - 1,
      2 ** 31,
      2 ** 32,
      2 ** 53 - 1,
      2 ** 53,
      1e300,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      -0,
      8.64e15,
      8.64e15 + 2,
      -8.64e15,
    ),
  },
);
const count = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(0, 1, 3) }, number);
const time = fc.oneof({ weight: 2, arbitrary: fc.constantFrom(1_000, 1_700_000_000_000) }, number);
const moment = fc.constantFrom(
  "2026-01-01T00:00:00Z",
  "2026-01-01",
  "+275760-09-13T00:00:00.000Z",
  "-271821-04-20T00:00:00.000Z",
  "+999999-01-01T00:00:00Z",
  "0001-01-01",
  "not a time",
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const some = <T>(value: fc.Arbitrary<T>) => fc.array(value, { maxLength: 3 });

const owner = fc.record({ id: name, host: name, pid: number });
const held = fc.record({ key: name, owner });
const event = fc.record({
  event_id: name,
  timestamp_ms: time,
  event: fc.oneof(
    words.map((prompt) => ({ type: "run_started", session_id: "s", prompt })),
    words.map((content) => ({ type: "text_complete", content })),
    fc.constant({ type: "session_titled" }),
  ),
});
const source = fc.record(
  { agent: name, native_id: name, project: name, branch: name },
  { requiredKeys: ["agent", "native_id"] },
);
const snapshot = fc
  .record({
    id: name,
    seq: number,
    updated_at_ms: time,
    created_at_ms: time,
    archived: fc.boolean(),
    labels: fc.dictionary(name, words, { maxKeys: 2 }),
    source: maybe(source),
    last_assistant_text: fc.option(words),
  })
  .map(({ labels, source, ...own }) => {
    const made = new SessionState("s").snapshot();
    const settings = { ...made.settings, labels, ...(source ? { source } : {}) };
    return { ...made, ...own, settings };
  });
const sessions = fc.oneof(
  some(name).map((only) => ({ only })),
  some(name).map((except) => ({ except })),
);
const span = { since: moment, until: moment, sessions };
const kind = fc.constantFrom("message", "fact");
const entry = fc.record(
  {
    id: name,
    content: words,
    sessionId: name,
    turn: fc.option(number),
    kind,
    time: moment,
    role: name,
    speaker: name,
    source: fc.record({ from: number, to: number }),
  },
  { requiredKeys: ["id", "content", "sessionId", "turn", "kind"] },
);
const approval = fc.record({
  approvalId: name,
  sessionId: name,
  toolUseId: name,
  tool: name,
  args: fc.jsonValue({ maxDepth: 1 }),
  goal: words,
  requestedAt: moment,
});
const learned = fc.record(
  {
    id: name,
    kind: fc.constantFrom("fact", "correction", "preference", "rule"),
    content: words,
    tags: some(name),
    origin: fc.constantFrom("user", "model"),
    sessionId: name,
    time: moment,
    count: number,
    pinned: fc.boolean(),
    keys: some(name),
    likeness: fc.record({ bands: some(name), signature: some(number) }),
  },
  { requiredKeys: ["id", "kind", "content", "tags", "origin", "time", "keys"] },
);
const limits = fc.record({
  max: fc.record({ fact: number, correction: number, preference: number, rule: number }),
  eviction: fc.constantFrom("fifo", "spare_used"),
});
const file = fc.record({ agent: name, stamp: name, sessions: number, messages: number });

const METHODS: Readonly<
  Record<string, Readonly<Record<string, readonly fc.Arbitrary<unknown>[]>>>
> = {
  events: {
    append: [name, count, some(event), maybe(held)],
    lastSeq: [name],
    read: [name, count, maybe(number)],
    readKinds: [
      name,
      fc.constant(["text_forgotten", "compaction_completed"]),
      fc.record({ afterSeq: number, toSeq: number, limit: number }),
    ],
    turnsAt: [name, number],
    backlog: [number],
    search: [
      fc.record(
        { query: words, limit: number, sessionId: name, fromTurn: number, toTurn: number, ...span },
        { requiredKeys: ["query", "limit"] },
      ),
    ],
    checkpoint: [name],
    saveCheckpoint: [name, number],
    delete: [name],
    redact: [
      name,
      count,
      some(
        fc.record({
          seq: number,
          event: words.map((content) => ({ type: "text_complete", content })),
        }),
      ),
      event,
    ],
  },
  sessions: {
    save: [snapshot, maybe(held)],
    load: [name],
    list: [
      fc.record(
        {
          limit: number,
          offset: count,
          labels: fc.dictionary(name, words, { maxKeys: 1 }),
          includeArchived: fc.boolean(),
          archivedBefore: time,
          idPrefix: name,
          source: fc.record(
            { agent: name, project: name, branch: name, own: fc.boolean() },
            { requiredKeys: ["own"] },
          ),
        },
        { requiredKeys: [] },
      ),
    ],
    delete: [name],
    sources: [some(name)],
    withSource: [
      fc.record({ agent: name, project: name, own: fc.boolean() }, { requiredKeys: ["own"] }),
      fc.boolean(),
    ],
    acquire: [name, owner, number],
    renew: [name, owner, number],
    release: [name, owner],
    saveAndRelease: [snapshot, held],
    askToStop: [name],
    askedToStop: [owner],
    leases: [number],
  },
  memory: {
    add: [some(entry)],
    search: [
      fc.record(
        {
          query: words,
          limit: count,
          sessionId: name,
          role: name,
          kind,
          minScore: number,
          neighbours: number,
          ...span,
        },
        { requiredKeys: ["query", "limit"] },
      ),
    ],
    read: [some(name)],
    list: [
      fc.record(
        { limit: number, after: name, sessionId: name, ...span },
        { requiredKeys: ["limit"] },
      ),
    ],
    mark: [name, fc.record({ pinned: fc.constant(true) }, { requiredKeys: [] })],
    delete: [
      fc.oneof(
        some(name).map((ids) => ({ ids })),
        name.map((sessionId) => ({ sessionId })),
      ),
    ],
  },
  approvals: {
    add: [some(approval)],
    replace: [some(approval)],
    list: [fc.record({ sessionId: name }, { requiredKeys: [] })],
    answer: [name, name, fc.constant({ decision: "allow" })],
    answers: [some(name)],
    remove: [
      fc.oneof(
        some(name).map((approvalIds) => ({ approvalIds })),
        name.map((sessionId) => ({ sessionId })),
      ),
    ],
  },
  knowledge: {
    record: [fc.record({ from: count, to: count, entries: some(learned), limits })],
    add: [some(learned), limits],
    list: [fc.record({ limit: number, after: name, tag: name }, { requiredKeys: ["limit"] })],
    read: [some(name)],
    edit: [name, fc.record({ content: words, keys: some(name) }, { requiredKeys: [] })],
    forget: [some(name)],
    deleteSession: [name],
    markUsed: [some(name), moment],
    unheard: [number],
    saveRules: [number, some(learned)],
  },
  forgotten: {
    add: [name, some(words)],
    has: [name, some(words)],
    restore: [some(name)],
  },
  imports: {
    known: [some(name)],
    commit: [
      some(
        fc
          .record({
            sessionId: name,
            lastSeq: count,
            events: some(event),
            snapshot,
            ids: some(name),
          })
          .map((batch) => ({ ...batch, snapshot: { ...batch.snapshot, id: batch.sessionId } })),
      ),
      fc.dictionary(name, file, { maxKeys: 2 }).map((files) => new Map(Object.entries(files))),
    ],
    files: [],
    restore: [some(fc.constantFrom("00", "0123456789abcdef0123456789abcdef"))],
  },
};

const call: fc.Arbitrary<Call> = fc.oneof(
  ...Object.entries(METHODS).flatMap(([store, methods]) =>
    Object.entries(methods).map(([method, args]) =>
      fc.tuple(...args).map((args): Call => ({ store, method, args })),
    ),
  ),
);

/** What each may say in its own way: how long a lease is left, and where an import is in the log. */
const OWN_FIELD = "leftMs";
const OWN_ANSWER = "imports.commit";

const LONG_NAME = noise(9000, 1);
const SNAPSHOT = new SessionState("s").snapshot();
const OWNER = { id: "o", host: "h", pid: 1 };
const ADDED = { event_id: "e", timestamp_ms: 1, event: SAID };
const ENTRY = { id: "e", content: "A heron", sessionId: "s", turn: null, kind: "message" };
const APPROVAL = {
  approvalId: "a",
  sessionId: "s",
  toolUseId: "t",
  tool: "t",
  goal: "",
  requestedAt: "2026-01-01T00:00:00Z",
};
const LEARNED = {
  id: "k",
  kind: "fact",
  content: "A heron",
  tags: [],
  origin: "user",
  time: "2026-01-01T00:00:00Z",
  keys: ["k"],
};
const LIMITS = { max: { fact: 9, correction: 9, preference: 9, rule: 9 }, eviction: "fifo" };
const FILE = { agent: "a", stamp: "s", sessions: 1, messages: 1 };
const BATCH = { sessionId: "s", lastSeq: 0, events: [ADDED], snapshot: SNAPSHOT, ids: [] };

const calls = (store: string, method: string, ...each: readonly (readonly unknown[])[]) =>
  each.map((args): Call => ({ store, method, args }));

/** One wrong value in each. */
const REFUSED: readonly Call[] = [
  ...calls(
    "events",
    "append",
    [LONG_NAME, 0, [ADDED]],
    ["s", 2 ** 31, [ADDED]],
    ["s", 0, [{ ...ADDED, timestamp_ms: 0.5 }]],
    ["s", 0, [{ ...ADDED, timestamp_ms: 8.64e15 + 2 }]],
    ["s", 0, [ADDED], { key: LONG_NAME, owner: OWNER }],
  ),
  ...calls(
    "events",
    "redact",
    ["s", 2 ** 31, [], ADDED],
    ["s", 0, [{ seq: 2 ** 53 - 1, event: SAID }], ADDED],
  ),
  ...calls("events", "saveCheckpoint", [LONG_NAME, 1], ["p", 2 ** 53]),
  ...calls(
    "sessions",
    "save",
    [{ ...SNAPSHOT, id: LONG_NAME }],
    [{ ...SNAPSHOT, seq: 2 ** 31 }],
    [{ ...SNAPSHOT, seq: -1 }],
    [{ ...SNAPSHOT, updated_at_ms: 0.5 }],
  ),
  ...calls(
    "sessions",
    "acquire",
    [LONG_NAME, OWNER, 1000],
    ["k", OWNER, 2 ** 53 - 1],
    ["k", { ...OWNER, pid: 0.5 }, 1000],
  ),
  ...calls("sessions", "list", [{ archivedBefore: 1e300 }]),
  ...calls(
    "memory",
    "add",
    ...["id", "sessionId", "role", "speaker"].map((field) => [[{ ...ENTRY, [field]: LONG_NAME }]]),
  ),
  ...calls(
    "approvals",
    "add",
    ...["approvalId", "sessionId"].map((field) => [[{ ...APPROVAL, [field]: LONG_NAME }]]),
  ),
  ...calls(
    "knowledge",
    "add",
    ...["id", "sessionId"].map((field) => [[{ ...LEARNED, [field]: LONG_NAME }], LIMITS]),
    [[{ ...LEARNED, keys: [LONG_NAME] }], LIMITS],
  ),
  ...calls("forgotten", "restore", [[LONG_NAME]]),
  ...calls(
    "imports",
    "commit",
    [[BATCH, { ...BATCH, lastSeq: 1 }]],
    [[{ ...BATCH, lastSeq: 2 ** 31 }]],
    [[], new Map([[LONG_NAME, FILE]])],
  ),
];

describe.skipIf(!hasPostgres)("SQLite and PostgreSQL", NEEDS_POSTGRES, () => {
  test("take names of any characters up to their length, beside the longest names of a namespace and a user", async () => {
    const folder = await temporaryFolder();
    const access = await postgresAccess();
    const namespace = `${process.pid} `.padEnd(200, "日本国");
    for (const all of [
      sqliteStores({ path: join(folder, "rkat.db"), namespace }),
      postgresStores({ ...access, namespace }),
    ]) {
      onTestFinished(() => all.close());
      const stores = all.forUser("龍".repeat(200));
      const [id, key] = [noise(700, 1), noise(1400, 2)];
      const added = { event_id: "e", timestamp_ms: 1, event: SAID };
      assert.equal(await stores.events.append(id, 0, [added]), 1);
      await stores.events.saveCheckpoint(key, 5);
      const source = {
        agent: noise(255, 3),
        native_id: "n",
        project: noise(4096, 4),
        branch: noise(4096, 5),
      };
      const made = new SessionState(id).snapshot();
      await stores.sessions.save({ ...made, settings: { ...made.settings, source } });
      const { agent, project, branch } = source;
      const found = await stores.sessions.list({ source: { agent, project, branch, own: false } });
      assert.deepEqual(
        found.map((snapshot) => snapshot.id),
        [id],
      );
      assert.equal(await stores.sessions.acquire(key, { id: "o", host: "h", pid: 1 }, 1000), true);
      const entry = {
        id: key,
        content: "A heron waits.",
        sessionId: noise(1400, 6),
        turn: null,
        role: noise(1400, 7),
        speaker: noise(1400, 8),
        kind: "message",
      } as const;
      assert.equal(await stores.memory.add([entry]), 1);
      assert.equal((await stores.memory.search({ query: "heron", limit: 1 }))[0]?.id, key);
      await stores.imports.commit(
        [],
        new Map([[key, { agent: "a", stamp: "s", sessions: 1, messages: 1 }]]),
      );
      assert.deepEqual([...(await stores.imports.files()).keys()], [key]);
    }
    for (const wrong of ["", "a".repeat(201), "a\nb"]) {
      const error = { code: "INVALID_PARAMS" };
      assert.throws(
        () => sqliteStores({ path: join(folder, "other.db"), namespace: wrong }),
        error,
      );
      assert.throws(() => postgresStores({ ...access, namespace: wrong }), error);
    }
  });

  test("refuse what one of them could not keep, with one sentence and before anything is written", async () => {
    const folder = await temporaryFolder();
    const namespace = `refused ${process.pid}`;
    const both = [
      sqliteStores({ path: join(folder, "rkat.db"), namespace }),
      postgresStores({ ...(await postgresAccess()), namespace }),
    ];
    for (const stores of both) {
      onTestFinished(() => stores.close());
      for (const call of REFUSED) {
        const name = `${call.store}.${call.method} ${JSON.stringify(call.args).slice(0, 80)}`;
        assert.deepEqual(await outcome(stores, call), { code: "INVALID_PARAMS" }, name);
      }
      assert.deepEqual(await stores.users(), []);
      assert.deepEqual(await stores.sessions.list({ includeArchived: true }), []);
      assert.equal((await stores.memory.stats()).entries, 0);
    }
  });

  // Takes over two seconds: each trial opens both stores.
  test("give the same answer, or the same error, whatever is asked of them", async () => {
    const folder = await temporaryFolder();
    const access = await postgresAccess();
    let run = 0;
    const property = fc.asyncProperty(
      fc.array(call, { minLength: 1, maxLength: 25 }),
      async (calls) => {
        const namespace = `same answers ${process.pid} ${++run}`;
        const one = sqliteStores({ path: join(folder, "rkat.db"), namespace });
        const other = postgresStores({ ...access, namespace });
        try {
          for (const call of calls) {
            const [expected, found] = [await outcome(one, call), await outcome(other, call)];
            assert.deepEqual(found, expected, `${call.store}.${call.method}`);
          }
        } finally {
          await one.close();
          await other.close();
        }
      },
    );
    await fc.assert(property, { numRuns: trials(60, 1000) });
  }, 3_600_000);
});

async function outcome(stores: SqliteStores | PostgresStores, { store, method, args }: Call) {
  const methods = stores[store as "events"] as unknown as Record<
    string,
    (...args: readonly unknown[]) => unknown
  >;
  try {
    const answer = methods[method]?.(...args);
    const isMany = method === "read" && store === "events";
    const value = isMany ? await Array.fromAsync(answer as AsyncIterable<unknown>) : await answer;
    return { value: `${store}.${method}` === OWN_ANSWER ? undefined : plain(value) };
  } catch (error) {
    if (!SessionError.is(error)) throw error;
    assert.notEqual(error.code, "SESSION_STORE_ERROR", `${store}.${method}: ${error.message}`);
    return { code: error.code };
  }
}

function plain(value: unknown): unknown {
  if (value instanceof Map) return plain([...value]);
  const others = (key: string, each: unknown) => (key === OWN_FIELD ? undefined : each);
  return JSON.parse(JSON.stringify(value ?? null, others));
}
