import { join } from "node:path";
import { PassThrough } from "node:stream";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService, type SessionService } from "../../src/index.ts";
import { connectJsonRpc, serveJsonRpc } from "../../src/json-rpc.ts";
import { connectMcp, serveMcpHttp } from "../../src/mcp.ts";
import { connectRest, serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { ephemeralStores } from "../../src/stores/ephemeral/ephemeral-stores.ts";
import { type ScriptedReply, scriptedModel } from "../../src/testing.ts";
import { askEverything, everythingOf, type Known } from "../support/ask-everything.ts";
import { temporaryFolder } from "../support/obey.ts";
import { sampled, trials } from "../support/trials.ts";

/** Words that Ada's secrets stand beside. Others may guess them, and search for them. */
const WORDS = "vault code garden";

/** A service with everything, whose model calls a tool when it is asked to. */
async function openService(thread: "sqlite" | "ephemeral" = "sqlite") {
  const place = await temporaryFolder();
  const model = scriptedModel(({ messages }): ScriptedReply => {
    const last = messages.findLast(({ role }) => role === "user");
    const text = last && "content" in last ? JSON.stringify(last.content) : "";
    const answered = messages.at(-1)?.role === "tool_results";
    const [, tool, note] = /call (\w+) with ([\w -]+)/.exec(text) ?? [];
    if (!tool || answered) return `I heard: ${text}`;
    return { toolCalls: [{ id: `c${messages.length}`, name: tool, args: { query: note } }] };
  });
  const stores =
    thread === "sqlite" ? sqliteStores({ path: join(place, "rkat.db") }) : ephemeralStores();
  const service = createSessionService({
    model,
    stores,
    sessionFiles: join(place, "sessions"),
    compaction: {},
    approvals: { policies: { datetime: "ask" }, approve: () => "later" },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  return { service, model };
}

/** Says a secret in every way that there is. Returns what another user may come to know. */
async function confide(ada: SessionService, secret: string): Promise<Known> {
  const labels = { about: secret };
  const { sessionId } = await ada.createSession({ labels, systemPrompt: `The ${secret} session.` });
  const deleted = await ada.createSession({ labels });
  await ada.delete(deleted);
  const said = `Always open the ${WORDS} with ${secret}.`;
  await ada.startTurn({ sessionId, prompt: said });
  await ada.startTurn({ sessionId, prompt: `call memory_search with ${secret} ${WORDS}` });
  await ada.updateTask({ sessionId, goal: secret, notes: { [secret]: secret }, add: [secret] });
  const { history } = await ada.read({ sessionId });
  const message = history.find((each) => each.message.role === "user")?.id ?? 0;
  await ada.pin({ sessionId, message });
  await ada.addKnowledge({ content: `Never tell the ${WORDS} ${secret}.`, kind: "rule" });
  await ada.startTurn({ sessionId, prompt: `call datetime with ${secret}` });
  const [waiting] = await ada.listApprovals({ sessionId });
  const [knowledge] = await ada.listKnowledge({ kind: "preference" });
  return {
    sessionId,
    message,
    approvalId: waiting?.approvalId ?? "",
    knowledgeId: knowledge?.id ?? "",
    memoryId: `${sessionId}:${message}`,
    words: WORDS,
  };
}

describe.each(["sqlite", "ephemeral"] as const)("in one service with %s stores", (kind) => {
  test.each([
    ["another user", (service: SessionService) => service.forUser("bob")],
    ["a caller without a user", (service: SessionService) => service],
  ])("%s asks everything about Ada's session, and is told nothing", async (_, actAs) => {
    const { service, model } = await openService(kind);
    const ada = service.forUser("ada");
    const known = await confide(ada, "heron5128");
    for (const id of Object.values(known)) expect(id).toBeTruthy();
    const before = await everythingOf(ada);
    expect(before).toContain("heron5128");

    const bob = actAs(service);
    const sent = model.requests.length;
    const answers = await askEverything(bob, known);
    const { sessionId } = await bob.createSession({});
    for (const tool of ["memory_search", "search_project_history"]) {
      await bob.startTurn({ sessionId, prompt: `call ${tool} with ${WORDS}` });
    }
    for (const { operation, text } of answers)
      expect(`${operation} ${text}`).not.toContain("heron");
    expect(JSON.stringify(model.requests.slice(sent))).not.toContain("heron");
    expect(await everythingOf(bob)).not.toContain("heron");
    expect((await everythingOf(ada)) === before).toBe(true);
  });

  test("Ada's session is no more there for another user than one that was never created", async () => {
    const { service } = await openService(kind);
    const known = await confide(service.forUser("ada"), "heron5128");
    const never = "019467d9-7e3a-7000-8000-000000000000";
    const invented = {
      ...known,
      sessionId: never,
      approvalId: "a-never",
      memoryId: `${never}:${known.message}`,
      knowledgeId: `preference:${never}:1:0`,
    };
    const shown = (text: string, { sessionId, knowledgeId }: Known) =>
      text.replaceAll(knowledgeId, "K").replaceAll(sessionId, "S");
    // Each in a service of its own: asking adds sessions and knowledge.
    const [one, other] = await Promise.all(
      [known, invented].map(async (ids) => {
        const answers = await askEverything(service.forUser(`bob ${ids.sessionId}`), ids);
        return answers
          .filter(({ code }) => code !== undefined)
          .map(({ operation, text }) => `${operation} ${shown(text, ids)}`);
      }),
    );
    expect(one).toEqual(other);
    expect(one?.length).toBeGreaterThan(15);
  });
});

const TOKENS = { ada: "token-of-ada", bob: "token-of-bob" };

/** Ways in. Each gives the service of Bob, and where it is bound, also asks it for Ada's. */
const SURFACES: Readonly<
  Record<
    string,
    { readonly isBound: boolean; open(service: SessionService): Promise<SessionService> }
  >
> = {
  "REST, with his token": {
    isBound: true,
    async open(service) {
      const server = await serveRest({ service, port: 0, token: "root", userTokens: TOKENS });
      onTestFinished(() => server.close({ graceMs: 0 }));
      return connectRest({ url: server.url, token: TOKENS.bob });
    },
  },
  "REST, with the server's token": {
    isBound: false,
    async open(service) {
      const server = await serveRest({ service, port: 0, token: "root", userTokens: TOKENS });
      onTestFinished(() => server.close({ graceMs: 0 }));
      return connectRest({ url: server.url, token: "root" }).forUser("bob");
    },
  },
  "JSON-RPC, for him": {
    isBound: true,
    open: async (service) => overJsonRpc(service.forUser("bob")),
  },
  "JSON-RPC, for anybody": {
    isBound: false,
    open: async (service) => overJsonRpc(service).forUser("bob"),
  },
  "MCP, with his token": {
    isBound: true,
    open: (service) => overMcp(service, { token: TOKENS.bob }),
  },
  "MCP until 2025, with his token": {
    isBound: true,
    open: (service) => overMcp(service, { token: TOKENS.bob, era: "legacy" }),
  },
  "MCP, with the server's token": {
    isBound: false,
    open: async (service) => (await overMcp(service, { token: "root" })).forUser("bob"),
  },
};

function overJsonRpc(service: SessionService): SessionService {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveJsonRpc({ service, input, output });
  const client = connectJsonRpc({ input: output, output: input });
  onTestFinished(async () => {
    await client.close();
    await served;
  });
  return client;
}

async function overMcp(service: SessionService, as: { token: string; era?: "legacy" }) {
  const server = await serveMcpHttp({
    service,
    port: 0,
    token: "root",
    userTokens: TOKENS,
    tools: ["all"],
  });
  const client = await connectMcp({ url: server.url, ...as });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return client;
}

/** The short form has a way into each wire. */
const WAYS = sampled(Object.entries(SURFACES), { of: 2, at: 0 }, "attacks");

describe.each(WAYS)("over %s", (_, { isBound, open }) => {
  test("Bob asks everything about Ada's session, and is told nothing", async () => {
    const { service, model } = await openService();
    const ada = service.forUser("ada");
    const known = await confide(ada, "heron5128");
    const before = await everythingOf(ada);
    const bob = await open(service);
    const sent = model.requests.length;
    for (const { operation, text } of await askEverything(bob, known)) {
      expect(`${operation} ${text}`).not.toContain("heron");
    }
    expect(JSON.stringify(model.requests.slice(sent))).not.toContain("heron");
    expect((await everythingOf(ada)) === before).toBe(true);
    // What he has is his, and is seen by him alone.
    const { sessionId } = await bob.createSession({});
    expect(await service.forUser("bob").read({ sessionId })).toMatchObject({ user: "bob" });
    await expect(service.read({ sessionId })).rejects.toThrow(/No session has the id/);
  });

  const skipReason = "acts for any user, because it asks for no user's token";
  test.runIf(isBound)("Bob cannot act for Ada", { meta: { skipReason } }, async () => {
    const { service } = await openService();
    const known = await confide(service.forUser("ada"), "heron5128");
    const bob = await open(service);
    const refused = (code: string | undefined) => code === "USER_NOT_ALLOWED";
    const answers = await askEverything(bob.forUser("ada"), known);
    expect(answers.filter(({ code }) => !refused(code)).map(({ operation }) => operation)).toEqual(
      [],
    );
  });
});

test("a server with tokens of users answers nobody without one, even when there are none", async () => {
  const { service } = await openService();
  for (const userTokens of [TOKENS, {}]) {
    const server = await serveRest({ service, port: 0, userTokens });
    for (const headers of [{}, { "x-rkat-user": "ada" }, { authorization: "Bearer token-of-bo" }]) {
      const { status } = await fetch(`${server.url}/sessions`, { headers });
      expect(status).toBe(401);
    }
    await server.close({ graceMs: 0 });
  }
  for (const userTokens of [{ ada: "same", bob: "same" }, { ada: "root" }]) {
    await expect(serveRest({ service, port: 0, token: "root", userTokens })).rejects.toThrow(
      /the same token/,
    );
  }
});

test("an MCP connection of Ada takes no request with Bob's token, and has her resources only", async () => {
  const { service } = await openService();
  const { sessionId } = await service.forUser("ada").createSession({});
  const server = await serveMcpHttp({ service, port: 0, userTokens: TOKENS });
  onTestFinished(() => server.close());
  const ask = (token: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
    fetch(server.url, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  const begin = async (token: string) => {
    const { headers } = await ask(token, { id: 1, method: "initialize", params });
    const session = { "mcp-session-id": headers.get("mcp-session-id") ?? "" };
    await ask(token, { method: "notifications/initialized" }, session);
    return session;
  };
  const [adas, bobs] = [await begin(TOKENS.ada), await begin(TOKENS.bob)];
  const list = { id: 2, method: "resources/list" };
  expect(await (await ask(TOKENS.ada, list, adas)).text()).toContain(sessionId);
  expect((await ask(TOKENS.bob, list, adas)).status).toBe(404);
  expect(await (await ask(TOKENS.bob, list, bobs)).text()).not.toContain(sessionId);
  const read = { id: 3, method: "resources/read", params: { uri: `rkat://sessions/${sessionId}` } };
  expect(await (await ask(TOKENS.bob, read, bobs)).text()).toContain("error");
  expect(await (await ask(TOKENS.ada, read, adas)).text()).not.toContain('"error"');
});

test("resources that are asked for on behalf of a user are that user's", async () => {
  const { service } = await openService();
  const [own, ada] = [
    await service.createSession({}),
    await service.forUser("ada").createSession({}),
  ];
  const server = await serveMcpHttp({ service, port: 0 });
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url)));
  const _meta = { "rkat/user": "ada" };
  const read = (id: string) => client.readResource({ uri: `rkat://sessions/${id}`, _meta });
  const { resources } = await client.listResources({ _meta });
  expect(resources.map(({ name }) => name)).toEqual(["sessions", ada.sessionId]);
  expect(JSON.stringify(await read(ada.sessionId))).toContain(ada.sessionId);
  await expect(read(own.sessionId)).rejects.toThrow();
});

test("a user's name arrives over every surface as it was given", async () => {
  const { service } = await openService();
  const name = "Ada Lovelace/é %41+&日本 👩";
  const rest = await serveRest({ service, port: 0 });
  onTestFinished(() => rest.close({ graceMs: 0 }));
  const mcp = await serveMcpHttp({ service, port: 0, tools: ["all"] });
  const overHttp = await connectMcp({ url: mcp.url });
  onTestFinished(async () => {
    await overHttp.close();
    await mcp.close();
  });
  for (const client of [connectRest({ url: rest.url }), overJsonRpc(service), overHttp]) {
    const { sessionId } = await client.forUser(name).createSession({});
    expect(await service.forUser(name).read({ sessionId })).toMatchObject({ user: name });
    expect(() => client.forUser("a\nb")).toThrow(/control characters/);
  }
  // A proxy that adds its own header to that of a client.
  const headers: [string, string][] = [
    ["x-rkat-user", "bo"],
    ["x-rkat-user", "ada"],
  ];
  expect((await fetch(`${rest.url}/sessions`, { headers })).status).toBe(400);
  const broken = await fetch(`${rest.url}/sessions`, { headers: { "x-rkat-user": "%" } });
  expect(broken.status).toBe(400);
});

test("one user's PIN is found by no log search of another, and one user's wish is in no prompt of another", async () => {
  const { service, model } = await openService();
  const [ada, bob] = [service.forUser("ada"), service.forUser("bob")];
  const { sessionId } = await ada.createSession({});
  await ada.startTurn({ sessionId, prompt: "My PIN is 51285128512. Always answer in French." });
  const [learned] = await ada.listKnowledge({ kind: "preference" });
  expect(learned?.content).toBe("Always answer in French.");
  const next = await bob.createSession({});
  await bob.startTurn({ ...next, prompt: "call search_project_history with PIN" });
  const sent = JSON.stringify(model.requests.slice(-2));
  expect(sent).not.toContain("51285128512");
  expect(sent).not.toContain("French");
  expect(JSON.stringify(await ada.searchHistory({ query: "PIN" }))).toContain("51285128512");
  expect(JSON.stringify(await ada.read(await ada.createSession({})))).toContain("French");
});

const USERS = ["ada", "bob", undefined] as const;

/** What somebody does, with a word that nobody else uses. */
const ACTS: Readonly<
  Record<string, (service: SessionService, word: string, at: { sessionId: string }) => unknown>
> = {
  says: (service, word, at) => service.startTurn({ ...at, prompt: `The key is ${word}.` }),
  wishes: (service, word, at) => service.startTurn({ ...at, prompt: `Always use ${word}.` }),
  searches: (service, word, at) =>
    service.startTurn({ ...at, prompt: `call memory_search with key ${word}` }),
  "searches logs": (service, word, at) =>
    service.startTurn({ ...at, prompt: `call search_project_history with key ${word}` }),
  asks: (service, word, at) => service.startTurn({ ...at, prompt: `call datetime with ${word}` }),
  async denies(service, word) {
    const [call] = await service.listApprovals({});
    if (call) await service.answerApproval({ ...idsOf(call), decision: "deny", reason: word });
  },
  notes: (service, word, at) => service.updateTask({ ...at, notes: { key: word } }),
  fails: (service, word) => service.read({ sessionId: word }),
  async forgets(service) {
    const [entry] = await service.listMemory({ limit: 1 });
    if (entry) await service.forgetMemory({ ids: [entry.id] });
  },
  records: (service, word, at) =>
    service.appendMessages({ ...at, messages: [{ role: "user", content: word }] }),
  async deletes(service) {
    const [session] = await service.list({ limit: 1 });
    if (session) await service.delete({ sessionId: session.sessionId });
  },
  restores: (service) => service.list({ deleted: true }),
  compacts: (service, _, at) => service.compact(at),
  distils: (service) => service.distillKnowledge({}),
};

test("whatever users do in one service, none is told a word of another", async () => {
  const act = fc.record({
    by: fc.constantFrom(...USERS),
    does: fc.constantFrom(...Object.keys(ACTS)),
    inNewSession: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 20 }), async (acts) => {
      const { service, model } = await openService("ephemeral");
      const actingAs = (user: string | undefined) => (user ? service.forUser(user) : service);
      const at = new Map<string | undefined, { sessionId: string }>();
      const toldTo = new Map<string | undefined, string>();
      const tell = (user: string | undefined, what: unknown) =>
        toldTo.set(user, (toldTo.get(user) ?? "") + JSON.stringify(what ?? null));
      for (const [index, { by, does, inNewSession }] of acts.entries()) {
        const acting = actingAs(by);
        const known = inNewSession ? undefined : at.get(by);
        const session = known ?? (await acting.createSession({}));
        at.set(by, session);
        const sent = model.requests.length;
        // A failure is told too, such as that of a turn in a session that was deleted.
        tell(by, await settled(() => ACTS[does]?.(acting, wordOf(by, index), session)));
        tell(by, model.requests.slice(sent));
      }
      for (const user of USERS) {
        const acting = actingAs(user);
        tell(user, await acting.read(await acting.createSession({})));
        tell(user, await everythingOf(acting));
        tell(user, await acting.searchMemory({ query: "key use", minScore: 0, limit: 1000 }));
        tell(user, await acting.searchHistory({ query: "key", limit: 200 }));
        const words = toldTo.get(user)?.match(/word[a-z]+\d+/g) ?? [];
        expect(words.filter((word) => !word.startsWith(wordOf(user)))).toEqual([]);
      }
    }),
    { numRuns: trials(2, 200) },
  );
});

async function settled(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return String(error);
  }
}

function wordOf(user: string | undefined, number: number | "" = ""): string {
  return `word${user ?? "nobody"}${number}`;
}

function idsOf({ sessionId, approvalId }: { sessionId: string; approvalId: string }) {
  return { sessionId, approvalId };
}
