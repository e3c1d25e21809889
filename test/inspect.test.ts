import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { newId } from "../src/core/ids.ts";
import { OPERATIONS } from "../src/core/operations.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS } from "../src/testing.ts";
import { RKAT } from "./support/built-package.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";

/** A server of the page, and what its command printed. */
interface Served {
  readonly url: string;
  readonly token: string;
  readonly printed: string;
  readonly child: ChildProcess;
}

const children: ChildProcess[] = [];
let reading: Served;
let writing: Served;
let beside: Served;
let root = "";
/** An entry of memory that was there before the servers. */
let added = "";
let project: Project;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "rkat-inspect-"));
  project = await Project.open({ root });
  const { service, close } = scriptedService(project.folder, { capabilities: BUILDS.F ?? [] });
  added = (await service.addMemory({ content: "The owner of staging is Mara." })).id;
  await close();
  [reading, writing, beside] = await Promise.all([
    serve(project, ["inspect", "--no-open"]),
    serve(project, ["inspect", "--no-open", "--write"]),
    serve(project, ["serve", "--port", "0", "--inspect"]),
  ]);
});

afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

async function serve(project: Project, args: readonly string[]): Promise<Served> {
  const child = spawn(process.execPath, [RKAT, ...args], {
    cwd: project.folder,
    env: project.env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  children.push(child);
  let printed = "";
  for await (const line of createInterface({ input: child.stderr as NodeJS.ReadableStream })) {
    printed += `${line}\n`;
    const [, url, token] = /(http:\/\/[\d.]+:\d+[\w/]*)\/#token=([\w-]+)/.exec(line) ?? [];
    if (url && token) return { url, token, printed, child };
  }
  throw new Error(`It did not start: ${printed}`);
}

/** The paths of the page and of its API, and some that nobody has. */
const PATHS = [
  "/",
  "/inspect-page.js",
  "/inspect-page.css",
  "/api/inspect",
  "/api/sessions",
  "/api/health",
  "/api/",
  "/x/../api/sessions",
  "/%2e%2e/api/sessions",
  "/nowhere",
];

const ask = ({ url, token }: Served, path: string, options: RequestInit = {}) =>
  fetch(`${url}${path}`, {
    ...options,
    headers: { authorization: `Bearer ${token}`, ...options.headers },
  });

/** Asks with headers that `fetch` would replace, and with a path that nobody made shorter. */
function askAs(
  { url }: Served,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const { hostname, port, pathname } = new URL(url);
  const full = `${pathname.replace(/\/$/, "")}${path}`;
  return new Promise((resolve, reject) => {
    request({ hostname, port, path: full, headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
  });
}

test.each(["the page's own server", "a REST server"])(
  "%s refuses another name and another page on every path, also without a token",
  async (which) => {
    const served = which === "a REST server" ? beside : reading;
    for (const path of PATHS) {
      for (const authorization of ["", `Bearer ${served.token}`]) {
        const asked = { authorization, host: "rebound.example" };
        expect(await askAs(served, path, asked), path).toBe(403);
        const { host } = new URL(served.url);
        const foreign = { authorization, host, origin: "https://evil.example" };
        expect(await askAs(served, path, foreign), path).toBe(403);
      }
    }
  },
);

test("the files of the page need no token and have none, and nothing of the API answers without it", async () => {
  for (const served of [reading, writing, beside]) {
    for (const path of PATHS) {
      const answer = await fetch(`${served.url}${path}`);
      const text = await answer.text();
      expect(text).not.toContain(served.token);
      if (["/", "/inspect-page.js", "/inspect-page.css"].includes(path)) {
        expect(answer.status).toBe(200);
      } else if (path !== "/api/health" && path !== "/api/") {
        expect([401, 404], `${path} ${answer.status}`).toContain(answer.status);
      }
    }
    for (const { http } of Object.values(OPERATIONS)) {
      if (http.method !== "GET") continue;
      const path = http.path.replaceAll(/\{\w+\}/g, "x");
      expect((await fetch(`${served.url}/api${path}`)).status, path).toBe(401);
    }
  }
});

test("every answer forbids scripts, frames and requests of others, and is not kept", async () => {
  for (const path of PATHS) {
    const { headers } = await ask(reading, path);
    const policy = headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "require-trusted-types-for 'script'",
    ]) {
      expect(policy, path).toContain(rule);
    }
    expect(policy).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
  }
});

test("the page is small: at most 60 KB as a browser loads it", async () => {
  const files = ["/", "/inspect-page.js", "/inspect-page.css"];
  const texts = await Promise.all(files.map(async (path) => (await ask(reading, path)).text()));
  const sizes = texts.map((text) => gzipSync(text).length);
  expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(60 * 1024);
});

test("it changes nothing without --write, and with it only for the page itself", async () => {
  const body = JSON.stringify({ content: "The port is 7443." });
  const headers = { "content-type": "application/json" };
  const own = (served: Served) => ({ ...headers, origin: new URL(served.url).origin });
  const refused = await ask(reading, "/api/memory", {
    method: "POST",
    body,
    headers: own(reading),
  });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({ hint: expect.stringContaining("--write") });
  for (const { http, effect } of Object.values(OPERATIONS)) {
    if (http.method === "GET" || effect === "reads") continue;
    const path = `/api${http.path.replaceAll(/\{\w+\}/g, "x")}`;
    const options = { method: http.method, headers: own(reading) };
    expect((await ask(reading, path, options)).status, path).toBe(403);
  }
  const program = await ask(writing, "/api/memory", { method: "POST", body, headers });
  expect(program.status).toBe(403);
  const page = await ask(writing, "/api/memory", { method: "POST", body, headers: own(writing) });
  expect(page.status).toBe(200);
});

test("a session as one file has no credential in it, and no path says where the project is or whose home", async () => {
  const secret = `ghp_${"aB3dE5gH7j".repeat(4).slice(0, 36)}`;
  const result = JSON.stringify({ text: `line\n${project.folder}/src/app.ts`, token: secret });
  const stores = sqliteStores({ path: join(project.folder, ".rkat", "rkat.db") });
  const setup = { capabilities: BUILDS.F ?? [] };
  const { service, close } = scriptedService(project.folder, setup, stores);
  const { sessionId } = await service.createSession({ labels: { place: project.folder } });
  await service.appendMessages({
    sessionId,
    messages: [
      {
        role: "user",
        content: `See ${project.folder}/a.ts, /home/mara/b, C:\\Users\\Mara\\c and ${root}/d`,
      },
      {
        role: "assistant",
        content: "",
        tool_calls: [
          { id: "a", name: "read_file", args: { path: `${project.folder}/src/app.ts` } },
        ],
      },
      { role: "tool_results", results: [{ tool_use_id: "a", content: result, is_error: false }] },
      { role: "assistant", content: "https://example.com/home/mara and src/home/mara stay." },
      { role: "user", content: "Elsewhere: /home/jürgen/e, C:\\Users\\Ōno\\f and /Users/雪/g." },
    ],
  });
  // A version that did not know such credentials recalled one.
  const record = { id: "a", turn: 0, said_by: "user", score: 1, text: `The key is ${secret}.` };
  await stores.events.append(sessionId, await stores.events.lastSeq(sessionId), [
    {
      event_id: newId(),
      timestamp_ms: Date.now(),
      event: { type: "memory_recalled", records: [record], tokens: 20 },
    },
  ]);
  await close();
  const file = join(root, "session.html");
  expect(await project.rkat(["inspect", sessionId, "--export", file])).toMatchObject({ code: 0 });
  const html = readFileSync(file, "utf8");
  for (const text of [secret, root, "/home/mara/b", "Users\\\\Mara"])
    expect(html).not.toContain(text);
  expect(html.match(/The key is \[redacted GitHub token\]/g)).toHaveLength(2);
  expect(html).toContain("See project/a.ts, ~/b, ~\\\\c and ~/d");
  expect(html).toContain("https://example.com/home/mara and src/home/mara stay.");
  expect(html).toContain("Elsewhere: ~/e, ~\\\\f and ~/g.");
  for (const taken of [file, join(root, "nowhere", "session.html")]) {
    const { code, stderr } = await project.rkat(["inspect", sessionId, "--export", taken]);
    expect([code, stderr]).toEqual([17, expect.stringContaining("Name another file.")]);
  }
  expect(readFileSync(file, "utf8")).toBe(html);
});

test("what is asked with POST and only reads is answered without --write, for who has the token", async () => {
  const question = {
    method: "POST",
    body: JSON.stringify({ id: added }),
    headers: { "content-type": "application/json" },
  };
  for (const served of [reading, beside]) {
    const answer = await ask(served, "/api/sources", question);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ kind: "added", message_count: 0 });
    expect((await fetch(`${served.url}/api/sources`, question)).status).toBe(401);
    for (const path of ["/api/sources/", "/api//sources", "/api/x/../memory"])
      expect((await ask(served, path, question)).status, path).toBe(403);
  }
});

test("a page that was opened for reading before there was a store shows the store that is made then, and makes none", async () => {
  const fresh = await Project.open({ root: mkdtempSync(join(root, "fresh-")) });
  const served = await serve(fresh, ["inspect", "--no-open", "--scope", "project"]);
  const sessions = async () => await (await ask(served, "/api/sessions")).json();
  expect(await sessions()).toEqual({ sessions: [] });
  expect(existsSync(join(fresh.folder, ".rkat", "rkat.db"))).toBe(false);
  const { service, close } = scriptedService(fresh.folder, { capabilities: BUILDS.F ?? [] });
  const { sessionId } = await service.createSession({});
  await close();
  expect(await sessions()).toMatchObject({ sessions: [{ session_id: sessionId }] });
  expect((await ask(served, `/api/sessions/${sessionId}`)).status).toBe(200);
});

test("an operation that is asked for with GET only reads", () => {
  const changing = Object.values(OPERATIONS).filter(
    ({ http, effect }) => http.method === "GET" && effect !== "reads",
  );
  expect(changing).toEqual([]);
});

test("the command prints one link, and says what the page may do", () => {
  expect(reading.printed).toContain("The page only reads.");
  expect(writing.printed).toContain("The page may change something.");
  expect(beside.url).toMatch(/\/inspect$/);
  expect(new Set([reading.token, writing.token, beside.token]).size).toBe(3);
  expect(reading.token.length).toBeGreaterThanOrEqual(43);
});

test("a REST server with the page is the REST server that it was", async () => {
  const { origin } = new URL(beside.url);
  expect((await fetch(`${origin}/sessions`)).status).toBe(200);
  expect((await fetch(`${origin}/inspect`, { redirect: "manual" })).status).toBe(302);
  expect((await fetch(`${origin}/inspectors`)).status).toBe(404);
});

test("a REST server and its page have the same limits: what they hold is counted together", async () => {
  const { origin } = new URL(beside.url);
  const headers = { "content-type": "application/json" };
  const made = await fetch(`${origin}/sessions`, { method: "POST", body: "{}", headers });
  const { session_id: id } = (await made.json()) as { session_id: string };
  const { body } = await ask(beside, `/api/sessions/${id}/events`);
  const metrics = await (await fetch(`${origin}/metrics`)).text();
  await body?.cancel();
  expect(metrics).toMatch(/^rkat_http_streams_open 1$/m);
});

test("a port that is taken is said, with the way out", async () => {
  const project = await Project.open({ ownProcesses: true });
  const { port } = new URL(reading.url);
  const running = project.start(["inspect", "--no-open", "--port", port]);
  onTestFinished(() => running.kill("SIGKILL"));
  const { code, stderr } = await running.ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain(`Port ${port} is in use`);
});

test("a session that is not there starts no page", async () => {
  const { child, ended } = project.start(["inspect", "nobody", "--no-open"]);
  child.stderr?.on("data", (text) => String(text).includes("http:") && child.kill("SIGINT"));
  expect(await ended).toMatchObject({
    code: 10,
    stderr: expect.stringMatching(/^error: No session has the id "nobody"/),
  });
});
