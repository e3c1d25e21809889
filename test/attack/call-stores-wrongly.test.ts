import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HnswMemoryStore } from "../../src/hnsw.ts";
import { createHistoryWindow, createSessionService, ephemeralStores } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { type Stores, sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { changed } from "../support/changed-value.ts";
import { messageView } from "../support/message-view.ts";
import { temporaryFolder } from "../support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace } from "../support/postgres.ts";
import { overJsonRpc } from "../support/surfaces.ts";
import { trials } from "../support/trials.ts";

// What a caller gives a store in a wrong shape is refused by name, and nothing of it is stored: a misspelt filter of a
// deletion would delete everything, and what cannot be read again would stop what reads all.

const TIME = "2026-03-01T10:00:00.000Z";
const OWNER = { id: "me", host: "here", pid: 1 };
const told = {
  event_id: "e",
  timestamp_ms: 1,
  event: { type: "session_archived", session_id: "s" },
};
const SNAPSHOT = {
  version: 1,
  id: "s",
  seq: 1,
  created_at_ms: 1,
  updated_at_ms: 1,
  archived: false,
  running: false,
  settings: { model: "m", labels: {}, max_tokens: null, system_prompt: null, builtin_tools: true },
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_tokens: null,
    cache_read_tokens: null,
  },
  model_calls: 0,
  last_compaction_call: null,
  compactions: 0,
  last_input_tokens: 0,
  turns: 0,
  message_count: 0,
  last_assistant_text: null,
  history_tokens: 0,
  history: [],
  summary: null,
  pruned: [],
};
const ENTRY = {
  id: "a",
  content: "An otter.",
  sessionId: "s",
  turn: null,
  kind: "message",
  time: TIME,
};
const APPROVAL = {
  approvalId: "a",
  sessionId: "s",
  toolUseId: "t",
  tool: "refund",
  args: { cents: 5 },
  goal: "Pay.",
  requestedAt: TIME,
  mayAnswer: ["user"],
};
const LEARNED = {
  id: "k",
  kind: "preference",
  content: "Use pnpm.",
  tags: [],
  origin: "user",
  time: TIME,
  keys: ["h"],
  likeness: { bands: ["b"], signature: [1] },
};
const { keys: _, likeness: __, ...known } = LEARNED;
const KNOWN = { ...known, lastTime: TIME, count: 1, pinned: false, edited: false };
const MAX = { fact: 5, correction: 5, preference: 5, rule: 5 };
const LIMITS = { max: MAX, eviction: "fifo" };
const SAID = { since: "2026-01-01", until: "2026-02-01", sessions: { only: ["s"] } };
const FILE = { agent: "codex", stamp: "1", sessions: 1, messages: 1 };
const controller = new AbortController();
const WATCH = { signal: controller.signal, onProgress: () => {} };

type Methods = Readonly<Record<string, readonly unknown[]>>;

/** Each method of each store, with arguments that it takes. */
const METHODS: Readonly<Record<string, Methods>> = {
  events: {
    append: ["s", 0, [told], { key: "k", owner: OWNER }],
    lastSeq: ["s"],
    read: ["s", 0, 5],
    readKinds: ["s", ["compaction_completed"], { afterSeq: 0, toSeq: 10, limit: 5 }],
    turnsAt: ["s", 1],
    readAll: [0, 10],
    backlog: [0],
    endings: [[{ sessionId: "s", seq: 0 }]],
    search: [{ query: "otter", limit: 5, sessionId: "s", fromTurn: 0, toTurn: 5, ...SAID }],
    checkpoint: ["p"],
    saveCheckpoint: ["p", 1],
    delete: ["s"],
    redact: ["s", 0, [{ seq: 1, event: told.event }], told],
    repair: [],
    isIn: [],
    watch: ["s", () => {}],
  },
  sessions: {
    save: [SNAPSHOT],
    load: ["s"],
    list: [{ limit: 5, offset: 0, labels: { a: "b" }, includeArchived: true, idPrefix: "s" }],
    delete: ["s"],
    sources: [["s"]],
    withSource: [{ own: true }, true],
    acquire: ["k", OWNER, 1000],
    renew: ["k", OWNER, 1000],
    release: ["k", OWNER],
    saveAndRelease: [SNAPSHOT, { key: "k", owner: OWNER }],
    askToStop: ["k"],
    askedToStop: [OWNER],
    leases: [5],
    damaged: [],
  },
  memory: {
    add: [[{ ...ENTRY, role: "user", speaker: "Ada", source: { from: 1, to: 2 } }]],
    search: [
      {
        query: ["otter"],
        limit: 5,
        sessionId: "s",
        role: "user",
        kind: "message",
        ...SAID,
        minScore: 0,
        bestMatch: 0,
        neighbours: 1,
        neighboursMatch: 0,
        explain: true,
      },
    ],
    read: [["a"]],
    list: [{ limit: 5, after: "a", ...SAID }],
    stats: [{ sessionId: "s" }],
    mark: ["a", { pinned: true, earlier: [{ id: "b", content: "An eel.", until: TIME }] }],
    delete: [{ ids: ["a"] }],
    verify: [WATCH],
    reindex: [WATCH],
    finishMerging: [],
    finishEmbedding: [],
    inNamespace: [],
  },
  approvals: {
    add: [[APPROVAL]],
    replace: [[APPROVAL]],
    list: [{ sessionId: "s" }],
    answer: ["a", "s", { decision: "deny", reason: "No.", by: "user" }],
    answers: [["a"]],
    remove: [{ approvalIds: ["a"] }],
  },
  knowledge: {
    position: [],
    record: [{ from: 0, to: 1, entries: [LEARNED], limits: LIMITS }],
    add: [[LEARNED], LIMITS],
    list: [{ kind: "fact", pinned: true, tag: "t", query: "pnpm", limit: 5, after: "k" }],
    read: [["k"]],
    edit: ["k", { content: "Use npm.", tags: ["t"], pinned: true, keys: ["h"] }],
    forget: [["k"]],
    deleteSession: ["s"],
    markUsed: [["k"], TIME],
    counts: [],
    revision: [],
    saveRules: [0, [{ ...LEARNED, kind: "rule", sources: ["k"] }]],
    unheard: [5],
    heard: [{ changed: [{ entry: KNOWN, version: 1 }], gone: ["k"] }],
    copy: [],
    restore: [{ position: 0, entries: [{ entry: KNOWN, keys: ["h"] }], forgotten: [] }],
  },
  forgotten: { add: ["s", ["text"]], has: ["s", ["text"]], copy: [], restore: [["mark"]] },
  imports: {
    known: [["i"]],
    commit: [
      [{ sessionId: "s", lastSeq: 0, events: [told], snapshot: SNAPSHOT, ids: ["i"] }],
      new Map([["/f", FILE]]),
    ],
    files: [],
    keys: ["", 5],
    restore: [["0123456789abcdef0123456789abcdef"]],
  },
};

/** The stores, and those that are reached from them. PostgreSQL has the code of SQLite there. */
function storesIn(stores: Stores, name: string): readonly (readonly [string, object, Methods])[] {
  const own = Object.entries(METHODS).map(
    ([of, rows]) => [of, Reflect.get(stores, of) as object, rows] as const,
  );
  const { trash } = stores;
  const { events = {}, sessions = {} } = METHODS;
  if (!trash || name === "postgres") return own;
  return [
    ...own,
    ["trash.events", trash.events, events],
    ["trash.sessions", trash.sessions, sessions],
    ["a user's events", stores.forUser("ada").events, events],
  ];
}

const PATH = fc.array(fc.nat(6), { minLength: 1, maxLength: 6 });
const CHANGE = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, [null], -1, "", Number.NaN, 2n, () => {}, {}),
  fc.anything({ withBigInt: true, withNullPrototype: true }),
);

/** Answers to arguments of the right shape: the log has grown, the id is known, a signal had been aborted. */
const ANSWERS = /^(?:INVALID_PARAMS|SESSION_CONFLICT)$/;
const OF_WINDOWS = /^(?:INVALID_PARAMS|PROMPT_EXCEEDS_THRESHOLD)$/;
const OF_ALL = ["close"];

/** The stores of both databases take their arguments in the same way. */
const RUNS: Readonly<Record<string, number>> = { ephemeral: 30, sqlite: 3, postgres: 1, hnsw: 3 };

const OPENERS: Readonly<Record<string, () => Promise<Stores>>> = {
  ephemeral: async () => ephemeralStores(),
  sqlite: async () => sqliteStores({ path: join(await temporaryFolder(), "rkat.db") }),
  postgres: async () => postgresStores(await postgresPlace()),
  hnsw: async () => {
    const stores = ephemeralStores();
    return { ...stores, memory: new HnswMemoryStore({ entries: stores.memory }) };
  },
};

/** The names of all methods of a store, those of its class too. */
function methodsOf(store: object): readonly string[] {
  const names = new Set<string>();
  for (let at = store; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === "function" && name !== "constructor") names.add(name);
    }
  }
  return [...names].filter((name) => !OF_ALL.includes(name));
}

async function ended(value: unknown): Promise<void> {
  const iterable = value as { readonly [Symbol.asyncIterator]?: unknown } | undefined;
  if (typeof iterable?.[Symbol.asyncIterator] === "function") {
    await Array.fromAsync(value as AsyncIterable<unknown>);
  }
  await value;
  if (typeof value === "function") value();
}

/** All that the stores have. It throws when something cannot be read again. */
async function contentsOf({
  events,
  sessions,
  memory,
  approvals,
  knowledge,
  imports,
  trash,
}: Stores) {
  return [
    await events.readAll(0, 1000),
    await sessions.list({ includeArchived: true }),
    await memory.list({ limit: 1000 }),
    await approvals.list({}),
    await approvals.answers(["a"]),
    await knowledge.list({ limit: 1000 }),
    await imports.files(),
    await trash?.events.readAll(0, 1000),
    await trash?.sessions.list({ includeArchived: true }),
  ];
}

describe.each(Object.keys(OPENERS))("of %s stores", (name) => {
  const needs = name === "postgres" ? NEEDS_POSTGRES : {};
  const isThere = name !== "postgres" || hasPostgres;

  test.skipIf(!isThere)(
    "each method takes its arguments, and refuses what is not right in them with INVALID_PARAMS only, storing nothing",
    needs,
    async () => {
      const stores = await OPENERS[name]?.();
      if (!stores) return expect.fail();
      for (const [of, found, rows] of storesIn(stores, name)) {
        const store = found as Readonly<Record<string, unknown>>;
        expect(methodsOf(store).filter((method) => !Object.hasOwn(rows, method))).toEqual([]);
        for (const [method, taken] of Object.entries(rows)) {
          if (typeof store[method] !== "function" || taken.length === 0) continue;
          const call = async (args: readonly unknown[]) =>
            await ended(Reflect.apply(store[method] as () => unknown, store, args));
          await call(taken).catch((error) => {
            expect(error, `${of}.${method}`).toMatchObject({ code: "SESSION_CONFLICT" });
          });
          let before: unknown;
          await fc.assert(
            fc.asyncProperty(PATH, CHANGE, async (path, other) => {
              const args = changed(taken, path, other) as readonly unknown[];
              before ??= await contentsOf(stores);
              let error: unknown;
              await call(args).catch((thrown) => {
                error = thrown;
              });
              const after = await contentsOf(stores);
              const code = expect.stringMatching(ANSWERS);
              if (error !== undefined) {
                expect(error, `${of}.${method}`).toMatchObject({ code });
                expect(after, `${of}.${method}`).toEqual(before);
              }
              before = after;
            }),
            { numRuns: trials(Math.ceil((RUNS[name] ?? 0) / 3), 10 * (RUNS[name] ?? 0)) },
          );
        }
      }
      await stores.close();
    },
  );
});

test.each([null, undefined, 5, {}, [], "", "a\nb", "x".repeat(300)])(
  "the stores of the user %s are refused with INVALID_PARAMS",
  async (user) => {
    for (const stores of [
      ephemeralStores(),
      sqliteStores({ path: join(await temporaryFolder(), "rkat.db") }),
    ]) {
      const opened = async () => stores.forUser(user as never);
      await expect(opened()).rejects.toMatchObject({ code: "INVALID_PARAMS" });
      await stores.close();
    }
  },
);

test("a window takes the arguments of a call, and refuses what is not right in them with INVALID_PARAMS only", async () => {
  const window = createHistoryWindow({
    view: messageView,
    summarize: "fallback",
    contextWindow: 10_000,
  });
  const taken = [
    [{ role: "user", content: "Where is the otter?" }],
    {
      lastInputTokens: 5,
      otherTokens: 5,
      outgrown: false,
      force: false,
      signal: controller.signal,
    },
  ];
  expect(methodsOf(window)).toEqual(["apply"]);
  expect((await window.apply(...(taken as [[], object]))).outcome).toBe("unchanged");
  const refused: string[] = [];
  await fc.assert(
    fc.asyncProperty(PATH, CHANGE, async (path, other) => {
      const args = changed(taken, path, other) as [[], object];
      await window.apply(...args).catch((error) => {
        expect(error).toMatchObject({ code: expect.stringMatching(OF_WINDOWS) });
        refused.push(error.message);
      });
    }),
    { numRuns: trials(200, 3_000) },
  );
  expect(refused.join()).toContain("The options of apply() are not valid. ");
  const options = { lastInputTokns: 5 } as never;
  await expect(window.apply([], options)).rejects.toThrow("Did you mean lastInputTokens?");
});

test("what goes with a request of a service or a client is refused by name before anything is done", async () => {
  const model = scriptedModel(() => "Hello.");
  const service = createSessionService({ model, stores: ephemeralStores() });
  const client = overJsonRpc({ service, close: () => service.close() });
  for (const asked of [service, client]) {
    const { sessionId } = await asked.createSession({});
    for (const [options, told] of [
      [null, "it has to be an object, and is null"],
      [{ onEvents: () => {} }, "Did you mean onEvent?"],
      [{ onEvent: "yes" }, "onEvent: it has to be a function"],
      [{ signal: { aborted: false } }, "signal: it has to be the signal of an AbortController"],
    ] as const) {
      const turn = asked.startTurn({ sessionId, prompt: "Hello." }, options as never);
      await expect(turn).rejects.toMatchObject({
        code: "INVALID_PARAMS",
        message: expect.stringContaining(told),
      });
    }
    const watched = asked.subscribe({ sessionId }, { signals: controller.signal } as never);
    const first = watched[Symbol.asyncIterator]().next();
    await expect(first).rejects.toMatchObject({ code: "INVALID_PARAMS" });
    expect((await asked.read({ sessionId })).turns).toBe(0);
  }
});
