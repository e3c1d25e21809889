import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService, type Message } from "../src/index.ts";
import { connectMcp, serveMcpHttp } from "../src/mcp.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

type Options = Partial<Omit<Parameters<typeof createSessionService>[0], "stores">>;

const UNCALLED = scriptedModel(() => {
  throw new Error("the model was called");
});

const said = (content: string): Message[] => [{ role: "user", content }];

async function serviceWith(options: Options = {}) {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({ model: UNCALLED, ...options, stores });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, stores };
}

test("an append calls no model, and a search finds what a program appended", async () => {
  const { service } = await serviceWith();
  const { sessionId } = await service.createSession({});
  const messages = said("The vault opens at nine.");
  expect(await service.appendMessages({ sessionId, messages })).toMatchObject({ added: 1 });
  const [hit] = await service.searchMemory({ query: "when does the vault open" });
  expect(hit).toMatchObject({ content: "The vault opens at nine.", speaker: "program" });
});

test("a call that waits for approval keeps its place before what is appended", async () => {
  const call = { id: "a", name: "datetime", args: {} };
  const { service } = await serviceWith({
    model: scriptedModel([{ toolCalls: [call] }, "Done."]),
    approvals: { policies: { datetime: "ask" }, timeoutMs: 1 },
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "What time is it?" });
  const append = () => service.appendMessages({ sessionId, messages: said("hi") });
  await expect(append()).rejects.toMatchObject({ code: "APPROVAL_REQUIRED" });
});

test("of its keys a session remembers the last 256, and its snapshot does not grow further", async () => {
  const { service, stores } = await serviceWith({ memory: false });
  const { sessionId } = await service.createSession({});
  const append = (key: string) =>
    service.appendMessages({ sessionId, messages: said("hi"), key }).then(({ added }) => added);
  for (let batch = 0; batch <= 256; batch += 1) await append(`batch ${batch}`);
  expect((await stores.sessions.load(sessionId))?.appended).toHaveLength(256);
  expect(await append("batch 256")).toBe(0);
  expect(await append("batch 1")).toBe(0);
  expect(await append("batch 0")).toBe(1);
});

test("what a user said to hold holds in the session, when a program appended it too", async () => {
  const { service } = await serviceWith({ compaction: {} });
  const { sessionId } = await service.createSession({});
  const origin = { author: "user" } as const;
  await service.appendMessages({ sessionId, messages: said("Never use the network.") });
  const held = async () => {
    const { instructions } = await service.read({ sessionId });
    return instructions.map(({ text }) => text);
  };
  expect(await held()).toEqual([]);
  const messages: Message[] = [
    ...said("Never use the network."),
    { role: "assistant", content: "Constraint: only edit files under src/" },
    ...said("Always deploy with Terraform."),
    ...said("Always deploy with Pulumi."),
  ];
  await service.appendMessages({ sessionId, messages, origin });
  expect(await held()).toEqual(["Never use the network.", "Always deploy with Pulumi."]);
  await service.appendMessages({
    sessionId,
    messages: said("You may use the network now."),
    origin,
  });
  expect(await held()).toEqual(["Always deploy with Pulumi.", "You may use the network now."]);
  await service.forgetMemory({ sessionId });
  expect(await held()).toEqual([]);
});

test("a model that is not available keeps no program from appending", async () => {
  const { service } = await serviceWith({
    model: "openai/gpt-nowhere",
    models: () => Promise.reject(new Error("no key")),
    compaction: {},
  });
  const { sessionId } = await service.createSession({});
  const origin = { author: "user" } as const;
  await service.appendMessages({ sessionId, messages: said("Never use the network."), origin });
  expect((await service.read({ sessionId })).instructions).toHaveLength(1);
});

test("appended tool results become facts like those of a turn, and are forgotten like them", async () => {
  const { service } = await serviceWith();
  const { sessionId } = await service.createSession({});
  const call = (id: string, path: string) => ({ id, name: "read_file", args: { path } });
  const result = (tool_use_id: string, content: string, is_error = false) => ({
    tool_use_id,
    content,
    is_error,
  });
  const messages: Message[] = [
    ...said("Read all of them."),
    {
      role: "assistant",
      content: "",
      tool_calls: [call("a", "a.toml"), call("b", "b.toml"), call("c", "c.toml")],
    },
    {
      role: "tool_results",
      results: [
        result("c", "The harbour gate opens at seven."),
        result("a", "Staging listens on port 4310."),
        result("b", "The file b.toml does not exist anywhere.", true),
      ],
    },
  ];
  await service.appendMessages({ sessionId, messages });
  const facts = async () => {
    const entries = await service.listKnowledge({ kind: "fact" });
    return entries.map(({ content, args }) => `${args} ${content}`).sort();
  };
  const [first, second] = [
    `{"path":"a.toml"} Tool 'read_file' result: Staging listens on port 4310.`,
    `{"path":"c.toml"} Tool 'read_file' result: The harbour gate opens at seven.`,
  ];
  expect(await facts()).toEqual([first, second]);
  const gate = (await service.listKnowledge({ query: "gate" })).map(({ id }) => id);
  await service.forgetMemory({ ids: gate });
  expect(await facts()).toEqual([first]);
});

test("with redact = log, no credential of an appended message is in the log", async () => {
  const { service, stores } = await serviceWith({ redact: "log" });
  const { sessionId } = await service.createSession({});
  const token = `ghp_${"a1B2".repeat(9)}`;
  await service.appendMessages({ sessionId, messages: said(`The token is ${token}.`) });
  const origin = { author: "user" } as const;
  await service.appendMessages({ sessionId, messages: said(`Always use ${token}.`), origin });
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  expect(JSON.stringify(log)).toContain("The token is [redacted");
  expect(JSON.stringify(log)).not.toContain(token);
});

test("what was appended is forgotten like what was said in a turn", async () => {
  const { service, stores } = await serviceWith();
  const { sessionId } = await service.createSession({});
  const origin = { author: "user" } as const;
  const messages = said("Always open the vault with 47114711471.");
  await service.appendMessages({ sessionId, messages, origin });
  expect(await service.listKnowledge({ kind: "preference" })).toHaveLength(1);
  await service.forgetMemory({ sessionId });
  expect(await service.listKnowledge({})).toEqual([]);
  expect(await service.searchMemory({ query: "vault" })).toEqual([]);
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  expect(JSON.stringify(log)).not.toContain("47114711471");
});

test("forgetting one thing that a user said takes it out of an appended message, and leaves the rest", async () => {
  const { service, stores } = await serviceWith({ compaction: {} });
  const { sessionId } = await service.createSession({});
  const origin = { author: "user" } as const;
  const messages = said("Always open the vault with 47114711471. Never paint the fence.");
  await service.appendMessages({ sessionId, messages, origin });
  const [vault] = await service.listKnowledge({ kind: "preference", query: "vault" });
  await service.forgetKnowledge({ knowledgeId: vault?.id ?? "" });
  const log = JSON.stringify(await Array.fromAsync(stores.events.read(sessionId, 0)));
  expect(log).not.toContain("47114711471");
  expect(log).toContain("Never paint the fence.");
  const { instructions } = await service.read({ sessionId });
  expect(instructions.map(({ text }) => text)).toEqual(["Never paint the fence."]);
});

test("forgetting a session takes the arguments of appended calls too, as of its own", async () => {
  const { service, stores } = await serviceWith();
  const { sessionId } = await service.createSession({});
  const messages: Message[] = [
    ...said("Open it."),
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "a", name: "open", args: { code: "47114711471" } }],
    },
    { role: "tool_results", results: [{ tool_use_id: "a", content: "Open.", is_error: false }] },
  ];
  await service.appendMessages({ sessionId, messages });
  await service.forgetMemory({ sessionId });
  const log = JSON.stringify(await Array.fromAsync(stores.events.read(sessionId, 0)));
  expect(log).not.toContain("47114711471");
  expect(log).toContain('"name":"open"');
});

test("a client of an MCP server that offers less is told how to get the rest", async () => {
  const { service } = await serviceWith();
  const server = await serveMcpHttp({ service, port: 0 });
  const client = await connectMcp({ url: server.url });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  expect(await client.searchMemory({ query: "vault" })).toEqual([]);
  await expect(client.createSession({})).rejects.toMatchObject({
    code: "SERVICE_UNAVAILABLE",
    message: expect.stringContaining(
      'This server does not offer the tool "session_create". Start it with --tools',
    ),
    hint: expect.stringContaining("rkat mcp --tools all"),
  });
});
