import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { userStoreFile } from "../src/config/config-places.ts";
import { folderForImport, openWorkspace } from "../src/config/workspace.ts";
import { SessionError } from "../src/core/errors.ts";
import type { Operation } from "../src/core/operations/operation.ts";
import { OPERATIONS } from "../src/core/operations.ts";
import { createSessionService, type SessionService, withLibrary } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { expectWarning } from "./support/expect-warning.ts";
import { temporaryFolder } from "./support/obey.ts";
import { Project } from "./support/rkat-process.ts";

const CODEX = { agent: "codex", nativeId: "c1", startedAt: "2025-01-01T00:00:00Z" };

async function openAt(path: string): Promise<SessionService> {
  const stores = sqliteStores({ path });
  const service = createSessionService({ model: scriptedModel([]), stores, project: "/home/own" });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return service;
}

async function say(
  service: SessionService,
  content: string,
  source?: { agent: string; nativeId: string; project?: string; startedAt?: string },
): Promise<string> {
  const { sessionId } = await service.createSession(source ? { source } : {});
  const origin = { time: "2025-01-02T00:00:00Z" };
  await service.appendMessages({ sessionId, messages: [{ role: "user", content }], origin });
  return sessionId;
}

test("a project and a library are searched, listed and read as one", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const here = await say(own, "The staging port is 8022.");
  const there = await say(library, "The staging port was 7000 before.", CODEX);
  const both = withLibrary(own, library);

  const hits = await both.searchMemory({ query: "staging port" });
  expect(hits.map(({ sessionId, store }) => [sessionId, store]).sort()).toEqual(
    [
      [here, undefined],
      [there, "user"],
    ].sort(),
  );
  const scores = hits.map(({ score }) => score);
  expect(scores).toEqual(scores.toSorted((one, other) => other - one));
  expect(hits.find(({ store }) => store)?.from).toEqual({ ...CODEX, open: "codex resume c1" });
  expect(await both.searchMemory({ query: "staging port", limit: 1 })).toEqual(hits.slice(0, 1));
  expect(await both.searchMemory({ query: "staging port", maxTokens: 7 })).toHaveLength(1);
  expect(await both.searchMemory({ query: "staging", agent: "codex" })).toHaveLength(1);

  const ids = async (request: Parameters<SessionService["list"]>[0]) =>
    (await both.list(request)).map(({ sessionId }) => sessionId);
  expect(await ids({})).toEqual([here, there]);
  expect(await ids({ limit: 1 })).toEqual([here]);
  expect(await ids({ limit: 1, offset: 1 })).toEqual([there]);
  expect(await ids({ offset: 2 })).toEqual([]);
  expect(await both.read({ sessionId: there })).toMatchObject({ store: "user", source: CODEX });
  expect(await both.read({ sessionId: here })).not.toHaveProperty("store");
  await expect(both.read({ sessionId: "none" })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });

  const logged = await both.searchHistory({ query: "staging port" });
  expect(logged.map(({ sessionId, store }) => [sessionId, store])).toEqual([
    [here, undefined],
    [there, "user"],
  ]);
  expect(logged[1]?.from).toMatchObject({ agent: "codex", open: "codex resume c1" });
  expect(await both.searchHistory({ query: "staging port", limit: 1 })).toEqual([logged[0]]);
  expect(await both.searchHistory({ query: "staging", agent: "codex" })).toEqual([logged[1]]);
  expect(await both.searchHistory({ query: "staging", agent: "rkat" })).toEqual([logged[0]]);
  expect(await both.memoryStats({})).toMatchObject({ entries: 2, sessions: 2 });
  expect(await both.memoryStats({ agent: "codex" })).toMatchObject({ entries: 1, sessions: 1 });
  expect(await both.memoryStats({ agent: "rkat" })).toMatchObject({ entries: 1, sessions: 1 });
  const seen: string[] = [];
  for await (const event of both.subscribe(
    { sessionId: there, afterSeq: 0 },
    { signal: AbortSignal.timeout(200) },
  )) {
    seen.push(event.payload.type);
  }
  expect(seen).toContain("message_added");
  // It is read there, and changed only where it is.
  const request = { sessionId: there, messages: [{ role: "user" as const, content: "More." }] };
  await expect(both.appendMessages(request)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

test("each question about one session is answered for one of the library too", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const sessionId = await say(library, "The staging port was 7000 before.", CODEX);
  const both = withLibrary(own, library);
  const asked: string[] = [];
  const operations: Readonly<Record<string, Operation>> = OPERATIONS;
  for (const [name, { request, effect, needs }] of Object.entries(operations)) {
    const isOfSession = needs !== "memory-store" && request.safeParse({ sessionId }).success;
    if (effect !== "reads" || !isOfSession) continue;
    const ask = Reflect.get(both, name) as (request: object) => Promise<unknown>;
    const failed = await ask({ sessionId }).then(
      () => undefined,
      ({ code }: { readonly code: string }) => code,
    );
    expect([undefined, "NOT_POSSIBLE"], `${name}: ${failed}`).toContain(failed);
    asked.push(name);
  }
  expect(asked).toContain("sessionCost");
});

test("that two entries both hold is decided where both are; one of each replaces nothing", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const here = await own.addMemory({ content: "The staging port is 8022." });
  const [first, second] = [
    await library.addMemory({ content: "The harbour limit is 10." }),
    await library.addMemory({ content: "The yard limit is 20." }),
  ];
  const both = withLibrary(own, library);
  expect(await both.keepBoth({ ids: [first.id, second.id] })).toMatchObject({ store: "user" });
  for (const ids of [[here.id, first.id] as const, [first.id, here.id] as const]) {
    await expect(both.keepBoth({ ids: [...ids] })).rejects.toMatchObject({
      code: "NOT_POSSIBLE",
      message: expect.stringContaining(`"${first.id}" is in the user-wide store`),
      hint: expect.stringContaining("rkat memory add"),
    });
  }
  await expect(both.keepBoth({ ids: [here.id, "none"] })).rejects.toMatchObject({
    code: "KNOWLEDGE_NOT_FOUND",
  });
});

test("the entries of a project and a library are listed page by page, each once", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const here = await say(own, "One.");
  await say(own, "Two.");
  await say(library, "Three.", { ...CODEX, project: "/a" });
  await say(library, "Four.", { ...CODEX, nativeId: "c2", project: "/b" });
  // The same text, which is an entry with the same id.
  for (const one of [own, library]) {
    // An addition does not wait for what was said before it, and a list does.
    await one.listMemory({});
    await one.addMemory({ content: "In both." });
  }
  const pages = async (both: SessionService, limit: number) => {
    const found: (readonly [string, string | undefined])[] = [];
    for (let after: string | undefined; found.length < 20; ) {
      const page = await both.listMemory({ limit, ...(after === undefined ? {} : { after }) });
      found.push(...page.map(({ content, store }) => [content, store] as const));
      after = page.at(-1)?.id;
      if (page.length < limit) break;
    }
    return found;
  };
  const ofOwn = [
    ["One.", undefined],
    ["Two.", undefined],
    ["In both.", undefined],
  ];
  const both = withLibrary(own, library);
  for (const limit of [1, 2, 3, 10]) {
    expect(await pages(both, limit)).toEqual([...ofOwn, ["Three.", "user"], ["Four.", "user"]]);
    expect(await pages(withLibrary(own, library, { project: "/a" }), limit)).toEqual([
      ...ofOwn,
      ["Three.", "user"],
    ]);
  }
  const all = await both.listMemory({});
  const ids = all.map(({ id }) => id).reverse();
  expect(await both.listMemory({ id: ids })).toEqual(all.toReversed());
  expect(await both.listMemory({ id: ids, limit: 2 })).toEqual(all.toReversed().slice(0, 2));
  expect(await both.listMemory({ id: ids[0] ?? "", sessionId: here })).toEqual([]);
  expect(await both.listMemory({ id: "none" })).toEqual([]);
  expect(await both.searchMemory({ query: "In both." })).toHaveLength(1);
});

test("a library shows a project only what was said in its folder, and a user nothing", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const here = await say(library, "The port is 1.", { ...CODEX, project: "/a" });
  const elsewhere = await say(library, "The port is 2.", { ...CODEX, project: "/b" });
  await say(library, "The port is 3.");
  const both = withLibrary(own, library, { project: "/a" });
  const found = async (service: SessionService, request: object = {}) => [
    (await service.searchMemory({ query: "port", minScore: 0, ...request })).map(
      (hit) => hit.sessionId,
    ),
    (await service.list(request)).map(({ sessionId }) => sessionId),
    (await service.searchHistory({ query: "port", ...request })).map((hit) => hit.sessionId),
    (await service.listMemory(request)).map(({ sessionId }) => sessionId),
    (await service.memoryStats(request)).entries,
  ];
  expect(await found(both)).toEqual([[here], [here], [here], [here], 1]);
  expect(await found(both, { project: "/a" })).toEqual([[here], [here], [here], [here], 1]);
  expect(await found(both, { project: "/b" })).toEqual([[], [], [], [], 0]);
  await expect(both.context({ sessionId: elsewhere })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
  await expect(both.read({ sessionId: elsewhere })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
  expect(await found(both.forUser("ada"))).toEqual([[], [], [], [], 0]);
});

test("what a search shows can be forgotten, in the library too", async () => {
  const folder = await temporaryFolder();
  const own = await openAt(join(folder, "own.db"));
  const library = await openAt(join(folder, "library.db"));
  const here = await say(library, "The tapir is 1.", { ...CODEX, project: "/a" });
  const there = await say(library, "The tapir is 2.", { ...CODEX, project: "/b" });
  const last = await say(library, "The tapir is 3.", { ...CODEX, project: "/c" });
  const mine = await say(own, "The tapir is 4.");
  const found = async (service: SessionService) =>
    (await service.searchMemory({ query: "tapir", minScore: 0 })).map(({ id }) => id);
  const both = withLibrary(own, library);
  const ids = await found(both);
  expect(ids).toHaveLength(4);

  // The same scope as the search: only what was said in the project's folder.
  const ofProject = withLibrary(own, library, { project: "/a" });
  expect(await ofProject.forgetMemory({ sessionId: there })).toMatchObject({ forgotten: 0 });
  const outcome = await ofProject.forgetMemory({ ids: [...ids, "none"] });
  // Two are in neither store of this scope.
  expect(outcome.notFound).toHaveLength(3);
  expect(outcome.notFound).toContain("none");
  expect(outcome.forgotten).toBe(2);
  expect(outcome.cleaned.find(({ place }) => place === "memory")?.count).toBe(2);
  expect(outcome.notCleaned).not.toEqual([]);
  for (const one of [here, mine]) {
    expect(await both.memoryStats({ sessionId: one })).toMatchObject({ entries: 0 });
  }
  expect(await found(both)).toHaveLength(2);

  const id = (await found(both)).find((one) => one.startsWith(there)) ?? "";
  expect(await both.forgetMemory({ ids: [id] })).toMatchObject({ forgotten: 1 });
  expect(await both.forgetMemory({ sessionId: last })).toMatchObject({ forgotten: 1 });
  expect(await found(library)).toEqual([]);
});

/** A service whose sessions cannot be read now. */
function failing(service: SessionService): SessionService {
  const read = async () => {
    throw new SessionError("SESSION_STORE_ERROR");
  };
  return new Proxy(service, {
    get: (target, name) => (name === "read" ? read : Reflect.get(target, name)),
  });
}

test("a library that cannot forget says so, unless the project forgot something", async () => {
  const own = await openAt(join(await temporaryFolder(), "own.db"));
  const broken = createSessionService({ model: scriptedModel([]), memory: false });
  const sessionId = await say(own, "The port is 1.");
  const both = withLibrary(own, broken);
  expectWarning(/Nothing was forgotten in the user-wide store/);
  const receipt = await both.forgetMemory({ sessionId });
  expect(receipt.forgotten).toBe(1);
  expect(receipt.notCleaned.at(-1)).toEqual({
    place: "user_store",
    why: expect.stringMatching(/^Nothing was forgotten in the user-wide store\. .*disabled/),
  });
  // What fails is no reason to believe that the library does not have it.
  const narrowed = withLibrary(own, failing(broken), { project: "/a" });
  await expect(narrowed.forgetMemory({ ids: ["other:1"] })).rejects.toThrow(/The store failed/);
  await expect(both.forgetMemory({ ids: ["none"] })).rejects.toThrow();
});

test("a library that fails leaves the project's results", async () => {
  const own = await openAt(join(await temporaryFolder(), "own.db"));
  const broken = createSessionService({ model: scriptedModel([]), memory: false });
  await say(own, "The port is 1.");
  const both = withLibrary(own, broken);
  expectWarning(/The user-wide store was not searched/);
  expect(await both.searchMemory({ query: "port" })).toHaveLength(1);
  expect(await both.list({})).toHaveLength(1);
});

test("commands search the project and the user-wide store, together or apart", async () => {
  const project = await Project.open();
  const home = join(project.folder, "..");
  const library = await openAt(userStoreFile({ HOME: home }));
  await say(library, "The staging port was 7000.", { ...CODEX, project: project.folder });
  await say(library, "The staging port of the shop is 9000.", { ...CODEX, project: "/shop" });
  await library.close();
  await project.rkat(["memory", "add", "The staging port is 8022."]);

  const found = async (...args: string[]) => {
    const hits = await project.json(["memory", "search", "staging port", "--json", ...args]);
    const texts = (hits as { content: string }[]).map(({ content }) => content);
    return texts.map((text) => /\d+/.exec(text)?.[0]).sort();
  };
  expect(await found()).toEqual(["7000", "8022", "9000"]);
  expect(await found("--scope", "project")).toEqual(["7000", "8022"]);
  expect(await found("--scope", "user")).toEqual(["7000", "9000"]);
  expect(await found("--project", "/shop")).toEqual(["9000"]);
  expect(await found("--user", "ada")).toEqual([]);
  const { stdout } = await project.rkat(["memory", "search", "shop"]);
  expect(stdout).toContain("in ~/.rkat");

  const forget = ["memory", "forget", "--query", "of the shop", "--yes"];
  expect((await project.rkat([...forget, "--scope", "project"])).stdout).toBe("");
  expect((await project.rkat(forget)).stdout).toContain("Forgot 1 entry");
  expect(await found("--project", "/shop")).toEqual([]);

  const list = await project.rkat(["sessions", "list"]);
  expect(list.stdout).toContain("(user)");
  expect(list.stderr).toContain("add --scope user");
  const all = (await project.json(["sessions", "list", "--json"])) as {
    session_id: string;
    source?: { project?: string };
  }[];
  const one = all.find(({ source }) => source?.project === "/shop");
  const shown = await project.rkat(["sessions", "show", one?.session_id ?? ""]);
  expect(shown.stdout).toContain("codex in /shop");
  const logged = await project.rkat(["history", "search", "staging"]);
  expect(logged.stdout).toContain("in ~/.rkat");
  expect(logged.stdout).toContain("codex resume c1");
  const count = async (...args: string[]) => {
    const stats = await project.json(["memory", "stats", "--json", ...args]);
    return (stats as { entries: number }).entries;
  };
  expect([
    await count(),
    await count("--scope", "project"),
    await count("--agent", "codex"),
  ]).toEqual([2, 2, 1]);
  expect((await project.rkat(["memory", "list"])).stdout).toContain("in ~/.rkat");
  expect((await project.rkat(["memory", "export"])).stdout).not.toContain("was 7000");
  const exported = await project.rkat(["memory", "export", "--scope", "user"]);
  expect(exported.stdout).toContain("7000");
  const id = one?.session_id ?? "";
  expect((await project.rkat(["sessions", "events", id])).stdout).toContain('"/shop"');
  expect((await project.rkat(["sessions", "archive", id])).code).not.toBe(0);
  expect((await project.rkat(["sessions", "archive", id, "--scope", "user"])).code).toBe(0);
  expect((await project.rkat(["sessions", "unarchive", id, "--scope", "user"])).code).toBe(0);
  const deleted = await project.rkat(["sessions", "delete", id, "--yes", "--scope", "user"]);
  expect(deleted.stderr).toMatch(/sessions restore \S+ --scope user/);
  expect((await project.rkat(["sessions", "restore", id, "--scope", "user"])).code).toBe(0);
  const own = await project.rkat(["sessions", "list", "--scope", "project"]);
  expect(own.stdout.split("\n").filter((line) => line.includes("codex"))).toHaveLength(1);
});

test("an import for a user makes no store in a folder that has none", async () => {
  const project = await Project.open();
  const { code, stderr } = await project.rkat(["--user", "bob", "import", project.folder]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("--scope user");
  expect(existsSync(join(project.folder, ".rkat"))).toBe(false);
});

test("a project cannot widen what its MCP clients search", async () => {
  const project = await Project.open({ config: '[mcp]\nscope = "all"\n' });
  const untrusted = await project.rkat(["config", "--json"], "", { RKAT_TRUST: "" });
  expect(untrusted.stderr + untrusted.stdout).toContain("ignored mcp.scope");
});

test("the user-wide store is yours without a word, unless others can read it", async () => {
  const home = await temporaryFolder();
  const file = userStoreFile({ HOME: home });
  const library = await openAt(file);
  await say(library, "The staging port was 7000.");
  await library.close();
  const open = () => openWorkspace({ cwd: home, env: { HOME: home } }, home);
  expect((await open()).trust).toEqual({ settings: false, store: true });
  // As git writes a file.
  chmodSync(file, 0o644);
  expect((await open()).trust).toEqual({ settings: false, store: false });
});

test("an import goes to the project's store if you trust it, and to the user-wide one otherwise", async () => {
  const home = await temporaryFolder();
  const env = { HOME: home };
  const app = join(home, "src", "app");
  mkdirSync(join(app, "packages", "a"), { recursive: true });
  expect(await folderForImport(app, env)).toBe(home);
  expect(await folderForImport(undefined, env)).toBe(home);
  expect(await folderForImport("relative", env)).toBe(home);
  expect(await folderForImport("/nowhere/at/all", env)).toBe(home);
  // It came with the project.
  mkdirSync(join(app, ".rkat"));
  expect(await folderForImport(app, env)).toBe(home);
  const trusting = { ...env, RKAT_TRUST: "true" };
  expect(await folderForImport(app, trusting)).toBe(app);
  expect(await folderForImport(join(app, "packages", "a"), trusting)).toBe(app);
});
