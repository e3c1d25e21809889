import type { ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import type { McpServer } from "../src/core/mcp-server.ts";
import { openServerTools } from "../src/surfaces/mcp/server-tools.ts";
import { mcpAddress } from "./support/mcp-address.ts";

/** A request of the client, to a server that is not as the test's own package would be. */
interface Asked {
  readonly verb: string;
  readonly path: string;
  readonly session: string | undefined;
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string };
  readonly response: ServerResponse;
}

/** Answers as an MCP server of 2025 does, where `special` does not. It ends connections between requests, as a server that is started again. */
async function remoteServer(
  special: (asked: Asked) => boolean,
): Promise<NonNullable<McpServer["address"]>> {
  return await mcpAddress(async (request, response) => {
    const body = await text(request);
    const asked: Asked = {
      verb: request.method ?? "",
      path: request.url ?? "",
      session: request.headers["mcp-session-id"] as string | undefined,
      ...(body === "" ? {} : JSON.parse(body)),
      response,
    };
    if (!special(asked)) usual(asked);
  });
}

function usual({ id, method, params, response }: Asked): void {
  if (id === undefined) return void response.writeHead(method ? 202 : 405).end();
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answerTo(method, params) }));
}

function answerTo(method = "", params: Asked["params"] = {}): object {
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "remote", version: "1" },
    },
    "tools/list": { tools: [{ name: "look", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: `${params.name} was called` }] },
  };
  const result = results[method];
  return result ? { result } : { error: { code: -32601, message: "There is no such method." } };
}

async function opened(address: McpServer["address"] & object, more: object = {}) {
  const { tools, problems, close } = await openServerTools([
    { name: "it", address, timeoutMs: 5_000, startMs: 5_000, ...more },
  ]);
  onTestFinished(close);
  const call = async () =>
    await tools()[0]?.execute(
      {},
      { sessionId: "s", toolUseId: "t", signal: AbortSignal.timeout(4_000) },
    );
  return { problems, call };
}

const LOOKED = { content: "look was called", is_error: false };

test.for([
  [404, "Session not found"],
  [400, "Bad Request: No valid session ID provided"],
] as const)(
  "a server that has forgotten the session gets another one, and the call (%s)",
  async ([status, message]) => {
    const sessions = new Set<string>();
    const calls: string[] = [];
    const address = await remoteServer(({ id, method, params, session = "", response }) => {
      if (method === "initialize") {
        const fresh = crypto.randomUUID();
        sessions.add(fresh);
        response.setHeader("mcp-session-id", fresh);
        return false;
      }
      if (id === undefined || method === "server/discover") return false;
      if (!sessions.has(session)) {
        const error = { code: -32000, message };
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
        return true;
      }
      if (method === "tools/call") calls.push(params?.name ?? "");
      return false;
    });
    const { call, problems } = await opened(address);
    expect(problems).toEqual([]);
    sessions.clear();
    expect(await call()).toEqual(LOOKED);
    sessions.clear();
    expect(await Promise.all([call(), call()])).toEqual([LOOKED, LOOKED]);
    expect(calls).toEqual(["look", "look", "look"]);
  },
);

test("a call that a server refuses for another reason is not repeated", async () => {
  let calls = 0;
  const address = await remoteServer(({ method, response }) => {
    if (method !== "tools/call") return false;
    calls += 1;
    response.writeHead(400).end("The page has no such field.");
    return true;
  });
  const { call } = await opened(address);
  await expect(call()).rejects.toThrow("The page has no such field.");
  expect(calls).toBe(1);
});

test("a stream that ends before the answer fails the call at once", async () => {
  const address = await remoteServer(({ method, response }) => {
    if (method !== "tools/call") return false;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": wait\n\n");
    setTimeout(() => response.end(), 50);
    return true;
  });
  const { call } = await opened(address);
  const before = performance.now();
  await expect(call()).rejects.toThrow("ended before it answered");
  expect(performance.now() - before).toBeLessThan(3_000);
});

test("an address that leads to another one of the same server is followed, and one of another server is named", async () => {
  const asked: string[] = [];
  const elsewhere = await remoteServer(({ path }) => asked.push(path) < 0);
  const address = await remoteServer(({ path, response }) => {
    if (path === "/mcp/") return false;
    const location = path === "/mcp" ? "/mcp/" : elsewhere.url;
    response.writeHead(307, { location }).end();
    return true;
  });
  const { call, problems } = await opened(address);
  expect(problems).toEqual([]);
  expect(await call()).toEqual(LOOKED);

  const led = await opened({ ...address, url: `${address.url}/other` });
  expect(led.problems.join()).toContain(`Redirect to ${elsewhere.url} not followed`);
  expect(asked).toEqual([]);
});

test("an address where nothing listens is said to be one", async () => {
  const { problems } = await opened({ url: "http://127.0.0.1:9/mcp", headers: {}, isSse: false });
  expect(problems.join()).toMatch(/ECONNREFUSED|bad port/);
});

test.for([
  ["fails", ({ response }: Asked) => void response.writeHead(500).end("TypeError: no handler")],
  ["is silent", () => {}],
] as const)("a server that %s when it is asked for what is new has its tools", async ([, act]) => {
  const address = await remoteServer((asked) => {
    if (asked.method !== "server/discover") return false;
    act(asked);
    return true;
  });
  const { call, problems } = await opened(address);
  expect(problems).toEqual([]);
  expect(await call()).toEqual(LOOKED);
});

/** A server of the older transport: a GET is a stream, whose first event says where to send requests. */
async function streamingServer() {
  const streams = new Map<string, ServerResponse>();
  const address = await remoteServer((asked) => {
    const { verb, path, id, method, params, response } = asked;
    if (verb === "GET") {
      const name = crypto.randomUUID();
      streams.set(name, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?session=${name}\n\n`);
      return true;
    }
    const stream = streams.get(path.split("=")[1] ?? "");
    if (!stream) return response.writeHead(405).end("Method Not Allowed") !== undefined;
    response.writeHead(202).end("Accepted");
    if (id !== undefined) {
      const answer = { jsonrpc: "2.0", id, ...answerTo(method, params) };
      stream.write(`data: ${JSON.stringify(answer)}\n\n`);
    }
    return true;
  });
  return { address, streams };
}

test("a server of the older transport is found by its address, and asked again after its stream has ended", async () => {
  const { address, streams } = await streamingServer();
  const { call, problems } = await opened(address);
  expect(problems).toEqual([]);
  expect(await call()).toEqual(LOOKED);
  for (const stream of streams.values()) stream.end();
  streams.clear();
  await expect.poll(async () => await call().catch(() => undefined)).toEqual(LOOKED);
});
