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

test("with redact = log, no credential of an appended message is in the log", async () => {
  const { service, stores } = await serviceWith({ redact: "log" });
  const { sessionId } = await service.createSession({});
  const token = `ghp_${"a1B2".repeat(9)}`;
  await service.appendMessages({ sessionId, messages: said(`The token is ${token}.`) });
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  expect(JSON.stringify(log)).toContain("The token is [redacted");
  expect(JSON.stringify(log)).not.toContain(token);
});

test("what was appended is forgotten like what was said in a turn", async () => {
  const { service, stores } = await serviceWith();
  const { sessionId } = await service.createSession({});
  const origin = { author: "user" } as const;
  const messages = said("Always open the vault with 4711.");
  await service.appendMessages({ sessionId, messages, origin });
  expect(await service.listKnowledge({ kind: "preference" })).toHaveLength(1);
  await service.forgetMemory({ sessionId });
  expect(await service.listKnowledge({})).toEqual([]);
  expect(await service.searchMemory({ query: "vault" })).toEqual([]);
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  expect(JSON.stringify(log)).not.toContain("4711");
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
