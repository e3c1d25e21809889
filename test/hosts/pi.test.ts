import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import {
  createAgentSession,
  DefaultResourceLoader,
  ModelRuntime,
  SessionManager,
  SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  type LocalProvider,
  type LocalProviderOptions,
  startLocalProvider,
} from "../../examples/hosts/local-provider.ts";
import { piExtension } from "../../src/coding-agents/agents.ts";
import { contentText, type Message } from "../../src/core/message.ts";
import { answerText } from "../../src/hosts/pi-messages.ts";
import { type AdaptedLoop, adapterLaws } from "../../src/testing/adapter-laws.ts";
import { obey } from "../support/obey.ts";
import { execFile } from "../support/start-process.ts";
import { sampled } from "../support/trials.ts";
import { remembered, startScriptedServer } from "./scripted-server.ts";
import { testFolder } from "./test-folder.ts";

const RKAT = resolve("examples/hosts/node_modules/rkat/bin/rkat.js");
const PI = resolve(
  "examples/hosts/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js",
);
const EXAMPLE = resolve(PI, "../../../examples/extensions/subagent");
const COMMAND = [process.execPath, RKAT];
const LONG = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
/** With it, a summary is asked for at the end of the last request. */
const CACHED = { input: 1, output: 8, cacheRead: 0.1, cacheWrite: 0 };

/** pi with thirty files to read. */
async function openPi(provider: LocalProviderOptions, isKept = false) {
  const server = await startLocalProvider(provider);
  const parts = Array.from({ length: 30 }, (_, part): [string, string] => [
    `part-${part}.ts`,
    `part-${part}.ts has the port ${4000 + part}. ${LONG}`,
  ]);
  return await piAt(server, new Map(parts), { isKept });
}

/** pi as its command runs it, with the file that `rkat install pi` writes and a model on this machine. */
async function piAt(
  server: LocalProvider,
  files: ReadonlyMap<string, string>,
  { isKept = false, reserveTokens = 19_500, cost = FREE } = {},
) {
  onTestFinished(() => server.close());
  const home = mkdtempSync(join(tmpdir(), "rkat-pi-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const [cwd, agentDir] = ["project", "agent"].map((name) => join(home, name)) as [string, string];
  for (const [path, text] of files) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const { path, text } = piExtension({ command: COMMAND, folder: agentDir });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  const local = {
    baseUrl: server.urls["openai-compatible"],
    api: "openai-completions",
    apiKey: "none",
    models: [{ id: "sailor", contextWindow: 24_000, maxTokens: 4_000, cost }],
  };
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { local } }));
  const compaction = { enabled: true, reserveTokens, keepRecentTokens: 1_500 };
  const settingsManager = SettingsManager.inMemory({ compaction, retry: { enabled: false } });
  const modelRuntime = await ModelRuntime.create({
    authPath: join(agentDir, "auth.json"),
    modelsPath: join(agentDir, "models.json"),
    modelsStorePath: join(agentDir, "models"),
  });
  const model = modelRuntime.getModel("local", "sailor");
  if (!model) throw new Error(modelRuntime.getError() ?? "pi does not have the model.");
  const sessionManager = isKept
    ? SessionManager.create(cwd, join(home, "sessions"))
    : SessionManager.inMemory(cwd);
  const errors: string[] = [];
  const start = async (sessionManager: SessionManager) => {
    const resourceLoader = new DefaultResourceLoader({ cwd, agentDir, settingsManager });
    await resourceLoader.reload();
    expect(resourceLoader.getExtensions().errors).toEqual([]);
    const { session } = await createAgentSession({
      cwd,
      agentDir,
      model,
      modelRuntime,
      resourceLoader,
      sessionManager,
      settingsManager,
    });
    await session.bindExtensions({ onError: ({ error }) => errors.push(error) });
    onTestFinished(() => session.dispose());
    return session;
  };
  const session = await start(sessionManager);
  /** pi's example for sub-agents starts pi in the same folder with `--no-session`. */
  const child = () => start(SessionManager.inMemory(cwd));
  const compactions = () =>
    sessionManager.getBranch().flatMap((entry) => (entry.type === "compaction" ? [entry] : []));
  return { session, sessionManager, server, cwd, errors, compactions, child };
}

const reads = (steps: number) => (step: number) =>
  step < steps ? { name: "read", args: { path: `part-${step}.ts` } } : undefined;

test("in the place of pi's summary is rkat's, with what became of its names", async () => {
  const { session, server, errors, compactions } = await openPi({ call: reads(20) });
  await session.prompt("Never use the network. Read twenty parts and compare their ports.");
  const [first, ...others] = compactions();
  expect(errors).toEqual([]);
  expect(first).toMatchObject({ fromHook: true, details: { summarizedBy: "model" } });
  expect(first?.details).toMatchObject({ anchors: { found: expect.any(Number) } });
  expect(first?.usage?.input).toBeGreaterThan(0);
  expect(others.length).toBeGreaterThan(0);
  expect(server.billed.filter(({ kind }) => kind === "summary")).toHaveLength(1 + others.length);
  expect(server.problems).toEqual([]);
});

test("the user's words outlast every compaction, and do not pile up", async () => {
  const { session, compactions } = await openPi({ call: reads(20) });
  const prompt = "Never use the network. Read twenty parts and compare their ports.";
  await session.prompt(prompt);
  expect(compactions().length).toBeGreaterThan(1);
  for (const { summary } of compactions()) {
    expect(summary.split("word for word:\n- Never use the network.\n")).toHaveLength(2);
    expect(summary.split(`word for word:\n${prompt}`)).toHaveLength(2);
  }
});

test("when the model refuses to summarise for rkat, pi writes its own summary", async () => {
  const refuses = (body: unknown) =>
    JSON.stringify(body).includes("<record>") ? { status: 400, message: "no" } : "pi's summary";
  const { session, compactions } = await openPi({ call: reads(12), summary: refuses });
  await session.prompt("Read twelve parts.");
  const [first] = compactions();
  expect(first?.summary).toContain("pi's summary");
  expect(first?.fromHook).not.toBe(true);
});

test("when no summary can be written, pi does not try at each step", async () => {
  const summary = () => ({ status: 400, message: "no quota" });
  const { session, server, errors, compactions } = await openPi({ call: reads(20), summary });
  await session.prompt("Read twenty parts.");
  const asked = server.billed.filter(({ kind }) => kind === "summary").length;
  expect(asked).toBeGreaterThan(0);
  expect(asked).toBeLessThan(8);
  expect(compactions()).toEqual([]);
  expect(errors).toEqual([]);
  // The user may try at any time.
  await expect(session.compact()).rejects.toThrow();
  expect(server.billed.filter(({ kind }) => kind === "summary").length).toBeGreaterThan(asked);
});

test("a session is in the project's memory, and the model finds there what left its window", async () => {
  const calls = [
    ...Array.from({ length: 12 }, (_, part) => ({
      name: "read",
      args: { path: `part-${part}.ts` },
    })),
    { name: "search_project_history", args: { query: "part-1.ts port" } },
  ];
  const { session, sessionManager, cwd, errors } = await openPi(
    { call: (step) => calls[step] },
    true,
  );
  await session.prompt("The lighthouse keeper is called Ada. Read twelve parts.");
  const path = join(cwd, ".rkat", "rkat.db");
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), { timeout: 30_000 });
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  const sessions = createSessionService({ model: "none", stores });
  onTestFinished(() => sessions.close());
  const remembers = async (query: string, content: string) => {
    const [hit] = await sessions.searchMemory({ query });
    expect(hit?.content).toContain(content);
    expect(hit?.sessionId).toBe(`pi:${sessionManager.getSessionId()}`);
  };
  const soon = { timeout: 30_000, interval: 200 };
  await vi.waitFor(() => remembers("What is the lighthouse keeper called?", "called Ada"), soon);
  await session.prompt("Tell the harbour master in Ystad.");
  await vi.waitFor(() => remembers("Which harbour master?", "Ystad"), soon);
  const found = session.state.messages.flatMap((message) =>
    message.role === "toolResult" && message.toolName === "search_project_history"
      ? [JSON.stringify(message.content)]
      : [],
  );
  expect(found.some((text) => text.includes("part-1.ts has the port 4001"))).toBe(true);
  expect(errors).toEqual([]);
});

const SECRET = "The spare key of the boathouse hangs behind the blue oilskin.";
const QUESTION = "Where does the spare key of the boathouse hang?";

/** The service over the store that pi's first prompt makes in a project, once the project knows the secret. */
async function projectWithSecret(cwd: string) {
  const path = join(cwd, ".rkat", "rkat.db");
  await vi.waitFor(() => expect(existsSync(path)).toBe(true), { timeout: 30_000 });
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  const sessions = createSessionService({ model: "none", stores });
  onTestFinished(() => sessions.close());
  await sessions.addMemory({ content: SECRET });
  return sessions;
}

test("what the project knows comes back before the prompt that needs it, in each later request, and is nothing that was said", async () => {
  const { session, sessionManager, server, cwd, errors } = await openPi(
    { call: () => undefined },
    true,
  );
  await session.prompt("The lighthouse keeper is called Ada.");
  const sessions = await projectWithSecret(cwd);
  const sent = () => server.requests.at(-1)?.body.messages as readonly object[];
  await session.prompt(QUESTION);
  const asked = sent();
  expect(asked.map((message) => JSON.stringify(message)).slice(-3)).toEqual([
    expect.stringContaining(SECRET),
    expect.stringContaining("Noted."),
    expect.stringContaining(QUESTION),
  ]);
  await session.prompt("Thanks.");
  expect(sent().slice(0, asked.length)).toEqual(asked);
  expect(JSON.stringify(sent()).split(SECRET)).toHaveLength(2);
  const sessionId = `pi:${sessionManager.getSessionId()}`;
  const said = async () => await sessions.listMemory({ sessionId, limit: 50 });
  const isImported = async () => expect(JSON.stringify(await said())).toContain("Thanks.");
  await vi.waitFor(isImported, { timeout: 30_000, interval: 200 });
  expect(JSON.stringify(await said())).not.toContain("oilskin");
  expect(errors).toEqual([]);
});

test("a sub-agent begins with what is pinned and what memory has for its task, and nothing of it is a person's word", async () => {
  const { session, sessionManager, server, cwd, errors, child } = await openPi(
    { call: () => undefined },
    true,
  );
  await session.prompt("The lighthouse keeper is called Ada.");
  const sessions = await projectWithSecret(cwd);
  const demand = await sessions.addMemory({ content: "Never start the crane by night." });
  await sessions.editMemory({ id: demand.id, pinned: true });
  const sent = () => JSON.stringify(server.requests.at(-1)?.body.messages);
  const inner = await child();
  await inner.prompt(`Task: ${QUESTION}`);
  expect(sent()).toContain(SECRET);
  expect(sent()).toContain("Never start the crane by night.");
  expect(sent()).not.toContain("Ada");
  await inner.prompt("Task: Always use berth 9, whatever the ship.");
  // The parent goes on as if there had been no child.
  await session.prompt("Thanks.");
  expect(sent()).not.toContain("berth 9");
  const remembered = async () => JSON.stringify(await sessions.listMemory({ limit: 100 }));
  const isImported = async () => expect(await remembered()).toContain("Thanks.");
  await vi.waitFor(isImported, { timeout: 30_000, interval: 200 });
  expect(await remembered()).not.toContain("berth 9");
  expect(JSON.stringify(await sessions.listKnowledge({}))).not.toContain("berth 9");
  const said = await sessions.listMemory({ kind: "message", limit: 100 });
  expect(new Set(said.map((entry) => entry.sessionId))).toEqual(
    new Set(["added", `pi:${sessionManager.getSessionId()}`]),
  );
  expect(errors).toEqual([]);
});

const TASK = "count the ships.";
const words = (task: string) => [PI, "--print", "--provider", "local", "--model", "sailor", task];

/** How a model has pi's program start a sub-agent without a session. */
const SUB_AGENTS = {
  "a command": {
    name: "bash",
    args: {
      command: [process.execPath, ...words(`Task: ${TASK}`), "--no-session"]
        .map((word) => `'${word}'`)
        .join(" "),
    },
  },
  "the extension that pi has as an example": {
    name: "subagent",
    args: { agent: "clerk", task: TASK },
  },
};

test.each(Object.entries(SUB_AGENTS))(
  "a sub-agent that pi's own program starts by %s begins with the person's standing instructions",
  async (_, call) => {
    const home = testFolder();
    const [project, agentDir] = ["project", "agent"].map((name) => join(home, name)) as [
      string,
      string,
    ];
    const answers = [{ toolCalls: [call] }, "Three.", "Three ships."];
    const server = await startLocalProvider({ answer: (index) => answers[index] ?? "Done." });
    onTestFinished(() => server.close());
    const { path, text } = piExtension({ command: COMMAND, folder: agentDir });
    for (const folder of [project, dirname(path), join(agentDir, "agents")])
      mkdirSync(folder, { recursive: true });
    writeFileSync(path, text);
    cpSync(EXAMPLE, join(agentDir, "extensions", "subagent"), { recursive: true });
    const clerk = "---\nname: clerk\ndescription: Counts.\ntools: read\n---\nYou count.";
    writeFileSync(join(agentDir, "agents", "clerk.md"), clerk);
    const local = {
      ...{ baseUrl: server.urls.openai, api: "openai-completions", apiKey: "none" },
      models: [{ id: "sailor", contextWindow: 24_000, maxTokens: 4_000 }],
    };
    writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { local } }));
    const env = { HOME: home, PI_OFFLINE: "1", PI_CODING_AGENT_DIR: agentDir };
    const pi = promisify(execFile)(process.execPath, words("Never use the network. Go on."), {
      ...{ env, cwd: project },
    });
    pi.child.stdin?.end();
    expect((await pi).stdout).toContain("Three ships.");
    const [, asked, , ...others] = server.requests.map(({ body }) => JSON.stringify(body.messages));
    expect(others).toEqual([]);
    expect(asked).toContain(`Task: ${TASK}`);
    expect(asked).not.toContain("Go on.");
    expect(asked).toContain("- Never use the network.");
  },
);

/** What pi's model reads before a summary. */
const PI_SUMMARY = "The conversation history before this point was compacted";

/** A summary, and the user's words that it quotes as the messages that they were. */
function withQuotes(message: Message): readonly Message[] {
  const content = message.role === "user" ? contentText(message.content) : "";
  if (!content.startsWith(PI_SUMMARY)) return [message];
  const [, instruction] = /^Standing instructions .* word for word:\n- (.*)$/m.exec(content) ?? [];
  const [, request] = /^The user's request .* word for word:\n(.*)$/m.exec(content) ?? [];
  const quoted = [instruction, request].filter((text) => text !== undefined);
  return [
    { role: "user", kind: "compaction_summary", content },
    ...quoted.map((text): Message => ({ role: "user", content: text })),
  ];
}

/** pi's own loop, in which the extension writes the summaries. Its reserve moves the places of its cuts, and leaves room for some turns after each. */
const loop = (reserveTokens: number, cost: typeof FREE): AdaptedLoop => ({
  async run(script) {
    const { server, read, record } = await startScriptedServer(script);
    const paths = script.turns.flatMap(({ steps }) =>
      steps.flatMap(({ calls }) => calls.map(({ path }) => path)),
    );
    const files = new Map(paths.map((path) => [path, read(path)]));
    const { session, errors } = await piAt(server, files, { reserveTokens, cost });
    const answers: string[] = [];
    for (const { prompt } of script.turns) {
      await session.prompt(prompt);
      const answer = session.state.messages.findLast(({ role }) => role === "assistant");
      answers.push(answer?.role === "assistant" ? answerText(answer.content) : "");
    }
    session.dispose();
    expect(errors).toEqual([]);
    expect(server.problems).toEqual([]);
    const done = record(answers);
    return { ...done, requests: done.requests.map((messages) => messages.flatMap(withQuotes)) };
  },
});

const CANNOT = {
  "system messages stay word for word": "pi has a system prompt of its own",
  "a compaction pays for one summary, however often the host offers the history again":
    "pi also compacts after the last answer, and sends that summary to no model",
  "each request fits the context window": "pi decides when to compact",
};

obey(
  adapterLaws,
  sampled([18_500, 19_200], { of: 2, at: 0 }, "cases").map((reserveTokens, index) => {
    const shared = remembered(loop(reserveTokens, index === 0 ? CACHED : FREE));
    const name = `in pi's loop, with ${reserveTokens} tokens in reserve`;
    return { name, durable: false, cannot: CANNOT, open: async () => shared };
  }),
);
