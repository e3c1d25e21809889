import { once } from "node:events";
import { createInterface } from "node:readline";
import { JSONRPCClient, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EventEnvelope, SessionService } from "../src/index.ts";
import { connectJsonRpc } from "../src/json-rpc.ts";
import { BUILDS, type OpenService, type ServiceSetup, sessionServiceLaws } from "../src/testing.ts";
import { builtProgram, RKAT } from "./support/built-package.ts";
import { contractTests } from "./support/contract-tests.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import {
  expectSameCodes,
  expectSameEvents,
  expectSameRefusals,
  expectSameTexts,
  failureOf,
  type OpenSurface,
} from "./support/same-as-sdk.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { type ChildProcess, spawn } from "./support/start-process.ts";
import { overJsonRpc } from "./support/surfaces.ts";
import { LONG, PART_OF_SURFACE, sampled } from "./support/trials.ts";

const SERVER = builtProgram("serve-scripted-json-rpc");
const EVERYTHING = BUILDS.F ?? [];

const open: OpenSurface = (place, setup) =>
  LONG ? start(place, setup).service : overJsonRpc(scriptedService(place, setup));

describe("SessionService over JSON-RPC", () => {
  obey<OpenService>(sessionServiceLaws, [
    {
      name: "json-rpc",
      durable: true,
      part: PART_OF_SURFACE["json-rpc"],
      open: async (place) => async (setup) => open(place, setup),
    },
  ]);
});

describe("the contract over JSON-RPC", () =>
  contractTests(open, { part: PART_OF_SURFACE["json-rpc"] }));

test("a conversation gives the same events as over the SDK, as they happen and in the log", () =>
  expectSameEvents(open));

test("bad requests fail with the same codes as over the SDK", () => expectSameCodes(open));

test("a subscriber sees what others do, from where it asks, and a turn in a session is no news to another", async () => {
  const service = await open(await temporaryFolder(), {
    capabilities: [],
    replies: ["one", "two"],
  });
  const [a, b] = [await service.createSession({}), await service.createSession({})];
  const opened = Promise.withResolvers<number>();
  const stop = new AbortController();
  const seen: EventEnvelope[] = [];
  const all = (async () => {
    const options = { signal: stop.signal, onOpen: opened.resolve };
    for await (const event of service.subscribe(a, options)) seen.push(event);
  })();
  const from = await opened.promise;
  const told: EventEnvelope[] = [];
  await service.startTurn({ ...b, prompt: "not for you" });
  await service.startTurn({ ...a, prompt: "hi" }, { onEvent: (event) => told.push(event) });
  await expect.poll(() => seen.length).toBe(told.length);
  expect(seen).toEqual(told);
  expect(seen[0]?.seq).toBe(from + 1);
  stop.abort();
  await all;
});

test("to subscribe to what there is not fails as it does over the SDK", () =>
  expectSameRefusals(open));

test("a message names fields as over the SDK, and quotes the caller's text unchanged", () =>
  expectSameTexts(open));

test("a turn that is cancelled is interrupted, and so is one whose client closes", async () => {
  const place = await temporaryFolder();
  const replies = [
    { text: "never", delayMs: 60_000 },
    { text: "never", delayMs: 60_000 },
  ];
  const { service } = start(place, { capabilities: EVERYTHING, replies });
  const { sessionId } = await service.createSession({});
  const cancel = new AbortController();
  const first = service.startTurn(
    { sessionId, prompt: "wait" },
    { signal: cancel.signal, onEvent: () => cancel.abort() },
  );
  expect((await failureOf(() => first)).code).toBe("TURN_INTERRUPTED");
  const started = Promise.withResolvers<void>();
  const second = failureOf(() =>
    service.startTurn({ sessionId, prompt: "wait" }, { onEvent: () => started.resolve() }),
  );
  await started.promise;
  await service.close();
  expect((await second).code).toBe("TURN_INTERRUPTED");
  expect((await failureOf(() => service.list({}))).code).toBe("AGENT_ERROR");
});

test("when the server is killed in a turn, the next one has everything that was told, and goes on", async () => {
  const place = await temporaryFolder();
  const call = { id: "c", name: "memory_search", args: { query: "fox" } };
  const { service, child } = start(place, {
    capabilities: EVERYTHING,
    replies: ["one", { text: "searching", toolCalls: [call] }, { text: "never", delayMs: 60_000 }],
  });
  const { sessionId } = await service.createSession({});
  const dead = once(child, "exit");
  const told: EventEnvelope[] = [];
  const tell = (event: EventEnvelope) => void told.push(event);
  await service.startTurn({ sessionId, prompt: "first" }, { onEvent: tell });
  const failed = await failureOf(() =>
    service.startTurn(
      { sessionId, prompt: "second" },
      {
        onEvent(event) {
          tell(event);
          if (event.payload.type === "tool_result_received") child.kill("SIGKILL");
        },
      },
    ),
  );
  expect(failed.code).toBe("SERVICE_UNAVAILABLE");
  await dead;

  const next = await open(place, { capabilities: EVERYTHING, replies: ["back"] });
  const durable = told.filter(({ payload }) => !payload.type.endsWith("_delta"));
  const from = durable[0]?.seq ?? 0;
  const last = durable.at(-1)?.seq ?? 0;
  expect(await eventsOf(next, sessionId, from - 1, last)).toEqual(durable);
  const more: EventEnvelope[] = [];
  const turn = await next.resume({ sessionId, prompt: "go on" }, { onEvent: (e) => more.push(e) });
  expect(turn.text).toBe("back");
  const { seq } = await next.read({ sessionId });
  const all = await eventsOf(next, sessionId, 0, seq);
  expect(all.map((event) => event.seq)).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
});

describe("`rkat rpc`", () => {
  test("works with a client of somebody else's", async () => {
    const provider = await providerForTest([{ text: "Hello, Ada." }]);
    const project = await Project.open({ provider });
    const { client, child, lines } = genericClient(project);
    const events: { readonly event: EventEnvelope }[] = [];
    client.addMethod("session/event", (params) => void events.push(params));
    const { methods, server_info } = await client.request("initialize", {});
    expect(server_info).toMatchObject({ name: "rkat" });
    expect(methods).toContain("config/get");
    const { session_id } = await client.request("session/create", { labels: { a: "b" } });
    client.notify("session/list", {});
    const turn = await client.request("turn/start", { session_id, prompt: "hello" });
    expect(turn).toMatchObject({ session_id, text: "Hello, Ada.", stop_reason: "end_turn" });
    expect(events.map(({ event }) => event.payload.type)).toContain("text_delta");
    expect(events.at(-1)?.event.payload.type).toBe("run_completed");
    const [a, b] = await client.requestAdvanced([
      { jsonrpc: "2.0", id: "a", method: "session/read", params: { session_id } },
      { jsonrpc: "2.0", id: "b", method: "session/read", params: { session_id: "nobody" } },
    ]);
    expect(a?.result).toMatchObject({ session_id, turns: 1 });
    expect(b?.error).toMatchObject({ code: -32001, data: { code: "SESSION_NOT_FOUND" } });
    await expect(client.request("session/fly", {})).rejects.toMatchObject({ code: -32601 });
    const { settings } = await client.request("config/get", undefined);
    expect(settings).toContainEqual(expect.objectContaining({ key: "model" }));
    child.stdin?.end();
    expect(await once(child, "close")).toEqual([0, null]);
    for (const message of lines.flatMap((line) => JSON.parse(line))) {
      expect(message).toMatchObject({ jsonrpc: "2.0" });
    }
  });

  test("finishes what runs when its input ends, and tells subscribers what there is", async () => {
    const provider = await providerForTest([{ text: "Done in time." }]);
    const project = await Project.open({ provider });
    const session = (await project.json(["run", "first", "--output", "json"])) as {
      readonly session_id: string;
    };
    const { session_id } = session;
    const requests = [
      { method: "session/subscribe", params: { session_id, after_seq: 0 } },
      { method: "turn/start", params: { session_id, prompt: "second" } },
    ];
    const input = requests.map((request, id) => JSON.stringify({ jsonrpc: "2.0", id, ...request }));
    const { code, stdout } = await project.rkat(["rpc"], input.join("\n"));
    expect(code).toBe(0);
    const messages = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(messages.find(({ id }) => id === 1)?.result).toMatchObject({ stop_reason: "end_turn" });
    const told = messages
      .filter(({ params }) => params?.subscription_id !== undefined)
      .map(({ params }) => params.event)
      .filter(({ payload }) => !payload.type.endsWith("_delta"));
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, index) => index + 1));
    expect(told.at(-1).payload.type).toBe("run_completed");
  });

  test.each(sampled(["SIGINT", "SIGTERM"] as const, { of: 2, at: 1 }, "cases"))(
    "on %s it interrupts, answers and ends",
    async (signal) => {
      const provider = await providerForTest([
        { text: "A long story begins", interruption: "hang" },
      ]);
      const project = await Project.open({ provider });
      const { client, child } = genericClient(project);
      const { session_id } = await client.request("session/create", {});
      const started = Promise.withResolvers<void>();
      client.addMethod("session/event", ({ event }) => {
        if (event.payload.type === "text_delta") started.resolve();
      });
      const turn = client.request("turn/start", { session_id, prompt: "wait" });
      await started.promise;
      child.kill(signal);
      await expect(turn).rejects.toMatchObject({ data: { code: "TURN_INTERRUPTED" } });
      expect(await once(child, "close")).toEqual([0, null]);
    },
  );
});

interface Started {
  readonly service: SessionService;
  readonly child: ChildProcess;
}

/** A client of a scripted service in another process. */
function start(place: string, setup: ServiceSetup): Started {
  const args = ["--disable-warning=ExperimentalWarning", SERVER, place, JSON.stringify(setup)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const connected = connectJsonRpc({ input: child.stdout, output: child.stdin });
  const closed = once(child, "close");
  // The server closes its stores after the client has gone.
  const close = async () => {
    await connected.close();
    await closed;
  };
  onTestFinished(close);
  return { service: { ...connected, close }, child };
}

/** The client of the package `json-rpc-2.0`, on the pipes of the real command. */
function genericClient(project: Project) {
  const child = spawn(process.execPath, [RKAT, "rpc"], {
    cwd: project.folder,
    env: project.env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const client = new JSONRPCServerAndClient(
    new JSONRPCServer(),
    new JSONRPCClient((request) => void child.stdin.write(`${JSON.stringify(request)}\n`)),
  );
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    void client.receiveAndSend(JSON.parse(line));
  });
  return { client, child, lines };
}
