import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { createSessionService, ephemeralStores, type Stores } from "../../src/index.ts";
import { createMcpServer } from "../../src/mcp.ts";
import { scriptedModel } from "../../src/testing.ts";
import { Project } from "../support/rkat-process.ts";
import { scriptedProvider } from "../support/scripted-provider.ts";

const CALL = { toolCalls: [{ id: "a", name: "datetime", args: {} }] };

/** A turn at a person's terminal that waits for approval. */
async function waitingAtATerminal(stores: Stores, answerers?: readonly ("user" | "model")[]) {
  const service = createSessionService({
    model: scriptedModel([CALL, "done"]),
    stores,
    approvals: {
      policies: { datetime: "ask" },
      timeoutMs: 1,
      ...(answerers ? { answerers } : {}),
    },
  });
  const { sessionId } = await service.createSession({});
  await service.startTurn({ sessionId, prompt: "what time is it?" });
  const [pending] = await service.listApprovals({ sessionId });
  onTestFinished(() => service.close());
  return { service, sessionId, approvalId: pending?.approvalId ?? "", pending };
}

/** A coding agent's connection to the same stores, with all tools. */
async function connected(stores: Stores, answerers?: readonly ("user" | "model")[]) {
  const service = createSessionService({
    model: "none",
    stores,
    ...(answerers ? { approvals: { answerers } } : {}),
  });
  const server = await createMcpServer({ service, tools: ["all"] });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "agent", version: "1" });
  await Promise.all([server.connect(there), client.connect(here)]);
  onTestFinished(async () => {
    await client.close();
    await service.close();
  });
  return async (args: Record<string, unknown>) => {
    const answered = await client.callTool({ name: "approval_answer", arguments: args });
    return answered.structuredContent as Record<string, unknown>;
  };
}

test("a model over MCP answers nothing that waits for a person, whoever it says it is", async () => {
  const stores = ephemeralStores();
  const { service, sessionId, approvalId, pending } = await waitingAtATerminal(stores);
  expect(pending?.mayAnswer).toEqual(["user"]);
  const answer = await connected(stores);
  const names = { session_id: sessionId, approval_id: approvalId };
  for (const decision of ["allow", "deny"]) {
    for (const origin of [
      undefined,
      { author: "user" },
      { author: "program" },
      { speaker: "Ada" },
    ]) {
      const result = await answer({ ...names, decision, ...(origin ? { origin } : {}) });
      expect(result).toMatchObject({ code: "NOT_POSSIBLE" });
      expect(result.hint).toContain("--may-approve");
    }
  }
  expect(await service.listApprovals({ sessionId })).toHaveLength(1);
  await service.answerApproval({ sessionId, approvalId, decision: "deny" });
  const result = await service.resume({ sessionId });
  expect(result.toolCalls).toBe(0);
});

test.each([
  ["the client", undefined, ["user", "model"] as const],
  ["the request", ["user", "model"] as const, undefined],
])(
  "a model answers where the person said so for %s, and the log says that it was a model",
  async (_, ofRequest, ofClient) => {
    const stores = ephemeralStores();
    const { service, sessionId, approvalId } = await waitingAtATerminal(stores, ofRequest);
    const answer = await connected(stores, ofClient);
    const names = { session_id: sessionId, approval_id: approvalId };
    expect(await answer({ ...names, decision: "allow" })).toMatchObject({ waiting: 0 });
    const events = [];
    for await (const { event } of stores.events.read(sessionId, 0)) events.push(event);
    expect(events.find(({ type }) => type === "tool_approval_resolved")).toMatchObject({
      decision: "allow",
      by: "model",
    });
    expect((await service.resume({ sessionId })).toolCalls).toBe(1);
  },
);

test("what waits at a terminal stays there when an agent starts `rkat mcp --tools all`", async () => {
  const provider = await scriptedProvider([CALL], async () => {});
  const project = await Project.open({ provider, config: '[tools.datetime]\npolicy = "ask"' });
  await project.rkat(["run", "what time is it?"]);
  const [waiting] = (await project.json(["approvals", "list", "--json"])) as {
    session_id: string;
    approval_id: string;
    may_answer: string[];
  }[];
  expect(waiting?.may_answer).toEqual(["user"]);
  const { session_id = "", approval_id = "" } = waiting ?? {};
  const params = {
    name: "approval_answer",
    arguments: { session_id, approval_id, decision: "allow" },
  };
  const ask = [
    {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: {},
        clientInfo: { name: "agent", version: "1" },
      },
    },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params },
  ];
  const lines = `${ask.map((message) => JSON.stringify(message)).join("\n")}\n`;
  const refused = await project.rkat(["mcp", "--tools", "all"], lines);
  expect(refused.stdout).toContain("waits for a person's approval");
  expect(await project.json(["approvals", "list", "--json"])).toHaveLength(1);
  const allowed = await project.rkat(["mcp", "--tools", "all", "--may-approve"], lines);
  expect(allowed.stdout).toContain('"waiting":0');
});
