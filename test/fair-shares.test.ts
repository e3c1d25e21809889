import { expect, onTestFinished, test } from "vitest";
import { SessionError } from "../src/index.ts";
import { serveMcpHttp } from "../src/mcp.ts";
import { connectRest, type RestOptions, serveRest } from "../src/rest.ts";
import { BUILDS, type ScriptedReply } from "../src/testing.ts";
import { INITIALIZE, LIST } from "./support/mcp-requests.ts";
import { temporaryFolder } from "./support/obey.ts";
import { scriptedService } from "./support/scripted-service.ts";

const TOKENS = { ada: "the-token-of-ada-1", bob: "the-token-of-bob-2" };
type User = keyof typeof TOKENS;
const USED_UP = { code: "SERVICE_UNAVAILABLE", retry: { afterMs: 1000 } };

async function served(replies: readonly ScriptedReply[] = []) {
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
    replies,
  });
  onTestFinished(close);
  return service;
}

const authorized = (user: User) => ({ authorization: `Bearer ${TOKENS[user]}` });

/** A server for Ada and Bob. */
async function rest(
  limits: NonNullable<RestOptions["limits"]>,
  replies: readonly ScriptedReply[] = [],
) {
  const service = await served(replies);
  const server = await serveRest({ service, port: 0, userTokens: TOKENS, limits });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { url } = server;
  return {
    url,
    as: (user: User) => connectRest({ url, token: TOKENS[user] }),
    ask: (user: User, path: string, init: RequestInit & { duplex?: "half" } = {}) =>
      fetch(`${url}${path}`, { ...init, headers: { ...init.headers, ...authorized(user) } }),
  };
}

/** Begins a turn that goes on until the server ends. */
async function turnOf(client: ReturnType<typeof connectRest>): Promise<SessionError | undefined> {
  const { sessionId } = await client.createSession({});
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const turn = client.startTurn({ sessionId, prompt: "go on" }, { onEvent: () => resolve() });
  return await Promise.race([
    begun.then(() => undefined),
    turn.then(() => undefined, SessionError.from),
  ]);
}

test("one user's turns leave room for those of another", async () => {
  const slow = { text: "slow", delayMs: 60_000 };
  const { as, ask } = await rest({ turnsMax: 4 }, [slow, slow, slow]);
  const ada = as("ada");
  expect([await turnOf(ada), await turnOf(ada)]).toEqual([undefined, undefined]);
  expect(await turnOf(ada)).toMatchObject(USED_UP);
  const { sessionId } = await ada.createSession({});
  const refused = await ask("ada", `/sessions/${sessionId}/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "one more" }),
  });
  // A 503 would tell a load balancer that the server is down, for Bob too.
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await turnOf(as("bob"))).toBeUndefined();
});

test("one user's streams leave room for those of another, and a closed one can be opened again", async () => {
  const { as, ask } = await rest({ streamsMax: 4 });
  // An answer that is in use no more is closed when memory is tidied.
  const held: Response[] = [];
  const stream = async (user: User, init: RequestInit = {}) => {
    const { sessionId } = await as(user).createSession({});
    const answer = await ask(user, `/sessions/${sessionId}/events`, init);
    held.push(answer);
    return answer.status;
  };
  const leave = new AbortController();
  expect(await stream("ada", { signal: leave.signal })).toBe(200);
  expect(await stream("ada")).toBe(200);
  expect(await stream("ada")).toBe(429);
  expect(await stream("bob")).toBe(200);
  leave.abort();
  await expect.poll(() => stream("ada")).toBe(200);
});

/** A body that has begun and never ends. */
function begunBody(bytes: number): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  void writable.getWriter().write(new Uint8Array(bytes).fill(0x20));
  return readable;
}

test("one user's bodies leave room for those of another", async () => {
  const { ask } = await rest({ allBodiesBytesMax: 1000 });
  const headers = { "content-type": "application/json" };
  const send = (user: User, body: NonNullable<RequestInit["body"]>) =>
    ask(user, "/sessions", { method: "POST", headers, body, duplex: "half" });
  void send("ada", begunBody(500)).catch(() => {});
  await expect.poll(async () => (await send("ada", "{}")).status).toBe(429);
  expect((await send("bob", "{}")).status).toBe(200);
});

test("one user's imports leave room for those of another", async () => {
  const { ask } = await rest({ importsMax: 2 });
  const file = `${JSON.stringify({ messages: [{ role: "user", content: "hello" }] })}\n`;
  const send = (user: User, body: NonNullable<RequestInit["body"]>) =>
    ask(user, "/import?name=chat.jsonl", { method: "POST", body, duplex: "half" });
  void send("ada", begunBody(10)).catch(() => {});
  await expect.poll(async () => (await send("ada", file)).status).toBe(429);
  expect((await send("bob", file)).status).toBe(200);
});

/** Clients of MCP over HTTP, of a revision with sessions of the transport. */
async function mcp(transportSessionsMax: number) {
  const service = await served();
  const options = { service, port: 0, userTokens: TOKENS, tools: ["all"], transportSessionsMax };
  const server = await serveMcpHttp(options);
  onTestFinished(() => server.close());
  const send = (user: User, body: object | undefined, session?: string) =>
    fetch(server.url, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        ...authorized(user),
        accept: body === undefined ? "text/event-stream" : "application/json, text/event-stream",
        "content-type": "application/json",
        ...(session === undefined ? {} : { "mcp-session-id": session }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const begin = async (user: User) => {
    const response = await send(user, INITIALIZE);
    await response.text();
    return { status: response.status, id: response.headers.get("mcp-session-id") ?? "" };
  };
  return { send, begin, service };
}

test("over MCP, the clients of one user end no session of another's client", async () => {
  const { send, begin } = await mcp(4);
  const bob = await begin("bob");
  const mine = [];
  for (let index = 0; index < 6; index += 1) mine.push(await begin("ada"));
  expect(mine.map(({ status }) => status)).toEqual(Array(6).fill(200));
  expect((await send("bob", LIST, bob.id)).status).toBe(200);
  expect((await send("ada", LIST, mine.at(-1)?.id)).status).toBe(200);
  expect((await send("ada", LIST, mine[0]?.id)).status).toBe(404);
});

test("over MCP, clients of one user that all listen leave room for another's", async () => {
  const { send, begin } = await mcp(4);
  for (let index = 0; index < 2; index += 1) {
    const { id } = await begin("ada");
    expect((await send("ada", undefined, id)).status).toBe(200);
  }
  expect((await begin("ada")).status).toBe(429);
  expect((await begin("bob")).status).toBe(200);
});

test("over MCP, calls of one user leave room for another's", async () => {
  const { send, begin, service } = await mcp(4);
  const { sessionId } = await service.forUser("ada").createSession({});
  const { seq } = await service.forUser("ada").read({ sessionId });
  const [ada, bob] = [await begin("ada"), await begin("bob")];
  const wait = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: {
      name: "session_events",
      arguments: { session_id: sessionId, after_seq: seq, wait_ms: 60_000 },
    },
  });
  // Half of the 256 that may run.
  const waiting = Array.from({ length: 129 }, (_, index) => send("ada", wait(index), ada.id));
  const answered = await Promise.any(waiting.map(async (sent) => refusalIn(await sent)));
  expect(answered).toContain("Too many calls of this user at once: 128 are running.");
  const call = { ...wait(1), params: { name: "session_list", arguments: {} } };
  expect(await (await send("bob", call, bob.id)).text()).toContain('"sessions":[]');
});

/** The text of the one answer that comes: the others wait. */
async function refusalIn(response: Response): Promise<string> {
  const text = await response.text();
  if (!text.includes("Too many")) throw new Error("It was answered.");
  return text;
}
