import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { indexableText } from "../src/core/message.ts";
import { SessionState } from "../src/core/session-state.ts";
import { createSessionService } from "../src/index.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { trials } from "./support/trials.ts";
import { zipOf } from "./support/zip-of.ts";

const ID = "0f3c2b1a-1111-4222-8333-444455556666";
const OTHER = "1f3c2b1a-1111-4222-8333-444455556666";
let folder: string;
let stores: SqliteStores;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rkat-import-"));
  stores = sqliteStores({ path: ":memory:" });
});

afterEach(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const talk = (id = ID, fields: Readonly<Record<string, unknown>> = {}) =>
  new ClaudeLines(id, fields)
    .user("Why does the parser fail at umlauts?")
    .answer(`msg_${id}1`, { type: "thinking", thinking: "Perhaps the buffer.", signature: "x" })
    .text(`msg_${id}1`, "I look at the parser.")
    .call(`msg_${id}1`, `toolu_${id}a`)
    .call(`msg_${id}1`, `toolu_${id}b`)
    .result(`toolu_${id}a`, "parser.ts")
    .result(`toolu_${id}b`, "lexer.ts")
    .user("<system-reminder>Keep the todo list.</system-reminder>", { isMeta: true })
    .text(`msg_${id}2`, "The buffer was cut inside a character.")
    .user("Always run the tests with pnpm.")
    .text(`msg_${id}3`, "I will.");

function write(name: string, content: { toString(): string }): string {
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, String(content));
  return path;
}

const run = (options: Partial<Parameters<typeof importTranscripts>[0]> = {}) =>
  importTranscripts({ stores, path: folder, ...options });

/** What memory has, without ids: texts with their speakers and times. */
async function remembered(of: SqliteStores = stores) {
  const entries = await of.memory.list({ limit: 10_000 });
  return entries
    .map(({ content, role, speaker, time }) => [time, role, speaker, content].join(" | "))
    .sort();
}

async function logOf(id = `claude-code:${ID}`) {
  return await Array.fromAsync(stores.events.read(id, 0), ({ event }) => event);
}

test("what a person and the model said is found, and what the program injected is not", async () => {
  write(`${ID}.jsonl`, talk());
  const report = await run();
  expect(report).toEqual({
    sessions: 1,
    messages: 6,
    added: 6,
    alreadyThere: 0,
    skipped: [],
    unknownTypes: {},
    redacted: {},
    otherBranches: 0,
    leftOut: 0,
    stillWritten: [],
  });
  const texts = (await stores.memory.list({ limit: 100 })).map(({ content }) => content);
  expect(texts).toEqual([
    "Why does the parser fail at umlauts?",
    "I look at the parser.",
    "The buffer was cut inside a character.",
    "Always run the tests with pnpm.",
    "I will.",
  ]);
  const [session] = await stores.sessions.list({});
  expect(session).toMatchObject({
    id: `claude-code:${ID}`,
    turns: 2,
    message_count: 6,
    last_assistant_text: "I will.",
    settings: { source: { agent: "claude-code", native_id: ID, project: "/home/ada/app" } },
  });
});

test("the saved session is what its log says", async () => {
  write(`${ID}.jsonl`, talk());
  await run();
  const saved = await stores.sessions.load(`claude-code:${ID}`);
  const { SessionState } = await import("../src/core/session-state.ts");
  const state = new SessionState(`claude-code:${ID}`);
  await state.catchUp((after) => stores.events.read(state.id, after));
  const { history_tokens, ...folded } = state.snapshot();
  expect(saved).toEqual({ ...folded, history_tokens: expect.closeTo(history_tokens, -1) });
});

test("an imported session goes on with another model", async () => {
  write(`${ID}.jsonl`, talk());
  await run();
  const model = scriptedModel(["Hello again."]);
  const service = createSessionService({ model, stores });
  const sessionId = `claude-code:${ID}`;
  expect((await service.startTurn({ sessionId, prompt: "Go on." })).text).toBe("Hello again.");
  expect(model.requests[0]?.messages.map(({ role }) => role)).toEqual([
    "user",
    "block_assistant",
    "tool_results",
    "block_assistant",
    "user",
    "block_assistant",
    "user",
  ]);
  await service.close();
});

test("of a file that is named, and in which nothing was said, the report says so", async () => {
  const chat = {
    sessionId: "s",
    responderUsername: "GitHub Copilot",
    requests: [{ prompt: "Hi" }],
  };
  const path = write("chat.json", JSON.stringify(chat));
  utimesSync(path, 1_770_000_000, 1_770_000_000);
  const { skipped } = await importTranscripts({ stores, path });
  expect(skipped).toEqual([{ file: path, reason: "nothing that was said is in it" }]);
  utimesSync(write("other.json", JSON.stringify(chat)), 1_770_000_000, 1_770_000_000);
  expect((await importTranscripts({ stores, path: folder })).skipped).toEqual([]);
});

test("of such a file that was written lately, the report says that more may come, also the second time", async () => {
  const started = "# aider chat started at 2026-10-01 09:12:33\n\n> Aider v0.80.0  \n\n";
  const path = write(".aider.chat.history.md", started);
  expect(await importTranscripts({ stores, path })).toMatchObject({ stillWritten: [path] });
  expect(await importTranscripts({ stores, path })).toMatchObject({ stillWritten: [path] });
  utimesSync(path, 1_770_000_000, 1_770_000_000);
  const { skipped } = await importTranscripts({ stores, path });
  expect(skipped).toEqual([{ file: path, reason: "nothing that was said is in it" }]);
});

test("importing twice adds nothing, even when the file has been touched", async () => {
  const path = write(`${ID}.jsonl`, talk());
  await run();
  const before = await remembered();
  expect(await run()).toMatchObject({ sessions: 1, messages: 6, added: 0, alreadyThere: 6 });
  writeFileSync(path, String(talk()));
  expect(await run()).toMatchObject({ sessions: 1, messages: 6, added: 0, alreadyThere: 6 });
  expect(await remembered()).toEqual(before);
});

test("of a file that has grown the messages that are there already are counted, too", async () => {
  const lines = talk();
  const path = write(`${ID}.jsonl`, lines);
  await run();
  for (let turn = 1; turn <= 3; turn += 1) {
    lines.user(`And then ${turn}?`).text(`msg_more${turn}`, `Then ${turn}.`);
    writeFileSync(path, String(lines));
    const messages = 6 + 2 * turn;
    expect(await run()).toMatchObject({
      sessions: 1,
      messages,
      added: 2,
      alreadyThere: messages - 2,
    });
  }
});

test("a file that grows in pieces gives what it gives at once", async () => {
  const text = Buffer.from(String(talk()));
  const atOnce = sqliteStores({ path: ":memory:" });
  write(`${ID}.jsonl`, talk());
  await importTranscripts({ stores: atOnce, path: folder });
  const expected = await remembered(atOnce);
  await atOnce.close();
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.nat(text.length), { maxLength: 4 }), async (cuts) => {
      const own = sqliteStores({ path: ":memory:" });
      const path = write(`${ID}.jsonl`, "");
      let at = 0;
      for (const end of [...cuts.sort((one, other) => one - other), text.length]) {
        appendFileSync(path, text.subarray(at, end));
        at = end;
        await importTranscripts({ stores: own, path: folder });
      }
      expect(await remembered(own)).toEqual(expected);
      await own.close();
    }),
    { numRuns: trials(3, 25) },
  );
});

test("copies of a session add only what is new in them, in any order of files", async () => {
  const fork = talk(ID);
  fork.user("Only in the fork.").text("msg_f", "Yes.");
  // A copy has the same lines, but its own session id.
  const text = String(fork).replaceAll(`"sessionId":"${ID}"`, `"sessionId":"${OTHER}"`);
  const results = [];
  for (const names of [
    ["a", "b"],
    ["b", "a"],
  ]) {
    const own = sqliteStores({ path: ":memory:" });
    for (const name of names) {
      const path = name === "a" ? write(`x/${ID}.jsonl`, talk()) : write(`x/${OTHER}.jsonl`, text);
      await importTranscripts({ stores: own, path });
    }
    results.push((await own.memory.list({ limit: 100 })).map(({ content }) => content).sort());
    await own.close();
  }
  expect(results[0]).toEqual(results[1]);
  expect(results[0]?.filter((content) => content === "I will.")).toHaveLength(1);
  expect(results[0]).toContain("Only in the fork.");
});

async function titles(of: SqliteStores = stores) {
  const found = await of.sessions.list({});
  return Object.fromEntries(found.map(({ id, settings }) => [id, settings.source?.title]));
}

test("a fork has the first prompt of its own as its title, unless it was given one", async () => {
  const NAMED = "2f3c2b1a-1111-4222-8333-444455556666";
  const fork = (id: string, prompt: string) => {
    const lines = talk().user(prompt).text(`msg_${id}`, "Yes.");
    return lines.lines.map((line) => ({ ...line, sessionId: id, forkedFrom: { sessionId: ID } }));
  };
  const text = (lines: readonly object[]) =>
    lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  write(`x/${ID}.jsonl`, talk());
  write(`x/${OTHER}.jsonl`, text(fork(OTHER, "Rewrite it\nin Rust.")));
  const title = { type: "custom-title", customTitle: "The port", sessionId: NAMED };
  write(`x/${NAMED}.jsonl`, text([...fork(NAMED, "Port it to Go."), title]));
  await run({ path: join(folder, "x") });
  expect(await titles()).toEqual({
    [`claude-code:${ID}`]: "Why does the parser fail at umlauts?",
    [`claude-code:${OTHER}`]: "Rewrite it",
    [`claude-code:${NAMED}`]: "The port",
  });
});

test("a fork of Codex is told from its parent by its title, and one without its parent keeps it", async () => {
  const PARENT = "019a0c1e-1111-7222-8333-aaaaaaaaaaaa";
  const FORK = "019a0c1e-1111-7222-8333-bbbbbbbbbbbb";
  const line = (type: string, payload: object) => ({
    timestamp: "2026-05-01T10:00:00.000Z",
    type,
    payload,
  });
  const head = (id: string, more: object = {}) =>
    line("session_meta", { id, cwd: "/home/ada/shop", ...more });
  const said = (id: string, text: string) => [
    line("turn_context", { turn_id: id, cwd: "/home/ada/shop" }),
    line("response_item", {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text }],
    }),
    line("event_msg", { type: "user_message", message: text, kind: "plain" }),
  ];
  const file = (id: string, lines: readonly object[]) =>
    write(
      `codex/rollout-2026-05-01T10-00-00-${id}.jsonl`,
      lines.map((each) => `${JSON.stringify(each)}\n`).join(""),
    );
  const parent = [head(PARENT), ...said("t1", "Why does the cart test fail?")];
  const own = said("t9", "Try another way.");
  const fork = head(FORK, { forked_from_id: PARENT });
  for (const copied of [parent, parent.slice(1)]) {
    file(PARENT, parent);
    file(FORK, [fork, ...copied, ...own]);
    const both = sqliteStores({ path: ":memory:" });
    await run({ stores: both, path: join(folder, "codex") });
    expect(await titles(both)).toEqual({
      [`codex:${PARENT}`]: "Why does the cart test fail?",
      [`codex:${FORK}`]: "Try another way.",
    });
    await both.close();
  }
  rmSync(join(folder, "codex"), { recursive: true });
  file(FORK, [fork, ...parent, ...own]);
  await run({ path: join(folder, "codex") });
  expect(await titles()).toEqual({ [`codex:${FORK}`]: "Why does the cart test fail?" });
});

test("of copies that do not name each other, the same one has the messages in any order of files", async () => {
  const said = [];
  for (const [one, two] of [
    [1, 2],
    [2, 1],
  ] as const) {
    for (const more of [{}, { sessionKind: "bg" }, { forkedFrom: { sessionId: ID } }]) {
      const lines = talk();
      // Only the named parent, or that the other is a copy, says that this came first.
      if (Object.keys(more).length > 0) {
        lines.goTo(lines.last).add("system", { timestamp: "2026-01-09T00:00:00.000Z" });
      }
      const fork = talk().user("Only in the fork.").text("msg_f", "Yes.");
      const copied = fork.lines.map((line) => ({ ...line, sessionId: OTHER, ...more }));
      const text = copied.map((line) => `${JSON.stringify(line)}\n`).join("");
      const own = sqliteStores({ path: ":memory:" });
      const parent = write(`x/${ID}.jsonl`, lines);
      utimesSync(parent, one, one);
      utimesSync(write(`x/${OTHER}.jsonl`, text), two, two);
      await importTranscripts({ stores: own, path: join(folder, "x") });
      const entries = await own.memory.list({ limit: 100 });
      said.push(entries.filter(({ sessionId }) => sessionId.endsWith(OTHER)));
      await own.close();
    }
  }
  for (const entries of said) {
    expect(entries.map(({ content }) => content)).toEqual(["Only in the fork.", "Yes."]);
  }
});

test("credentials are replaced before anything is stored, and counted by kind", async () => {
  const token = `ghp_${"aB3dE6gH9j".repeat(4).slice(0, 36)}`;
  const lines = talk().call("msg_9", "toolu_9").result("toolu_9", `GITHUB_TOKEN=${token}`);
  write(`${ID}.jsonl`, lines);
  expect((await run()).redacted).toEqual({ "GitHub token": 1 });
  expect(JSON.stringify(await logOf())).not.toContain(token);
});

test("what was forgotten is not imported again", async () => {
  const path = write(`${ID}.jsonl`, talk());
  await run();
  const service = createSessionService({ model: scriptedModel([]), stores });
  const [hit] = await service.searchMemory({ query: "tests with pnpm" });
  await service.forgetMemory({ ids: [hit?.id ?? ""] });
  appendFileSync(path, "\n");
  await run();
  expect((await remembered()).join()).not.toContain("pnpm");
  expect(JSON.stringify(await logOf())).not.toContain("pnpm");
  // Another agent's file has the same words.
  const other = new ClaudeLines(OTHER)
    .user("Always run the tests with pnpm.")
    .text("msg_o", "Yes.");
  write(`${OTHER}.jsonl`, other);
  await run();
  expect((await remembered()).join()).not.toContain("pnpm");
  expect(JSON.stringify(await logOf(`claude-code:${OTHER}`))).not.toContain("pnpm");
  await service.close();
});

test("a session follows the name that it is given later, in its log too, but not to what was forgotten", async () => {
  const named = (text: string) =>
    JSON.stringify({ type: "ai-title", aiTitle: text, sessionId: ID });
  const id = `claude-code:${ID}`;
  write(`${ID}.jsonl`, talk());
  await run();
  write(
    `${ID}.jsonl`,
    `${talk()}${named("The paint of ghp_0123456789abcdefghijklmnopqrstuvwxyz")}\n`,
  );
  expect(await run({ dryRun: true })).toMatchObject({ added: 0 });
  expect((await logOf()).filter(({ type }) => type === "session_titled")).toEqual([]);
  await run();
  expect(await run()).toMatchObject({ added: 0 });
  const events = (await logOf()).filter(({ type }) => type === "session_titled");
  const title = expect.stringMatching(/^The paint of (?!ghp_)/);
  expect(events).toEqual([{ type: "session_titled", session_id: id, title }]);
  const saved = await stores.sessions.load(id);
  const { SessionState } = await import("../src/core/session-state.ts");
  const state = new SessionState(id);
  await state.catchUp((after) => stores.events.read(id, after));
  expect(saved?.settings).toEqual(state.settings);
  expect(saved).toMatchObject({ seq: state.seq, updated_at_ms: state.updatedAtMs });
  expect(saved?.settings.source?.title).toEqual(title);

  await stores.forgotten?.add("elsewhere", ["The paint of Ada"]);
  write(`${ID}.jsonl`, `${talk()}${named("The paint of Ada")}\n`);
  await run();
  expect((await stores.sessions.load(id))?.settings.source?.title).toEqual(title);
});

test("a subagent is a session of its own that is not remembered, unless it is asked for", async () => {
  write(`${ID}.jsonl`, talk());
  const agent = new ClaudeLines(ID, { isSidechain: true }).user("Search.").text("msg_a", "Found.");
  write(`${ID}/subagents/agent-1a2b.jsonl`, agent);
  expect((await run()).sessions).toBe(2);
  expect((await remembered()).join()).not.toContain("Found.");
  const all = sqliteStores({ path: ":memory:" });
  await importTranscripts({ stores: all, path: folder, subagents: true });
  expect((await remembered(all)).join()).toContain("Found.");
  await all.close();
});

test("what subagents said is remembered when a later import asks for it, and what they say after it", async () => {
  const agent = new ClaudeLines(OTHER, { isSidechain: true })
    .user("Search.")
    .text("msg_a", "Found.");
  const path = `${OTHER}/subagents/agent-1a2b.jsonl`;
  write(`${ID}.jsonl`, talk());
  write(path, agent);
  await run();
  const before = await remembered();
  expect(await run({ subagents: true })).toMatchObject({ added: 0, alreadyThere: 8 });
  const found = (texts: readonly string[]) =>
    texts.filter((text) => /Found|Search|More/.test(text));
  expect(found(await remembered())).toHaveLength(2);
  expect((await remembered()).filter((text) => !found([text]).length)).toEqual(before);

  write(path, agent.user("More.").text("msg_b", "More was found."));
  await run();
  expect(found(await remembered())).toHaveLength(4);
  expect(await run({ subagents: true })).toMatchObject({ added: 0 });
  expect(found(await remembered())).toHaveLength(4);

  const id = `claude-code:${OTHER}.agent-1a2b`;
  const events = await logOf(id);
  expect(events.filter(({ type }) => type === "session_remembered")).toHaveLength(1);
  const saved = await stores.sessions.load(id);
  const { SessionState } = await import("../src/core/session-state.ts");
  const state = new SessionState(id);
  await state.catchUp((after) => stores.events.read(id, after));
  const { history_tokens, history, ...folded } = state.snapshot();
  // The same messages in two runs, because an event that is no message is between them.
  expect(saved).toMatchObject({ ...folded, history_tokens: expect.closeTo(history_tokens, -1) });
  expect(saved?.history.at(-1)?.to).toBe(history.at(-1)?.to);
  expect(saved).toMatchObject({ settings: { memory: true }, turns: 2 });
  // A rebuilt index is the same.
  const rebuilt = sqliteStores({ path: ":memory:" });
  const index = new MemoryIndex(stores.events, rebuilt.memory);
  const all = await stores.events.readAll(0, 1000);
  await index.apply(all);
  expect(await remembered(rebuilt)).toEqual(await remembered());
  await rebuilt.close();
});

test.each(["/", "/home/ada/", "/home/ada"])(
  "the project %s has the sessions of all folders below it",
  async (project) => {
    write(`${ID}.jsonl`, talk());
    write(`${OTHER}.jsonl`, talk(OTHER, { cwd: "/home/adam" }));
    expect(await run({ project })).toMatchObject({ sessions: project === "/" ? 2 : 1 });
  },
);

test("the traffic of memory tools is left out", async () => {
  write(`${OTHER}.jsonl`, talk(OTHER, { cwd: "/home/ada/.claude-mem/observer-sessions" }));
  const asked = talk()
    .call("msg_8", "toolu_8", "mcp__rkat__memory_search", { query: "umlauts" })
    .result("toolu_8", "The parser fails at umlauts, said Ada.");
  write(`${ID}.jsonl`, asked);
  expect(await run()).toMatchObject({ sessions: 1, leftOut: 1 });
  expect(JSON.stringify(await logOf())).not.toContain("said Ada");
});

test("who works on a memory tool has the sessions of that, and not what the tool does as a plugin", async () => {
  write(`${ID}.jsonl`, talk(ID, { cwd: "/home/ada/src/claude-mem" }));
  const cwd = "/home/ada/.claude/plugins/cache/thedotmack/claude-mem/10.0";
  write(`${OTHER}.jsonl`, talk(OTHER, { cwd }));
  expect(await run()).toMatchObject({ sessions: 1, leftOut: 1 });
});

test("a stream of bytes is imported like the file that it is of, and leaves no file", async () => {
  const temporary = join(folder, "tmp");
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  async function* inPieces(text: string, size = 7) {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
  }
  const name = "../some where/talk.jsonl";
  const text = `${talk()}oh no\n{"type":"user"`;
  const send = (more: Partial<Parameters<typeof importTranscripts>[0]> = {}) =>
    importTranscripts({ stores, bytes: inPieces(text), name, ...more });
  expect(await send()).toMatchObject({
    added: 6,
    skipped: [{ file: name, line: 12, reason: "it is not JSON" }],
    stillWritten: [name],
  });
  const said = await remembered();
  expect(await send()).toMatchObject({ added: 0, alreadyThere: 6 });
  write(`${ID}.jsonl`, talk());
  expect(await run()).toMatchObject({ added: 0 });
  expect(await remembered()).toEqual(said);

  const archive = zipOf({ "conversations.json": "[]" });
  const whole = async function* () {
    yield archive;
  };
  expect(await send({ bytes: whole(), name: "export.zip" })).toMatchObject({ skipped: [] });
  async function* broken() {
    yield Buffer.from("{");
    throw new Error("The connection was lost.");
  }
  await expect(send({ bytes: broken() })).rejects.toThrow("The connection was lost.");
  await expect(send({ path: folder })).rejects.toMatchObject({ code: "INVALID_PARAMS" });
  await expect(send({ signal: AbortSignal.abort() })).rejects.toThrow();
  expect(readdirSync(temporary)).toEqual([]);
});

test("a bad line is one skip with its number, and the rest is imported", async () => {
  const lines = String(talk()).split("\n");
  lines.splice(3, 0, '{"type":"user", oh no', '"text"');
  const path = write(`${ID}.jsonl`, lines.join("\n"));
  const report = await run();
  expect(report.skipped).toEqual([
    { file: path, line: 4, reason: "it is not JSON" },
    { file: path, line: 5, reason: "it is not a JSON object" },
  ]);
  expect(report.added).toBe(6);
});

test("only what was asked for is imported, and a later import gets the rest", async () => {
  write(`${ID}.jsonl`, talk());
  write(`${OTHER}.jsonl`, talk(OTHER, { cwd: "/home/ada/other" }));
  expect(await run({ project: "/home/ada/other" })).toMatchObject({ sessions: 1, added: 6 });
  expect(await run({ since: "2027-01-01" })).toMatchObject({ sessions: 0, added: 0 });
  expect(await run({ dryRun: true })).toMatchObject({ sessions: 2, added: 6, alreadyThere: 6 });
  expect(await run()).toMatchObject({ sessions: 2, added: 6, alreadyThere: 6 });
});

test("a long first line that is still being written is taken for nothing yet", async () => {
  const event = { id: 0, timestamp: "2026-05-01T10:00:00", source: "user", action: "message" };
  const context = [{ role: "system", content: "long ".repeat(20_000) }];
  const history = [{ ...event, args: { content: "Why is it red?" } }];
  const line = JSON.stringify({ instance_id: "a", context, history });
  const path = write("output.jsonl", line.slice(0, 90_000));
  expect(await run()).toMatchObject({ added: 0, skipped: [], stillWritten: [path] });
  write("output.jsonl", line);
  expect(await run()).toMatchObject({ added: 1, skipped: [], stillWritten: [] });
});

test("a file that shrinks is read anew, and what was stored stays", async () => {
  const path = write(`${ID}.jsonl`, talk());
  await run();
  const before = await remembered();
  truncateSync(path, 100);
  expect(await run()).toMatchObject({ added: 0, stillWritten: [expect.any(String)] });
  expect(await remembered()).toEqual(before);
});

test("a file in whose place another agent's came is read as that agent's", async () => {
  const timestamp = "2026-05-01T10:00:00.000Z";
  const message = { role: "user", content: "Why does the cart test fail?" };
  const lines = [
    { type: "session", version: 3, id: OTHER, timestamp, cwd: "/home/ada/shop" },
    { type: "message", id: "a", parentId: null, timestamp, message },
  ];
  write("talk.jsonl", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  expect(await run()).toMatchObject({ added: 1 });
  write("talk.jsonl", talk());
  expect(await run()).toMatchObject({ added: 6, skipped: [], unknownTypes: {} });
});

test("a file that becomes shorter while it is read is one skip, and the next import goes on", async () => {
  const lines = talk();
  // More than one batch: the report of the first one comes while the file is read.
  for (let turn = 0; turn < 3000; turn += 1) lines.user(`Question ${turn}?`);
  const path = write(`${ID}.jsonl`, lines);
  const shorten = () => truncateSync(path, 100);
  expect((await run({ onProgress: shorten })).skipped).toEqual([
    { file: path, reason: "it became shorter while it was read" },
  ]);
  writeFileSync(path, String(lines));
  expect(await run()).toMatchObject({ messages: 3006, skipped: [] });
  expect(await remembered()).toHaveLength(3005);
});

test("two imports of many small files at the same time store and count each message once", async () => {
  for (let number = 10; number < 40; number += 1) {
    const id = `${number}3c2b1a-1111-4222-8333-444455556666`;
    write(`${id}.jsonl`, talk(id));
  }
  const reports = await Promise.all([run(), run()]);
  expect(reports.map(({ added, alreadyThere }) => added + alreadyThere)).toEqual([180, 180]);
  expect(reports.reduce((sum, { added }) => sum + added, 0)).toBe(180);
  expect(await remembered()).toHaveLength(150);
  expect(await run()).toMatchObject({ added: 0, alreadyThere: 180, skipped: [] });
});

test("an import that is stopped stops while it reads, and goes on later", async () => {
  const lines = talk();
  // More than one batch: the first one is stored, and its report stops the second one.
  for (let turn = 0; turn < 3000; turn += 1) lines.user(`Question ${turn}?`);
  write(`${ID}.jsonl`, lines);
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  await expect(run({ signal: stopping.signal, onProgress: stop })).rejects.toThrow(/abort/);
  const { added, alreadyThere } = await run();
  expect([added + alreadyThere, alreadyThere > 0, added > 0]).toEqual([3006, true, true]);
});

test("files of a folder that are no transcripts are named with what they look like, and so is a file that you name", async () => {
  write(`${ID}.jsonl`, talk());
  for (const name of ["package.json", "src/tsconfig.json"]) write(name, '{"private": true}');
  const report = await run();
  const reason = "its format is not known. It is an object of JSON.";
  expect([report.added, report.skipped]).toEqual([
    6,
    [
      { file: join(folder, "package.json"), reason },
      { file: join(folder, "src/tsconfig.json"), reason },
    ],
  ]);
  const path = join(folder, "package.json");
  expect((await run({ path })).skipped).toEqual([
    { file: path, reason: expect.stringContaining(reason) },
  ]);
});

test("nothing outside of the folder is read", async () => {
  const { symlinkSync } = await import("node:fs");
  const outside = mkdtempSync(join(tmpdir(), "rkat-outside-"));
  writeFileSync(join(outside, `${ID}.jsonl`), String(talk()));
  symlinkSync(outside, join(folder, "link"));
  symlinkSync(join(outside, `${ID}.jsonl`), join(folder, `${OTHER}.jsonl`));
  expect((await run()).messages).toBe(0);
  rmSync(outside, { recursive: true });
});

test("a path that is not there is named", async () => {
  await expect(run({ path: join(folder, "nowhere") })).rejects.toThrow(
    /nowhere cannot be imported: it does not exist\./,
  );
  await expect(run({ since: "soon" })).rejects.toThrow('"soon" is not a time.');
});

test("bytes of any kind are skipped, never an error", async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
      writeFileSync(join(folder, `${ID}.jsonl`), bytes);
      expect((await run()).added).toBe(0);
    }),
    { numRuns: trials(5, 50) },
  );
});

test("a fork that was changed before its parent leaves the parent's messages to it", async () => {
  const talk = (id: string, more: object, text: string) => {
    const entry = (own: string, parentId: string | null, role: string, content: string) => ({
      ...{ type: "message", id: own, parentId, timestamp: "2026-04-01T09:01:00.000Z" },
      message: { role, content },
    });
    const values = [
      {
        type: "session",
        version: 3,
        id,
        timestamp: "2026-04-01T09:00:00.000Z",
        cwd: "/a",
        ...more,
      },
      entry("a1", null, "user", "List the files"),
      entry(`own-${id}`, "a1", "user", text),
    ];
    return write(`2026_${id}.jsonl`, values.map((value) => `${JSON.stringify(value)}\n`).join(""));
  };
  const fork = talk("s2", { parentSession: "/elsewhere/2026_s1.jsonl" }, "In the fork");
  const parent = talk("s1", {}, "In the parent");
  utimesSync(fork, new Date(2026, 1, 1), new Date(2026, 1, 1));
  utimesSync(parent, new Date(2026, 1, 2), new Date(2026, 1, 2));
  const report = await run();
  expect([report.sessions, report.added]).toEqual([2, 3]);
  const said = async (id: string) =>
    (await logOf(id)).flatMap((event) =>
      event.type === "message_added" ? [indexableText(event.message)] : [],
    );
  expect(await said("pi:s1")).toEqual(["List the files", "In the parent"]);
  expect(await said("pi:s2")).toEqual(["In the fork"]);
});

test("ChatGPT: a later export with another current branch adds what is new in it, and nothing twice", async () => {
  const node = (id: string, parent: string | null, role: string, text: string, own?: string) => ({
    [id]: {
      ...{ id, parent },
      message: { id: own, author: { role }, content: { content_type: "text", parts: [text] } },
    },
  });
  for (const named of [true, false]) {
    const own = (id: string) => (named ? `message-${id}` : undefined);
    const exported = (current_node: string) => {
      const mapping = {
        ...node("a", null, "user", `Name a ferret, ${named}.`, own("a")),
        ...node("b", "a", "assistant", `Biscuit, ${named}.`, own("b")),
        ...node("c", "a", "assistant", `Noodle, ${named}.`, own("c")),
        ...node("d", "c", "user", `And a stoat, ${named}?`, own("d")),
      };
      return JSON.stringify([{ id: `ferret-${named}`, current_node, mapping }]);
    };
    const path = write("conversations.json", exported("b"));
    const first = await run({ path });
    expect([first.added, first.otherBranches]).toEqual([2, 2]);
    write("conversations.json", exported("d"));
    const second = await run({ path });
    expect([second.added, second.alreadyThere, second.otherBranches]).toEqual([2, 1, 1]);
    const texts = (await stores.memory.list({ limit: 100 })).map(({ content }) => content);
    expect(texts.filter((text) => text.includes(`${named}`))).toEqual([
      `Name a ferret, ${named}.`,
      `Biscuit, ${named}.`,
      `Noodle, ${named}.`,
      `And a stoat, ${named}?`,
    ]);
  }
});

test("a session of which no time is known is the last in the list, until rkat goes on with it", async () => {
  const timed = new ClaudeLines("0f3c2b1a-1111-4222-8333-444455556666", { cwd: folder });
  writeFileSync(join(folder, "timed.jsonl"), String(timed.user("Look.").text("msg_1", "I see.")));
  const messages = [
    { role: "user", content: "Why did it fail?" },
    { role: "assistant", content: "It is late." },
  ];
  writeFileSync(join(folder, "untimed.json"), JSON.stringify({ messages }));
  await importTranscripts({ stores, path: folder });
  const service = createSessionService({ model: scriptedModel(["Yes."]), stores });
  const [first, last] = await service.list({});
  expect(first?.source.agent).toBe("claude-code");
  expect(last?.updatedAt).toBe("1970-01-01T00:00:00.000Z");
  const { sessionId = "" } = last ?? {};
  // The log says the same.
  const state = new SessionState(sessionId);
  await state.catchUp((after) => stores.events.read(sessionId, after));
  expect(state.updatedAtMs).toBe(0);
  await service.startTurn({ sessionId, prompt: "And now?" });
  const [newest] = await service.list({});
  await service.close();
  expect(newest?.sessionId).toBe(sessionId);
});
