import { request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { connectMcp, serveMcpHttp } from "../src/mcp.ts";
import { BUILDS } from "../src/testing.ts";
import { INITIALIZE, LIST } from "./support/mcp-requests.ts";
import { temporaryFolder } from "./support/obey.ts";
import { scriptedService } from "./support/scripted-service.ts";

async function serve(options: Omit<Parameters<typeof serveMcpHttp>[0], "service"> = {}) {
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
  });
  const server = await serveMcpHttp({ service, tools: ["all"], port: 0, ...options });
  onTestFinished(async () => {
    await server.close();
    await close();
  });
  return server;
}

interface Answer {
  readonly status: number;
  readonly session: string | undefined;
  readonly body: string;
}

/** A bare request, with headers that `fetch` would not let anybody set. */
function post(url: string, body: unknown, headers: Record<string, string> = {}, method = "POST") {
  return new Promise<Answer>((resolve, reject) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const accept = "application/json, text/event-stream";
    const all = { "content-type": "application/json", accept, ...headers };
    const sent = request(url, { method, headers: all, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          session: response.headers["mcp-session-id"] as string | undefined,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

test("a page whose name was made to point here is not answered, nor one of another site", async () => {
  const { url, port } = await serve();
  expect((await post(url, INITIALIZE)).status).toBe(200);
  expect((await post(url, INITIALIZE, { host: `evil.example:${port}` })).status).toBe(403);
  expect((await post(url, INITIALIZE, { origin: "https://evil.example" })).status).toBe(403);
  expect((await post(url, INITIALIZE, { origin: `http://127.0.0.1:${port}` })).status).toBe(200);
});

test("an address that others can reach needs a token, and the token is asked for", async () => {
  await expect(serve({ host: "0.0.0.0" })).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  const { url } = await serve({ token: "a-long-secret" });
  expect((await post(url, INITIALIZE)).status).toBe(401);
  expect((await post(url, INITIALIZE, { authorization: "Bearer other" })).status).toBe(401);
  for (const era of ["modern", "legacy"] as const) {
    const service = await connectMcp({ url, token: "a-long-secret", era });
    expect(await service.list({})).toEqual([]);
    await service.close();
  }
  await expect(connectMcp({ url })).rejects.toMatchObject({ code: "SERVICE_UNAVAILABLE" });
});

test("what is no message of MCP is refused", async () => {
  const { url } = await serve();
  const status = async (...args: Parameters<typeof post>) => (await post(...args)).status;
  expect(await status(url, "{")).toBe(400);
  expect(await status(url, "null")).toBe(400);
  expect(await status(url, INITIALIZE, { "content-type": "text/plain" })).toBe(415);
  expect(await status(url, "x".repeat(33 * 1024 * 1024))).toBe(413);
  expect(await status(url, LIST)).toBe(400);
  expect(await status(url, LIST, { "mcp-session-id": "nobody" })).toBe(404);
  expect(await status(url.replace("/mcp", "/else"), LIST)).toBe(404);
  expect((await post(url, "{")).body).toContain("-32700");
});

/** Begins sessions of the transport, and lists the tools in one of them. */
async function transport(limits: Parameters<typeof serve>[0]) {
  const { url } = await serve(limits);
  return {
    url,
    begin: async () => (await post(url, INITIALIZE)).session ?? "",
    list: async (id: string) => (await post(url, LIST, { "mcp-session-id": id })).status,
  };
}

test("sessions of the transport are bounded, and end when their client says so", async () => {
  const { url, begin, list } = await transport({ transportSessionsMax: 2 });
  const [first, second] = [await begin(), await begin()];
  expect(await list(first)).toBe(200);
  // The one that was idle for longest makes room.
  const third = await begin();
  expect(await list(second)).toBe(404);
  expect(await list(third)).toBe(200);
  expect((await post(url, "", { "mcp-session-id": third }, "DELETE")).status).toBe(200);
  expect(await list(third)).toBe(404);
});

test("a session of the transport that nobody uses expires", async () => {
  const { begin, list } = await transport({ transportSessionIdleMs: 150 });
  const first = await begin();
  // To ask is to use it, so it is asked seldom.
  await expect.poll(() => list(first), { interval: 500 }).toBe(404);
});
