import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { createSessionService, SessionError } from "../src/index.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { lyingPostgres } from "./support/lying-postgres.ts";
import { INITIALIZE } from "./support/mcp-requests.ts";
import { Project } from "./support/rkat-process.ts";

const GONE = new SessionError("SESSION_STORE_ERROR", { detail: "The server is gone." });

/** The same stores, whose methods fail while the server is gone. */
function failing<Stores extends object>(stores: Stores, isGone: () => boolean): Stores {
  return new Proxy(stores, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value === "object" && value !== null) return failing(value, isGone);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (!isGone()) {
          const result: unknown = value.apply(target, args);
          return name === "forUser" ? failing(result as object, isGone) : result;
        }
        if (name === "forUser") return failing(value.apply(target, args), isGone);
        // An error of its own for each call, as a server sends it.
        throw new SessionError(GONE.code, { message: GONE.message });
      };
    },
  });
}

test("a service tells a cause once per outage, whichever part and user meets it, and again after it", async () => {
  let isGone = false;
  const told: unknown[] = [];
  const service = createSessionService({
    model: scriptedModel([]),
    stores: failing(ephemeralStores(), () => isGone),
    onBackgroundError: (error) => told.push(error),
  });
  const askAll = async () => {
    for (const one of [service, service.forUser("ada"), service, service.forUser("bob")]) {
      const asked = [
        one.searchMemory({ query: "x" }),
        one.listMemory({}),
        one.listApprovals({}),
        one.listKnowledge({}),
        one.createSession({}),
      ];
      await Promise.allSettled(asked);
    }
  };
  await askAll();
  expect(told).toEqual([]);
  for (const outages of [1, 2, 3]) {
    isGone = true;
    await askAll();
    await askAll();
    expect(told.map((error) => SessionError.from(error).message)).toEqual(
      Array(outages).fill(GONE.message),
    );
    isGone = false;
    await askAll();
  }
  await service.close();
  expect(told).toHaveLength(3);
});

test("`rkat serve` logs once per outage why its store refuses", async () => {
  let isFull = false;
  const { port } = await lyingPostgres({
    answer: () => (isFull ? { error: "No.", code: "53100" } : undefined),
  });
  const project = await Project.open({ store: `postgres://rkat@127.0.0.1:${port}/x` });
  const { child, ended, kill } = project.start(["serve", "--port", "0"]);
  const { stderr: log } = child;
  assert.ok(log);
  const [line] = (await once(createInterface(log), "line")) as [string];
  const [url] = /http:\S+/.exec(line) ?? [];
  const paths = ["/memory/search?query=x", "/memory", "/approvals", "/knowledge", "/sessions"];
  const askAll = async () =>
    await Promise.all([...paths, ...paths].map(async (path) => (await fetch(url + path)).status));
  expect(new Set(await askAll())).toEqual(new Set([200]));
  for (const full of [true, false, true]) {
    isFull = full;
    await askAll();
  }
  kill("SIGTERM");
  const { stderr } = await ended;
  expect(stderr.match(/^warning: .*has no disk space left/gm)).toHaveLength(2);
  expect(stderr.match(/has no disk space left/g)).toHaveLength(2);
  expect(stderr).not.toContain("error:");
});

/** Requests of clients that talk over standard input. */
const TALKS: Readonly<Record<string, readonly object[]>> = {
  rpc: [
    { id: 1, method: "memory/search", params: { query: "x" } },
    { id: 2, method: "memory/search", params: { query: "x" } },
    { id: 3, method: "approval/list", params: {} },
    { id: 4, method: "knowledge/list", params: {} },
  ],
  mcp: [
    INITIALIZE,
    { method: "notifications/initialized" },
    ...["memory_search", "memory_list", "memory_search"].map((name, at) => ({
      id: at + 2,
      method: "tools/call",
      params: { name, arguments: name === "memory_search" ? { query: "x" } : {} },
    })),
  ],
};

test.each(["rpc", "mcp"])("`rkat %s` logs it once, and answers each request", async (name) => {
  const project = await Project.open({ store: "postgres://rkat@127.0.0.1:1/x" });
  const talk = TALKS[name] ?? [];
  const stdin = talk.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join("");
  const { code, stdout, stderr } = await project.rkat([name], stdin);
  expect(code).toBe(0);
  expect(stdout.match(/no server listens there/g)?.length).toBeGreaterThanOrEqual(3);
  expect(stderr.match(/^warning: .*no server listens there/gm)).toHaveLength(1);
  expect(stderr.match(/no server listens there/g)).toHaveLength(1);
});
