import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { SessionError } from "../../src/core/errors.ts";
import type { SessionStore } from "../../src/core/session-store.ts";
import { createSessionService } from "../../src/index.ts";
import { postgresStores } from "../../src/postgres.ts";
import { LiveSessions } from "../../src/session/live-sessions.ts";
import { ephemeralStores } from "../../src/stores/ephemeral/ephemeral-stores.ts";
import { openPool } from "../../src/stores/postgres/postgres-pool.ts";
import { scriptedModel } from "../../src/testing.ts";
import { askServer } from "../support/ask-server.ts";
import { type Answer, type Lies, lyingPostgres } from "../support/lying-postgres.ts";
import { Project } from "../support/rkat-process.ts";
import { LONG, sampled } from "../support/trials.ts";

const PASSWORD = "hunter22-of-mine";
const ESCAPES = "\u001b]0;yours\u0007\u001b[2J\u202e";

const addressOf = (port: number, query = "") =>
  `postgres://me:${PASSWORD}@127.0.0.1:${port}/mine${query}`;

/** The tables are there; then the lie. */
const afterStart = (answer: Answer) => (sql: string) =>
  sql.includes("max(usable_from)") ? undefined : answer;

/** The question at the start, whether the tables are there, has the last of them too. */
const asksForEvents = (sql: string) => sql.includes(".event") && !sql.includes("max(usable_from)");

const message = (type: string, body: string, length = body.length + 4) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(body, "latin1")]);
};

/** What reading the sessions of this server ends with. */
async function failureOf(lies: Lies, query = "") {
  const server = await lyingPostgres(lies);
  const place = { connectionString: addressOf(server.port, query), answerMs: 300, retryMs: 300 };
  const stores = postgresStores(place);
  try {
    const value = await Promise.all([
      stores.sessions.list({}),
      Array.fromAsync(stores.events.read("x", 0)),
    ]);
    return { value, server };
  } catch (error) {
    if (!SessionError.is(error)) throw error;
    expect(JSON.stringify([error.message, error.hint, String(error.cause)])).not.toContain(
      PASSWORD,
    );
    return { error, server };
  } finally {
    await stores.close();
  }
}

describe("a server that breaks the protocol fails the statement, and nothing else", () => {
  test.each<readonly [string, Buffer, RegExp]>([
    ["a web server", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), /PostgreSQL|connection/],
    ["a message without a length", message("D", "", 0), /protocol \(a message of 0 bytes/],
    ["a message of a negative length", message("D", "", 0xffff_ffff), /protocol/],
    ["a message of 2 GB", message("D", "", 0x7fff_ffff), /more than 256 MB/],
    ["an unknown message", message("\u0001", "x"), /protocol/],
    // `pg` throws at these where nothing catches it, or reads on for ever.
    ["a row of a negative number of columns", message("D", "\u00ff\u00fb"), /protocol/],
    ["a row that ends early", message("D", "\u0000\u0009\u0000"), /protocol/],
    ["an error without an end", message("E", "SERROR"), /an error without an end/],
    ["an error whose end is short", message("E", "SERROR\0"), /an error without an end/],
    ["a notice without an end", message("N", "M"), /an error without an end/],
    ["an unknown way of login", message("R", "\0\0\0c"), /protocol/],
    ["half of an answer", message("T", "\0", 99), /lost the connection/],
  ])("%s", async (_, bytes, said) => {
    for (const then of ["cut", "wait"] as const) {
      const { error } = await failureOf({ answer: () => ({ bytes, then }) });
      expect(error?.message).toMatch(then === "cut" ? said : new RegExp(`${said.source}|in time`));
      expect(error?.code).toBe("SESSION_STORE_ERROR");
    }
  });
});

test("rows without an end stop at a bound, large or small", async () => {
  for (const row of [{ snapshot: "x".repeat(100_000) }, { x: "" }]) {
    const server = await lyingPostgres({ answer: () => ({ endless: row }) });
    const pool = await openPool(addressOf(server.port), 20_000_000);
    await expect(pool.query({ text: "select 1" })).rejects.toThrow("more than 20 MB");
    await pool.end();
    expect(server.told()).toBeLessThan(40_000_000);
  }
});

test.each<readonly [string, Lies, RegExp]>([
  ["at the login", { login: { error: `no, ${PASSWORD}`, code: "28P01" } }, /no, \*\*\*/],
  ["to a statement", { answer: () => ({ error: `${PASSWORD} is bad` }) }, /\*\*\* is bad/],
])("a password that the server repeats %s is not passed on", async (_, lies, said) => {
  expect((await failureOf(lies)).error?.message).toMatch(said);
});

test.each(["require", "verify-full", "verify-ca", "prefer"])(
  "with sslmode=%s, nothing is sent to a server without TLS",
  async (mode) => {
    const { error, server } = await failureOf({ login: "cleartext" }, `?sslmode=${mode}`);
    expect(error?.message).toMatch(/has no TLS, which its address asks for/);
    expect(server.heard()).not.toContain("me\0");
    expect(server.heard()).not.toContain(PASSWORD);
  },
);

test("wrong rows are refused, or read as harmless text", async () => {
  const settings = { model: "x", memory: true, labels: {} };
  const good = {
    ...{ version: 1, id: "a", seq: 1, created_at_ms: 1, updated_at_ms: 1, settings },
    ...{ archived: false, turns: 1, message_count: 1, compactions: 0, last_assistant_text: null },
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  for (const snapshot of ["{", "null", "[]", '"x"', "{}", { ...good, id: 7 }].concat([
    { ...good, created_at_ms: 1e300 },
    { ...good, settings: null },
    { ...good, usage: null },
  ] as never[])) {
    const row = { snapshot: typeof snapshot === "string" ? snapshot : JSON.stringify(snapshot) };
    const answer = (sql: string) => (sql.includes(".snapshot") ? { rows: [row] } : undefined);
    expect((await failureOf({ answer })).error?.message).toMatch(
      /snapshot of session \S+ has changed/,
    );
  }
  const event = JSON.stringify({ type: "turn_started", prompt: "x" });
  for (const row of [
    { seq: -1, event_id: "x", timestamp_ms: 1, event, more: false },
    { seq: "NaN", event_id: "x", timestamp_ms: 1, event, more: false },
    { seq: 1, event_id: "x", timestamp_ms: "9e99", event, more: false },
    { seq: 1, event_id: "x", timestamp_ms: 1, event: "[]", more: false },
    { nothing: 1 },
  ]) {
    const answer = (sql: string) => (asksForEvents(sql) ? { rows: [row] } : undefined);
    expect((await failureOf({ answer })).error?.message).toMatch(/has changed since it was stored/);
  }
  const answer = (sql: string) =>
    sql.includes(".snapshot")
      ? {
          rows: ["__proto__", "constructor", "../../x", ESCAPES].map((id) => ({
            snapshot: JSON.stringify({ ...good, id }),
          })),
        }
      : undefined;
  expect((await failureOf({ answer })).value).toBeDefined();
  expect(Object.keys({})).toEqual([]);
});

test("the same page again and again ends the reading", async () => {
  const event = JSON.stringify({ type: "turn_started", prompt: "x" });
  const row = { seq: 1, event_id: "x", timestamp_ms: 1, event, more: true };
  const answer = (sql: string) => (asksForEvents(sql) ? { rows: [row] } : undefined);
  expect((await failureOf({ answer })).error?.message).toMatch(/in another order/);
  const server = await lyingPostgres({
    answer: (sql) =>
      asksForEvents(sql)
        ? { rows: [{ ...row, position: 1, session_id: "x", turns: 1 }] }
        : undefined,
  });
  const stores = postgresStores({ connectionString: addressOf(server.port) });
  await expect(stores.events.readAll(1, 10)).rejects.toThrow(/in another order/);
  await stores.close();
});

test("the same results again and again end a search", async () => {
  const event = JSON.stringify({ type: "turn_started", turn_number: 0 });
  const row = { session_id: "s", seq: 1, turns: 1, timestamp_ms: 1, event_id: "x", event };
  const server = await lyingPostgres({
    answer: (sql, values) =>
      sql.includes("tsquery")
        ? { rows: Array(Number(values[8])).fill({ ...row, before: null }) }
        : undefined,
  });
  const stores = postgresStores({ connectionString: addressOf(server.port) });
  expect(await stores.events.search({ query: "words", limit: 5 })).toEqual([]);
  await stores.close();
});

test("a snapshot of another session, or of nonsense, is not believed: the log is the truth", async () => {
  const stores = ephemeralStores();
  const service = createSessionService({ model: scriptedModel(["Fine."]), stores });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "hi" });
  await service.close();
  const snapshot = await stores.sessions.load(sessionId);
  const open = async (more: object) => {
    const sessions = { load: async () => ({ ...snapshot, ...more }) } as unknown as SessionStore;
    return (await new LiveSessions({ events: stores.events, sessions }).open(sessionId)).state;
  };
  const { messages } = await open({});
  expect(messages.length).toBeGreaterThan(1);
  const other = { id: "other" };
  for (const wrong of [other, { history: 7 }, { history: [null] }, { pruned: null }]) {
    const state = await open(wrong);
    expect([state.id, state.messages]).toEqual([sessionId, messages]);
  }
});

describe("the command", () => {
  const id = (name: string) => ({
    snapshot: JSON.stringify({
      ...{ version: 1, id: name, seq: 0, created_at_ms: 1, updated_at_ms: 1, archived: false },
      ...{ settings: { model: ESCAPES, memory: true, labels: { [ESCAPES]: ESCAPES } }, turns: 1 },
      ...{ message_count: 1, last_assistant_text: ESCAPES, history: [], pruned: [] },
      ...{
        running: false,
        model_calls: 0,
        last_compaction_call: null,
        compactions: 0,
        summary: null,
      },
      ...{ last_input_tokens: 0, history_tokens: 0, usage: { input_tokens: 0, output_tokens: 0 } },
    }),
  });
  const rows = ["../../../victim", "__proto__", ESCAPES, "x".repeat(100_000)].map(id);
  const servers: Readonly<Record<string, Lies>> = {
    "escapes in an error": { answer: afterStart({ error: `${ESCAPES} ${PASSWORD}` }) },
    "escapes in a refused login": { login: { error: `${ESCAPES} ${PASSWORD}`, code: "28P01" } },
    "escapes in numbers": {
      answer: () => ({ rows: [{ version: ESCAPES, usable: "9", isFollowed: true }] }),
    },
    "hostile sessions": {
      answer: (sql) => (/^\s*select snapshot /.test(sql) ? { rows } : undefined),
    },
  };
  const some = sampled(Object.entries(servers), { of: 2, at: 1 }, "attacks");
  test.each(some)("%s: nothing is drawn, told or written", async (_, lies) => {
    const server = await lyingPostgres(lies);
    const project = await Project.open();
    const address = addressOf(server.port);
    const env = { RKAT_STORE: address };
    const before = globSync("**", { cwd: dirname(project.folder) });
    for (const [args, variables] of [
      [["sessions", "list"], env],
      [["--store", address, "sessions", "show", "last"], {}],
      [["doctor"], env],
      [["move", "--from", address, "--to", "copy.db"], {}],
      [["memory", "search", "x"], env],
    ] as const) {
      const { code, stdout, stderr } = await project.rkat(args, "", variables);
      const said = stdout + stderr;
      expect(code, said).not.toBeNull();
      expect(said).not.toMatch(/(?![\n\t])\p{Cc}|\u202e/u);
      expect(said).not.toContain(PASSWORD);
      expect(said).not.toContain("This is a bug");
    }
    expect(existsSync(`${project.folder}/../../../victim`)).toBe(false);
    const made = globSync("**", { cwd: dirname(project.folder) }).filter(
      (path) => !before.includes(path),
    );
    expect(made.filter((path) => !/^(project|\.config|\.rkat)\b/.test(path))).toEqual([]);
  });
});

describe("a server, and a move", () => {
  const rowsOf = (row: Readonly<Record<string, string | number | boolean | null>>): Lies => ({
    answer: afterStart({ rows: [row] }),
  });
  const nothing = {
    ...{ seq: null, event: null, position: null, snapshot: null, number: null, id: null },
    ...{ entry: null, approval: null, fields: null, part: null, count: null, more: null },
  };
  const strange = Object.fromEntries(Object.keys(nothing).map((name) => [name, ESCAPES]));
  const servers: Readonly<Record<string, Lies>> = {
    "rows without the columns": rowsOf({ other: 1 }),
    "rows of nothing": rowsOf(nothing),
    "rows of text": rowsOf(strange),
    "rows of objects": rowsOf({ ...strange, event: "{}", snapshot: "{}", entry: "{}" }),
    "an answer of 2 GB": { answer: afterStart({ bytes: message("D", "", 0x7fff_ffff) }) },
    "half of an answer": { answer: afterStart({ bytes: message("T", "\0", 2) }) },
    "an error with the password": { answer: afterStart({ error: `${ESCAPES} ${PASSWORD}` }) },
    "tables of another version": { answer: () => ({ rows: [{ version: 99, usable: 99 }] }) },
    "no login": { login: { error: `${ESCAPES} ${PASSWORD}`, code: "28P01" } },
  };

  test.each(sampled(Object.entries(servers), { of: 9, at: 2 }, "attacks"))(
    "%s: each answer is a sentence, and both end",
    async (_, lies) => {
      const server = await lyingPostgres(lies);
      const address = addressOf(server.port);
      const project = await Project.open({ ownProcesses: true });
      const warm = await Project.open({ root: dirname(project.folder) });
      await warm.rkat(["sessions", "create", "--model", "ollama/tiny"]);
      const requireSentence = (said: string) => {
        expect(said).not.toMatch(/(?![\n\t])\p{Cc}|\u202e/u);
        expect(said).not.toContain(PASSWORD);
        expect(said).not.toMatch(/This is a bug|INTERNAL_ERROR|undefined|\[object| {4}at /);
      };
      for (const args of [
        ["--to", address],
        ["--from", address, "--to", "copy.db"],
      ]) {
        const { code, stdout, stderr } = await project.rkat(["move", ...args]);
        requireSentence(stdout + stderr);
        expect(code).toBe(1);
        expect(stderr).toMatch(/^error: The store failed\. [^\n]+\nhint: [^\n]+\n$/);
      }
      const asked = await askServer(project, { RKAT_STORE: address });
      expect(asked.code).not.toBeNull();
      for (const said of [asked.stdout, asked.stderr, ...asked.answers]) requireSentence(said);
    },
  );

  test("rows without an end cost a server and a move a bounded memory", async () => {
    const server = await lyingPostgres({ answer: afterStart({ endless: { x: "" } }) });
    const address = addressOf(server.port);
    const project = await Project.open({ ownProcesses: true });
    const move = project.start(["move", "--from", address, "--to", "copy.db"]);
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, peakBytes(move.child.pid));
    }, 20);
    const { code, stderr } = await move.ended;
    clearInterval(watch);
    expect([code, stderr]).toEqual([1, expect.stringContaining("more than 256 MB")]);
    // Each of its requests reads up to the bound.
    if (LONG) {
      await askServer(project, { RKAT_STORE: address }, (pid) => {
        peak = Math.max(peak, peakBytes(pid));
      });
    }
    expect(peak).toBeLessThan(1_500_000_000);
  }, 600_000);
});

/** The most memory that a process has held. 0 where the system does not tell. */
function peakBytes(pid: number | undefined): number {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return 0;
  return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(file, "utf8"))?.[1] ?? 0);
}
