import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { serveMcpHttp } from "../src/mcp.ts";
import { BUILDS, type ServiceSetup } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { scriptedMcpProgram, startHttp } from "./support/scripted-mcp.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { LONG } from "./support/trials.ts";

const SETUP: ServiceSetup = {
  capabilities: BUILDS.F ?? [],
  approvals: { answerers: ["user", "model"], policies: { datetime: "ask" }, timeoutMs: 30_000 },
  replies: [
    {
      toolCalls: [
        { id: "a", name: "datetime", args: { time_zone: "Europe/Berlin" } },
        { id: "b", name: "datetime", args: {} },
      ],
    },
    "I see",
  ],
};

const TRANSPORTS = {
  stdio: async (place: string) => new StdioClientTransport(await scriptedMcpProgram(place, SETUP)),
  "http, revision 2025-11-25": overHttp,
  "http, revision 2026-07-28": overHttp,
} as const;

async function overHttp(place: string) {
  const server = await (LONG ? startHttp(place, SETUP) : serveHere(place));
  onTestFinished(() => server.stop());
  return new StreamableHTTPClientTransport(new URL(server.url));
}

/** The same server in this process, which starts sooner. */
async function serveHere(place: string, setup = SETUP) {
  const { service, close } = scriptedService(place, setup);
  const server = await serveMcpHttp({ service, tools: ["all"], port: 0 });
  const stop = async () => {
    await server.close();
    await close();
  };
  return { url: server.url, service, stop };
}

async function connect(way: keyof typeof TRANSPORTS, elicitation: boolean) {
  const client = new Client(
    { name: "host", version: "1" },
    {
      capabilities: elicitation ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: way.endsWith("2026-07-28") ? { pin: "2026-07-28" } : "legacy" },
    },
  );
  return {
    client,
    async start() {
      const transport = await TRANSPORTS[way](await temporaryFolder());
      // Before the server ends, and the folder goes, which it may still write.
      onTestFinished(() => client.close());
      await client.connect(transport);
    },
  };
}

async function call(client: Client, name: string, args: Record<string, unknown>) {
  const { structuredContent } = await client.callTool({ name, arguments: args });
  return structuredContent as Record<string, unknown>;
}

/** Ids of the calls that wait. */
async function waiting(client: Client): Promise<readonly string[]> {
  const { approvals } = await call(client, "approval_list", {});
  return (approvals as { readonly approval_id: string }[]).map(({ approval_id }) => approval_id);
}

test.each(Object.keys(TRANSPORTS) as (keyof typeof TRANSPORTS)[])(
  "a host that can show forms asks its user, and the answers reach the turn (%s)",
  async (way) => {
    const { client, start } = await connect(way, true);
    const forms: string[] = [];
    client.setRequestHandler("elicitation/create", async ({ params }) => {
      forms.push(params.message);
      return forms.length === 1
        ? { action: "accept", content: { decision: "allow" } }
        : { action: "accept", content: { decision: "deny", reason: "Once is enough." } };
    });
    await start();
    const { session_id } = await call(client, "session_create", {});
    const turn = await call(client, "turn_start", { session_id, prompt: "what time is it?" });
    expect(turn).toMatchObject({ text: "I see", stop_reason: "end_turn", tool_calls: 1 });
    expect(forms[0]).toContain("May datetime run?");
    expect(forms[0]).toContain("Europe/Berlin");
    expect(forms[0]).toContain("For: what time is it?");
    const { entries } = await call(client, "knowledge_list", { kind: "correction" });
    expect(entries).toMatchObject([{ reason: "Once is enough." }]);
  },
);

test("a form that is closed leaves the call to others, and one that is declined denies it", async () => {
  const { client, start } = await connect("stdio", true);
  const actions = ["cancel", "decline"] as const;
  let shown = 0;
  client.setRequestHandler("elicitation/create", async () => {
    const action = actions[shown] ?? "cancel";
    shown += 1;
    return { action };
  });
  await start();
  const { session_id } = await call(client, "session_create", {});
  const turn = call(client, "turn_start", { session_id, prompt: "go" });
  await expect.poll(() => shown).toBe(2);
  await expect.poll(() => waiting(client)).toHaveLength(1);
  const [approval_id] = await waiting(client);
  await call(client, "approval_answer", { session_id, approval_id, decision: "allow" });
  expect(await turn).toMatchObject({ text: "I see", tool_calls: 1 });
});

test("a host without forms lists and answers what waits", async () => {
  const { client, start } = await connect("stdio", false);
  await start();
  const { session_id } = await call(client, "session_create", {});
  const turn = call(client, "turn_start", { session_id, prompt: "go" });
  for (let left = 2; left > 0; left -= 1) {
    await expect.poll(() => waiting(client)).toHaveLength(left);
    const [approval_id] = await waiting(client);
    const answer = { session_id, approval_id, decision: "deny", reason: "Not now." };
    expect(await call(client, "approval_answer", answer)).toMatchObject({ waiting: left - 1 });
  }
  expect(await turn).toMatchObject({ text: "I see", tool_calls: 0 });
});

test("a turn that went on without its host does not stand for the next turn", async () => {
  const asks = (id: string) => ({ toolCalls: [{ id, name: "datetime", args: {} }] });
  const replies = [asks("a"), "the first answer", asks("b"), "the second answer"];
  const { url, service, stop } = await serveHere(await temporaryFolder(), { ...SETUP, replies });
  onTestFinished(stop);
  const { client } = await connect("http, revision 2026-07-28", true);
  onTestFinished(() => client.close());
  let isOpen = false;
  client.setRequestHandler("elicitation/create", async () => {
    if (!isOpen) throw new Error("The host was closed.");
    return { action: "accept", content: { decision: "allow" } };
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { session_id } = await call(client, "session_create", {});
  const sessionId = String(session_id);
  await expect(call(client, "turn_start", { session_id, prompt: "one" })).rejects.toThrow("closed");
  const [waits] = await service.listApprovals({});
  const approvalId = waits?.approvalId ?? "";
  await service.answerApproval({ sessionId, approvalId, decision: "allow" });
  const answer = async () => (await service.read({ sessionId })).lastAssistantText;
  await expect.poll(answer).toBe("the first answer");
  isOpen = true;
  const turn = await call(client, "turn_start", { session_id, prompt: "two" });
  expect(turn).toMatchObject({ text: "the second answer" });
});
