import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { SessionError } from "../src/index.ts";
import { connectRest, createRestApp, type RestOptions, serveRest } from "../src/rest.ts";
import { BUILDS, type ScriptedReply } from "../src/testing.ts";
import { framesOf } from "./support/event-stream.ts";
import { INPUTS } from "./support/fuzz.ts";
import { GIVEN_SEED } from "./support/given-seed.ts";
import { hostileRequest } from "./support/hostile-request.ts";
import { temporaryFolder } from "./support/obey.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { startScriptedRest } from "./support/rest-process.ts";
import { Project } from "./support/rkat-process.ts";
import { note } from "./support/running-test.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { LONG, trials } from "./support/trials.ts";

const TOKEN = "correct-horse-battery-staple";
const HOSTILE_REQUESTS = INPUTS || trials(30, 10_000, "attacks");
const SEED = GIVEN_SEED ?? 20_260_101;

describe("who may ask", () => {
  test.each(["0.0.0.0", "::", "192.0.2.1", "rkat.example"])(
    "a server that others can reach, on %s, does not start without a token",
    async (host) => {
      const { service } = await open();
      await expect(serveRest({ service, port: 0, host })).rejects.toMatchObject({
        code: "INVALID_CONFIG",
        hint: expect.stringContaining("RKAT_TOKEN"),
      });
    },
  );

  test("`/` says what is here, as text or as JSON", async () => {
    const { ask } = await open({ version: "1.2.3" });
    const text = await ask("/");
    expect(text.headers.get("content-type")).toMatch(/^text\/plain/);
    expect(await text.text()).toMatch(/^rkat 1\.2\.3\n.*\/openapi\.json.*\/health.*\/sessions/s);
    const json = await ask("/", { headers: { accept: "application/json" } });
    expect(await json.json()).toEqual({
      name: "rkat",
      version: "1.2.3",
      description: expect.stringContaining("Sessions that remember"),
      needs_token: false,
      links: {
        openapi: "/openapi.json",
        health: "/health",
        ready: "/ready",
        sessions: "/sessions",
      },
    });
  });

  test("a stranger to a server with a token learns that it is up and wants a token, and no version", async () => {
    const { ask } = await open({ version: "1.2.3", token: TOKEN });
    const authorized = { headers: { authorization: `Bearer ${TOKEN}` } };
    for (const path of ["/", "/health"]) {
      const shown = await ask(path);
      expect(shown.status).toBe(200);
      const text = await shown.text();
      expect(text).not.toContain("1.2.3");
      expect(text).not.toContain(TOKEN);
      expect(await (await ask(path, authorized)).text()).toContain("1.2.3");
    }
    const told = await (await ask("/")).text();
    expect(told).toContain("Authorization: Bearer <token>");
    // The proxy before it may speak TLS, and a request without a token is refused.
    expect(told).not.toMatch(/curl|http:/);
    const json = await ask("/", { headers: { accept: "application/json" } });
    expect(await json.json()).toMatchObject({ needs_token: true });
  });

  test("every route but /, /health and /ready wants the token", async () => {
    const { ask } = await open({ token: TOKEN });
    for (const path of ["/health", "/ready"]) expect((await ask(path)).status).toBe(200);
    for (const path of [
      "/sessions",
      "/metrics",
      "/openapi.json",
      "/sessions/x/events",
      "/nowhere",
    ]) {
      const refused = await ask(path);
      expect(refused.status, path).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="rkat"');
      expect(await codeOf(refused)).toBe("UNAUTHORIZED");
      const wrong = await ask(path, { headers: { authorization: `Bearer ${TOKEN}x` } });
      expect(wrong.status, path).toBe(401);
      expect(JSON.stringify(await wrong.json())).not.toContain(TOKEN);
    }
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect((await ask("/sessions", { headers })).status).toBe(200);
  });

  test("a client sends its token, and is told when it is the wrong one", async () => {
    const { service } = await open();
    const server = await serveRest({ service, port: 0, token: TOKEN });
    onTestFinished(() => server.close({ graceMs: 0 }));
    expect(await connectRest({ url: server.url, token: TOKEN }).list({})).toEqual([]);
    const failure = await connectRest({ url: server.url }).list({}).catch(SessionError.from);
    expect(failure).toMatchObject({
      code: "UNAUTHORIZED",
      hint: expect.stringMatching(/RKAT_TOKEN.*--user-tokens/),
    });
  });

  test("a port that is in use is named, with the flag that chooses another", async () => {
    const { service } = await open();
    const server = await serveRest({ service, port: 0 });
    onTestFinished(() => server.close({ graceMs: 0 }));
    await expect(serveRest({ service, port: server.port })).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      message: `Port ${server.port} is in use.`,
      hint: expect.stringContaining("`--port`"),
    });
  });

  test("a wrong path or method is refused with the way to the right one", async () => {
    const { ask } = await open();
    const refused = async (method: string, path: string) => (await ask(path, { method })).json();
    expect(await refused("GET", "/nowhere")).toMatchObject({
      message: "No route has the path /nowhere.",
      hint: expect.stringContaining("/openapi.json"),
    });
    expect(await refused("PUT", "/sessions")).toMatchObject({
      hint: expect.stringMatching(/^It takes .*GET.*\/openapi\.json/),
    });
  });

  test("a name that is not the server's own is refused, wherever it points", async () => {
    const { ask } = await open({ hosts: ["rkat.example"] });
    const asked = async (host: string) => (await ask("/health", { headers: { host } })).status;
    for (const host of [
      "localhost",
      "127.0.0.1:8080",
      "[::1]:80",
      "rkat.example",
      "RKAT.example:1",
    ]) {
      expect(await asked(host), host).toBe(200);
    }
    for (const host of [
      "evil.example",
      "localhost.evil.example",
      "127.0.0.1.nip.io",
      "10.0.0.1",
      "",
    ]) {
      expect(await asked(host), host).toBe(403);
    }
  });

  test.each(["https://rkat.example", "rkat.example/", "*.rkat.example", "a b"])(
    "a host that no request can name, %j, is refused when the server starts",
    async (host) => {
      const { service } = await open();
      await expect(serveRest({ service, port: 0, hosts: [host] })).rejects.toMatchObject({
        code: "INVALID_CONFIG",
        message: `${JSON.stringify(host)} is not the name of a host.`,
        hint: "Write it without a scheme, a path or a star, such as rkat.example.com.",
      });
    },
  );

  test("a server on every address answers to any address, but to no name", async () => {
    const { service } = await open();
    const server = await serveRest({ service, port: 0, host: "0.0.0.0", token: TOKEN });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const asked = (host: string) =>
      raw(server.port, `GET /health HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(await asked("192.0.2.7")).toMatch(/^HTTP\/1.1 200/);
    expect(await asked("evil.example")).toMatch(/^HTTP\/1.1 403/);
    expect(
      await raw(server.port, "GET http://evil.example/health HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ).toMatch(/^HTTP\/1.1 403/);
  });

  test("a page of somebody else's is refused, even where a browser would not ask first", async () => {
    const { ask } = await open();
    for (const origin of ["https://evil.example", "null", "http://localhost:3000"]) {
      const response = await ask("/sessions", { method: "POST", headers: { origin } });
      expect(response.status, origin).toBe(403);
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
    }
    expect((await ask("/health", { headers: { origin: "http://localhost" } })).status).toBe(200);
  });

  test("a page of somebody else's loads nothing as a picture, a script, a frame or a stream", async () => {
    const { ask } = await open({});
    const loaded = (site: string, dest: string) =>
      ask("/history/search?query=a", {
        headers: { "sec-fetch-site": site, "sec-fetch-dest": dest },
      });
    for (const site of ["cross-site", "same-site", "made-up"]) {
      for (const dest of ["image", "script", "iframe", "empty", ""]) {
        expect((await loaded(site, dest)).status, `${site} ${dest}`).toBe(403);
      }
    }
    for (const site of ["none", "same-origin"])
      expect((await loaded(site, "empty")).status).toBe(200);
    // A person who follows a link.
    expect((await loaded("cross-site", "document")).status).toBe(200);
  });

  test("a page that is configured may call, and its browser may ask before it has the token", async () => {
    const origin = "https://app.example";
    const { ask } = await open({ cors: [origin], token: TOKEN });
    const preflight = await ask("/sessions", {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    const headers = { origin, authorization: `Bearer ${TOKEN}` };
    const response = await ask("/sessions", { method: "POST", headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });
});

describe("what may be asked", () => {
  test("every answer is not to be sniffed nor stored", async () => {
    const { ask } = await open();
    for (const path of ["/health", "/nowhere", "/sessions", "/sessions/x"]) {
      const { headers } = await ask(path);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  test("an unknown path is 404, a wrong method 405 with those that are right", async () => {
    const { ask } = await open();
    expect((await ask("/nowhere")).status).toBe(404);
    expect((await ask("/sessions/")).status).toBe(404);
    for (const method of ["PUT", "PATCH", "OPTIONS", "HEAD"]) {
      const { status, headers } = await ask("/sessions", { method });
      expect([status, headers.get("allow")]).toEqual([405, "POST, GET"]);
    }
    expect((await ask("/sessions/x/events", { method: "HEAD" })).status).toBe(405);
    expect((await ask("/health", { method: "HEAD" })).status).toBe(200);
  });

  test.each([
    ["nothing that is JSON", "{", {}, 400],
    ["no UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), {}, 400],
    ["a list", "[]", {}, 400],
    ["null", "null", {}, 400],
    ["more nesting than anybody writes", `{"a":${"[".repeat(1e5)}${"]".repeat(1e5)}}`, {}, 400],
    ["a name as the code has it", '{"systemPrompt":"x"}', {}, 400],
    ["a field that there is not", '{"colour":"red"}', {}, 400],
    ["a form", "a=b", { "content-type": "application/x-www-form-urlencoded" }, 415],
    ["text", "{}", { "content-type": "text/plain" }, 415],
    ["JSON, compressed", "{}", { "content-encoding": "gzip" }, 415],
    ["too much", JSON.stringify({ system_prompt: "x".repeat(2000) }), {}, 413],
  ] as const)("a body with %s is refused", async (_, body, headers, status) => {
    const { ask } = await open({ limits: { bodyBytesMax: 1000 + 2e5 * Number(status === 400) } });
    const response = await ask("/sessions", {
      method: "POST",
      body,
      headers: { "content-type": "application/json", ...headers },
    });
    expect(response.status).toBe(status);
    expect(await codeOf(response)).toBe("INVALID_PARAMS");
  });

  test("a body that does not say how long it is, is received up to the limit", async () => {
    const { ask } = await open({ limits: { bodyBytesMax: 1000 } });
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 100;
        controller.enqueue(new Uint8Array(100).fill(0x20));
      },
    });
    const headers = { "content-type": "application/json" };
    const response = await ask("/sessions", { method: "POST", body, headers, duplex: "half" });
    expect(response.status).toBe(413);
    expect(sent).toBeLessThan(2000);
  });

  test("all bodies together are received up to a limit", async () => {
    const { ask } = await open({ limits: { allBodiesBytesMax: 1000 } });
    const endless = () => {
      const { readable, writable } = new TransformStream();
      void writable.getWriter().write(new Uint8Array(600));
      return readable;
    };
    const headers = { "content-type": "application/json" };
    const post = () =>
      ask("/sessions", { method: "POST", body: endless(), headers, duplex: "half" });
    void post();
    const response = await post();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await codeOf(response)).toBe("SERVICE_UNAVAILABLE");
  });

  test("the path says which session; a body that says another is refused, and so is a query", async () => {
    const { ask } = await open();
    const post = (path: string, body: object) =>
      ask(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      });
    const other = await post("/sessions/a/messages", { session_id: "b", prompt: "hi" });
    expect(other.status).toBe(400);
    const same = await post("/sessions/a/messages", { session_id: "a", prompt: "hi" });
    expect(same.status).toBe(404);
    expect((await post("/sessions?model=x", {})).status).toBe(400);
  });

  test("what is no HTTP at all, or has an endless head, is answered as an error too", async () => {
    const { port } = await serve();
    expect(await raw(port, "HELLO\r\n\r\n")).toMatch(/^HTTP\/1.1 400 .*"INVALID_PARAMS"/s);
    const head = `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(await raw(port, head)).toMatch(
      /^HTTP\/1.1 431 .*"The address and the headers of the request have more than 16 KiB\."/s,
    );
  });
});

describe("a client of HTTP/1.0", () => {
  test("gets events without chunks, which it does not know", async () => {
    const { service, port, server } = await serve();
    const { sessionId } = await service.createSession({});
    const socket = connect(port, "127.0.0.1");
    socket.write(
      `GET /sessions/${sessionId}/events?after_seq=0 HTTP/1.0\r\nHost: localhost\r\n\r\n`,
    );
    await once(socket, "readable");
    await server.close({ graceMs: 0 });
    const [head = "", body = ""] = (await text(socket)).split(/\r\n\r\n/);
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(framesOf(body).at(-1)).toMatchObject({ event: "done" });
    expect(body).toMatch(/^retry: /);
  });
});

describe("how much may be asked", () => {
  test("more turns than may run are refused, with the time to come back", async () => {
    const { service, url } = await serve([{ text: "slow", delayMs: 60_000 }], {
      limits: { turnsMax: 1 },
    });
    const client = connectRest({ url });
    const [a, b] = [await client.createSession({}), await client.createSession({})];
    const begun = Promise.withResolvers<void>();
    const first = client
      .startTurn({ ...a, prompt: "hi" }, { onEvent: () => begun.resolve() })
      .catch(SessionError.from);
    await begun.promise;
    const second = await client.startTurn({ ...b, prompt: "hi" }).catch(SessionError.from);
    expect(second).toMatchObject({ code: "SERVICE_UNAVAILABLE", retry: { afterMs: 1000 } });
    await service.interrupt(a);
    expect(await first).toMatchObject({ code: "TURN_INTERRUPTED" });
    expect((await client.startTurn({ ...b, prompt: "hi" })).text).toBe("ok");
  });

  test("more streams than may be open are refused, until one is closed", async () => {
    const { service, url } = await serve([], { limits: { streamsMax: 1 } });
    const { sessionId } = await service.createSession({});
    const events = `${url}/sessions/${sessionId}/events`;
    const leave = new AbortController();
    expect((await fetch(events, { signal: leave.signal })).status).toBe(200);
    expect((await fetch(events)).status).toBe(503);
    leave.abort();
    await expect.poll(async () => (await fetch(events)).status).toBe(200);
  });

  const timeout = 60_000 + 20 * HOSTILE_REQUESTS;
  test(`${HOSTILE_REQUESTS} hostile requests are all answered, and the server lives on`, {
    timeout,
  }, async () => {
    const setup = { capabilities: BUILDS.F ?? [] };
    const server = await startScriptedRest(await temporaryFolder(), setup);
    const client = connectRest({ url: server.url });
    const { sessionId } = await client.createSession({});
    const port = Number(new URL(server.url).port);
    let next = 0;
    const unanswered: string[] = [];
    const statuses = new Map<string, number>();
    const attack = async () => {
      while (next < HOSTILE_REQUESTS) {
        const request = hostileRequest(SEED + next++, sessionId);
        const answer = await raw(port, request.bytes, request.leaves);
        const status = /^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? "closed";
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === "500" || (status === "closed" && !request.mayClose)) {
          unanswered.push(`${status}: ${request.bytes.toString("latin1").slice(0, 300)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: 8 }, attack));
    expect(unanswered).toEqual([]);
    expect((await client.startTurn({ sessionId, prompt: "still there?" })).text).toBe("ok");
    if (LONG) note(`answers: ${JSON.stringify(Object.fromEntries([...statuses].sort()))}`);
    const { rss, heapUsed } = await server.memory();
    expect(heapUsed).toBeLessThan(100e6);
    const megabytes = [rss, heapUsed].map((bytes) => Math.round(bytes / 1e6));
    if (LONG) note(`MB [rss, heap] after ${HOSTILE_REQUESTS} hostile requests: ${megabytes}`);
  });
});

describe("the end of a server", () => {
  test("waits for a turn that ends in time, and its reader gets all of it", async () => {
    const { service, url, server } = await serve([{ text: "in time", delayMs: 200 }]);
    const { sessionId } = await service.createSession({});
    const watcher = fetch(`${url}/sessions/${sessionId}/events?after_seq=0`).then((r) => r.text());
    const begun = Promise.withResolvers<void>();
    const turn = connectRest({ url }).startTurn(
      { sessionId, prompt: "hi" },
      { onEvent: () => begun.resolve() },
    );
    await begun.promise;
    const closed = server.close({ graceMs: 10_000 });
    await expect(fetch(`${url}/health`)).rejects.toThrow();
    expect((await turn).text).toBe("in time");
    await closed;
    expect(framesOf(await watcher).at(-1)).toMatchObject({ event: "done" });
  });

  test("interrupts a turn that does not end in time, and the session goes on afterwards", async () => {
    const { service, url, server } = await serve([{ text: "never", delayMs: 60_000 }]);
    const { sessionId } = await service.createSession({});
    const begun = Promise.withResolvers<void>();
    const turn = connectRest({ url })
      .startTurn({ sessionId, prompt: "hi" }, { onEvent: () => begun.resolve() })
      .catch(SessionError.from);
    await begun.promise;
    await server.close({ graceMs: 20 });
    expect(await turn).toMatchObject({ code: "TURN_INTERRUPTED" });
    expect((await service.startTurn({ sessionId, prompt: "go on" })).text).toBe("ok");
  });

  test("does not wait for a reader that reads nothing", async () => {
    const { service, port, server } = await serve();
    const { sessionId } = await service.createSession({});
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    await once(socket, "connect");
    socket.write(`GET /sessions/${sessionId}/events HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    socket.pause();
    await sleep(50);
    await server.close({ graceMs: 0 });
  });
});

describe("`rkat serve`", () => {
  test("refuses an address that others can reach, unless there is a token", async () => {
    const project = await Project.open();
    const { code, stderr } = await project.rkat(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect(code).toBe(3);
    expect(stderr).toContain("Others can reach 0.0.0.0, and no token is set.");
  });

  test("serves until it is told to end, and its token is in nothing that it says", async () => {
    const project = await Project.open();
    const { child, ended, url } = await startServing(project, ["--host", "0.0.0.0"], {
      RKAT_TOKEN: TOKEN,
    });
    const client = connectRest({ url, token: TOKEN });
    const { sessionId } = await client.createSession({});
    await client.startTurn({ sessionId, prompt: "hi" }).catch(() => {});
    expect((await client.list({})).map((session) => session.sessionId)).toEqual([sessionId]);
    child.kill("SIGTERM");
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    expect(stdout + stderr).not.toContain(TOKEN);
  });

  test("ends at once when it is told twice; what was in the log is there for the next", async () => {
    const provider = await providerForTest([{ text: "nev", interruption: "hang" }, "back"]);
    const project = await Project.open({ provider });
    const first = await startServing(project, ["--drain", "10s"]);
    const client = connectRest({ url: first.url });
    const { sessionId } = await client.createSession({});
    const begun = Promise.withResolvers<void>();
    const turn = client
      .startTurn({ sessionId, prompt: "wait" }, { onEvent: () => begun.resolve() })
      .catch(SessionError.from);
    await begun.promise;
    first.child.kill("SIGTERM");
    await expect.poll(() => fetch(`${first.url}/health`).catch(() => "refused")).toBe("refused");
    first.child.kill("SIGTERM");
    // The signal itself ends it: an exit could wait for a call of the system.
    await first.ended;
    expect(first.child.signalCode).toBe("SIGTERM");
    expect(await turn).toMatchObject({ code: "SERVICE_UNAVAILABLE" });

    const resumed = await project.rkat(["resume", sessionId, "go on"]);
    expect(resumed.stdout).toBe("back\n");
  });
});

/** `rkat serve`, once it says where. */
async function startServing(
  project: Project,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const running = project.start(["serve", "--port", "0", ...args], "", env);
  const port = await new Promise<string>((resolve) => {
    let said = "";
    running.child.stderr?.on("data", (text) => {
      said += text;
      const [, found] = /:(\d+) \((?:no|with a) token\)/.exec(said) ?? [];
      if (found) resolve(found);
    });
  });
  return { ...running, url: `http://127.0.0.1:${port}` };
}

/** An app in this process that is asked without a socket. */
async function open(options: Partial<RestOptions> = {}) {
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
  });
  onTestFinished(close);
  const app = createRestApp({ service, ...options });
  const ask = (path: string, init: RequestInit & { duplex?: "half" } = {}) =>
    app.fetch(new Request(`http://localhost${path}`, init as RequestInit));
  return { service, ask };
}

/** A server in this process. */
async function serve(replies: readonly ScriptedReply[] = [], options: Partial<RestOptions> = {}) {
  const { service, close } = scriptedService(await temporaryFolder(), {
    capabilities: BUILDS.F ?? [],
    replies,
  });
  const server = await serveRest({ service, port: 0, ...options });
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await close();
  });
  return { service, server, url: server.url, port: server.port };
}

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { readonly code: string }).code;
}

/** Sends bytes as they are, and returns what comes back until there is an answer or the end. */
function raw(port: number, bytes: string | Uint8Array, leaves = false): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(bytes);
      if (leaves) socket.end();
    });
    let answer = "";
    const done = () => {
      socket.destroy();
      resolve(answer);
    };
    socket.setEncoding("latin1").setTimeout(5000, done);
    socket.on("data", (text) => {
      // That one may go on is not yet the answer.
      answer = (answer + text).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
      const [head, body = ""] = answer.split(/\r\n\r\n(.*)/s);
      const [, length] = /content-length: (\d+)/i.exec(head ?? "") ?? [];
      const complete =
        length === undefined ? answer.includes("\r\n\r\n") : body.length >= Number(length);
      if (complete) done();
    });
    socket.on("error", done);
    socket.on("close", done);
  });
}
