import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService, type EventEnvelope, type LanguageModel } from "../src/index.ts";
import { connectRest, type ServeRestOptions, serveRest } from "../src/rest.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS, type ScriptedReply } from "../src/testing.ts";
import { type Frame, framesOf, idsOf, stalledReader } from "./support/event-stream.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { temporaryFolder } from "./support/obey.ts";
import { startProgram } from "./support/rest-process.ts";
import { note } from "./support/running-test.ts";
import { scriptedService } from "./support/scripted-service.ts";
import { spawn } from "./support/start-process.ts";
import { LONG, trials } from "./support/trials.ts";

const EVERYTHING = BUILDS.F ?? [];
const CROWD = Number(process.env.RKAT_CROWD ?? (LONG ? 40 : 15));
const ROUNDS = trials(1, 20);

describe("the events of a session", () => {
  test("go on where curl's stream was cut, without a gap or a repeat", async () => {
    const { url, service } = await serve({ replies: ["one", "two", "three", "four"] });
    const { sessionId } = await service.createSession({});
    const first = curl([`${url}/sessions/${sessionId}/events?after_seq=0`]);
    for (const prompt of ["a", "b"]) await service.startTurn({ sessionId, prompt });
    await expect.poll(() => first.text()).toContain('"result":"two"');
    first.child.kill("SIGKILL");
    const before = idsOf(framesOf(first.text()));
    await service.startTurn({ sessionId, prompt: "while nobody reads" });

    const header = `Last-Event-ID: ${before.at(-1)}`;
    const second = curl(["-H", header, `${url}/sessions/${sessionId}/events?after_seq=0`]);
    await service.startTurn({ sessionId, prompt: "c" });
    await expect.poll(() => second.text()).toContain('"result":"four"');
    const ids = [...before, ...idsOf(framesOf(second.text()))];
    const { seq } = await service.read({ sessionId });
    expect(ids).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
  });

  test("are what the log has, each with its type and its id; deltas have none", async () => {
    const { url, service } = await serve({ replies: [{ reasoning: "hm", text: "hello" }] });
    const { sessionId } = await service.createSession({});
    const reader = curl([`${url}/sessions/${sessionId}/events?after_seq=0`]);
    await expect.poll(() => reader.text()).toContain("session_created");
    await service.startTurn({ sessionId, prompt: "hi" });
    await expect.poll(() => reader.text()).toContain("run_completed");
    const frames = framesOf(reader.text()).filter(({ data }) => data);
    const envelopes = frames.map(envelopeOf);
    expect(frames.map(({ event }) => event)).toEqual(envelopes.map(({ payload }) => payload.type));
    const { seq } = await service.read({ sessionId });
    const durable = envelopes.filter((_, index) => frames[index]?.id !== undefined);
    expect(durable).toEqual(await eventsOf(service, sessionId, 0, seq));
    const deltas = frames.filter(({ id }) => id === undefined).map(({ event }) => event);
    expect(deltas).toEqual(["reasoning_delta", "text_delta"]);
  });

  test("reach the `onmessage` of an EventSource with `named=false`, and listeners by type without", async () => {
    const { url, service } = await serve({ replies: ["hello"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "hi" });
    const { seq } = await service.read({ sessionId });
    const path = `${url}/sessions/${sessionId}/events?after_seq=0`;
    const program = (address: string, listener: string) => `
      const source = new EventSource(${JSON.stringify(address)});
      let count = 0;
      const show = ({ data, lastEventId }) => {
        console.log(lastEventId, JSON.parse(data).payload.type);
        if ((count += 1) === ${listener === "onmessage" ? seq : 1}) process.exit();
      };
      ${listener === "onmessage" ? "source.onmessage = show" : `source.addEventListener("${listener}", show)`};`;
    const seen = async (address: string, listener: string) => {
      const flags = ["--experimental-eventsource", "--no-warnings", "-e"];
      const child = spawn(process.execPath, [...flags, program(address, listener)]);
      return Buffer.concat(await Array.fromAsync(child.stdout))
        .toString()
        .trim()
        .split("\n");
    };
    const all = await eventsOf(service, sessionId, 0, seq);
    expect(await seen(`${path}&named=false`, "onmessage")).toEqual(
      all.map(({ seq, payload }) => `${seq} ${payload.type}`),
    );
    expect(await seen(path, "run_completed")).toEqual([`${seq} run_completed`]);
  });

  test("begin with the place where a reader goes on that has seen none", async () => {
    const { url, service } = await serve({ replies: ["one", "two"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "before" });
    const { seq } = await service.read({ sessionId });
    const reader = curl(["-i", `${url}/sessions/${sessionId}/events`]);
    await expect.poll(() => reader.text()).toContain(`id: ${seq}\nretry: 1000\n\n`);
    expect(reader.text()).toMatch(new RegExp(`last-event-id: ${seq}\r\n`));
    await service.startTurn({ sessionId, prompt: "after" });
    await expect.poll(() => reader.text()).toContain('"result":"two"');
    expect(idsOf(framesOf(reader.text()))[0]).toBe(seq + 1);
  });

  test("are refused like any other request", async () => {
    const { url, service } = await serve({});
    const { sessionId } = await service.createSession({});
    const ask = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`${url}/sessions/${path}`, { headers });
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    expect(await ask("nobody/events")).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await ask(`${sessionId}/events?after_seq=-1`)).toEqual([400, "INVALID_PARAMS"]);
    expect(await ask(`${sessionId}/events?colour=red`)).toEqual([400, "INVALID_PARAMS"]);
    expect(await ask(`${sessionId}/events?named=no`)).toEqual([400, "INVALID_PARAMS"]);
    const headers = { "last-event-id": "yesterday" };
    expect(await ask(`${sessionId}/events`, headers)).toEqual([400, "INVALID_PARAMS"]);
  });

  test("are kept alive by heartbeats, and end with `done` when the server does", async () => {
    const { url, service, close } = await serve({}, { limits: { heartbeatMs: 20 } });
    const { sessionId } = await service.createSession({});
    const reader = curl([`${url}/sessions/${sessionId}/events`]);
    await expect.poll(() => reader.text()).toMatch(/(: heartbeat\n\n){3}/);
    await close();
    await once(reader.child, "close");
    expect(reader.text()).toMatch(/event: done\ndata: \{\}\n\n$/);
    expect(reader.child.exitCode).toBe(0);
  });

  test("end for a client when the server ends", async () => {
    const { url, service, close } = await serve({});
    const { sessionId } = await service.createSession({});
    const opened = Promise.withResolvers<void>();
    const all = Array.fromAsync(
      connectRest({ url }).subscribe({ sessionId }, { onOpen: () => opened.resolve() }),
    );
    await opened.promise;
    await close();
    expect(await all).toEqual([]);
  });

  test("reach a slow reader all the same; of the deltas it is told how many did not", async () => {
    const { url, service } = await serve({}, {}, chatterbox);
    const { sessionId } = await service.createSession({});
    const reader = await stalledReader(`${url}/sessions/${sessionId}/events?after_seq=0`);
    await service.startTurn({ sessionId, prompt: "talk" });
    const frames = framesOf(await reader.readUntil(/event: run_completed\n.*\n\n$/));
    const { seq } = await service.read({ sessionId });
    expect(idsOf(frames)).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
    expectDeltasAccountedFor(frames);
  });

  test("are no longer kept for a reader that takes nothing for too long", async () => {
    const limits = { streamsMax: 1, stallMs: 50 };
    const { url, service } = await serve({}, { limits }, chatterbox);
    const { sessionId } = await service.createSession({});
    const events = `${url}/sessions/${sessionId}/events?after_seq=0`;
    await stalledReader(events);
    expect((await fetch(events)).status).toBe(503);
    await service.startTurn({ sessionId, prompt: "talk" });
    await expect.poll(async () => (await stalledReader(events)).status).toBe(200);
  });
});

describe("a turn that is streamed", () => {
  test("shows every event in order, then the result that the JSON answer would be", async () => {
    const { url, service } = await serve({ replies: ["hello"] });
    const { sessionId } = await service.createSession({});
    const { frames } = await post(`${url}/sessions/${sessionId}/messages`, { prompt: "hi" });
    expect(frames.map(({ event }) => event)).toEqual([
      "run_started",
      "turn_started",
      "text_delta",
      "text_complete",
      "turn_completed",
      "run_completed",
      "result",
    ]);
    expect(JSON.parse(frames.at(-1)?.data ?? "")).toMatchObject({
      session_id: sessionId,
      text: "hello",
      stop_reason: "end_turn",
    });
  });

  test("ends with the error when it fails, and fails like any request when it cannot begin", async () => {
    const { url, service } = await serve({ replies: [{ error: "PROVIDER_ERROR" }] });
    const { sessionId } = await service.createSession({});
    const messages = `${url}/sessions/${sessionId}/messages`;
    const { status, frames } = await post(messages, { prompt: "hi" });
    expect(status).toBe(200);
    expect(frames.map(({ event }) => event).slice(-2)).toEqual(["run_failed", "error"]);
    expect(JSON.parse(frames.at(-1)?.data ?? "")).toMatchObject({ code: "PROVIDER_ERROR" });
    expect((await post(messages, { prompt: "" })).status).toBe(400);
    expect((await post(`${url}/sessions/nobody/messages`, { prompt: "hi" })).status).toBe(404);
  });

  test("goes on when its reader leaves", async () => {
    const { url, service } = await serve({ replies: [{ text: "slow", delayMs: 100 }] });
    const { sessionId } = await service.createSession({});
    const reader = curl([
      ...["-H", "Accept: text/event-stream", "--json", '{"prompt":"hi"}'],
      `${url}/sessions/${sessionId}/messages`,
    ]);
    await expect.poll(() => reader.text()).toContain("turn_started");
    reader.child.kill("SIGKILL");
    await expect
      .poll(async () => (await service.read({ sessionId })).lastAssistantText)
      .toBe("slow");
  });

  test("brings a slow reader every durable event and the result, and says how many deltas it missed", async () => {
    const { url, service } = await serve({}, {}, chatterbox);
    const { sessionId } = await service.createSession({});
    const reader = await stalledReader(`${url}/sessions/${sessionId}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ prompt: "talk" }),
    });
    await expect.poll(async () => (await service.read({ sessionId })).isActive).toBe(false);
    const frames = framesOf(await reader.readUntil(/event: result\n.*\n\n$/));
    const { seq } = await service.read({ sessionId });
    const ids = idsOf(frames);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => seq - ids.length + 1 + at));
    expectDeltasAccountedFor(frames);
    expect(frames.at(-1)?.event).toBe("result");
  });
});

test("a crowd of sessions runs at once, loses and repeats no event, and leaves nothing behind", async () => {
  const deltas = 20;
  const args = [await temporaryFolder(), String(CROWD), String(deltas)];
  const { url, memory } = await startProgram("serve-crowd-rest", args);
  const service = connectRest({ url });
  onTestFinished(() => service.close());
  const used: NodeJS.MemoryUsage[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      Array.from({ length: CROWD }, async () => {
        const { sessionId } = await service.createSession({});
        const watched = watch(sessionId);
        const told: EventEnvelope[] = [];
        const onEvent = (event: EventEnvelope) => void told.push(event);
        await service.startTurn({ sessionId, prompt: "hello" }, { onEvent });
        const durable = told.filter(({ payload }) => payload.type !== "text_delta");
        expect(told.length - durable.length).toBe(deltas);
        expect(durable.map(({ seq }) => seq)).toEqual(
          durable.map((_, index) => (durable[0]?.seq ?? 0) + index),
        );
        expect((await watched).slice(-durable.length)).toEqual(durable);
      }),
    );
    used.push(await memory());
  }
  const megabytes = used.map(({ rss, heapUsed }) =>
    [rss, heapUsed].map((n) => Math.round(n / 1e6)),
  );
  if (LONG)
    note(`crowd of ${CROWD}, MB [rss, heap] after each round: ${JSON.stringify(megabytes)}`);

  async function watch(sessionId: string): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    for await (const event of service.subscribe({ sessionId, afterSeq: 0 })) {
      if (event.payload.type !== "text_delta") events.push(event);
      if (event.payload.type === "run_completed") break;
    }
    return events;
  }
});

const DELTAS = 8_000;

/** Says more than all sockets between a server and its client can hold. */
const chatterbox: LanguageModel = {
  id: "chatter/box",
  async *stream() {
    for (let index = 0; index < DELTAS; index++) {
      if (index % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { type: "text_delta", delta: "blah ".repeat(500) };
    }
    yield { type: "block", block: { block_type: "text", data: { text: "That was it." } } };
    const usage = { input_tokens: 1, output_tokens: 1 };
    yield {
      type: "finish",
      stopReason: "end_turn",
      usage: { ...usage, cache_creation_tokens: null, cache_read_tokens: null },
    };
  },
};

function expectDeltasAccountedFor(frames: readonly Frame[]): void {
  const payloads = frames.filter(({ event }) => event === "stream_truncated").map(envelopeOf);
  const dropped = payloads.reduce(
    (sum, { payload }) => sum + (payload.type === "stream_truncated" ? payload.dropped : 0),
    0,
  );
  expect(dropped).toBeGreaterThan(0);
  expect(frames.filter(({ event }) => event === "text_delta").length + dropped).toBe(DELTAS);
}

/** A server in this process, whose service has every capability. */
async function serve(
  setup: { readonly replies?: readonly ScriptedReply[] },
  options: Partial<ServeRestOptions> = {},
  model?: LanguageModel,
) {
  const place = await temporaryFolder();
  const { service, close: closeService } = model
    ? serviceOf(model, place)
    : scriptedService(place, { capabilities: EVERYTHING, ...setup });
  const server = await serveRest({ service, port: 0, ...options });
  const close = () => server.close({ graceMs: 0 });
  onTestFinished(async () => {
    await close();
    await closeService();
  });
  return { url: server.url, service, close };
}

function serviceOf(model: LanguageModel, place: string) {
  const stores = sqliteStores({ path: join(place, "rkat.db"), thread: "worker" });
  const service = createSessionService({ model, stores });
  return {
    service,
    async close() {
      await service.close();
      await stores.close();
    },
  };
}

/** curl, and what it has printed so far. */
function curl(args: readonly string[]) {
  const child = spawn("curl", ["-sN", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  return { child, text: () => printed };
}

async function post(url: string, body: unknown) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(body),
  });
  return { status: response.status, frames: framesOf(await response.text()) };
}

function envelopeOf({ data = "" }: Frame): EventEnvelope {
  return JSON.parse(data);
}

describe("an Idempotency-Key", () => {
  const headers = { "content-type": "application/json", "idempotency-key": "key-1" };
  const send = (url: string, body: object, more: Readonly<Record<string, string>> = {}) =>
    fetch(url, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });

  test("makes one turn of requests that come twice, at once or later, streamed or not", async () => {
    const { url, service } = await serve({ replies: ["one", "two", "three"] });
    const { sessionId } = await service.createSession({});
    const at = `${url}/sessions/${sessionId}/messages`;
    const body = { prompt: "pay the bill" };
    const both = await Promise.all([send(at, body), send(at, body)]);
    const answers = await Promise.all(both.map((answer) => answer.json()));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ text: "one" });
    expect(await (await send(at, body)).json()).toEqual(answers[0]);
    const streamed = await send(at, body, { accept: "text/event-stream" });
    const frames = framesOf(await streamed.text()).filter(({ data }) => data);
    expect(frames.map(({ event, data }) => [event, JSON.parse(data ?? "")])).toEqual([
      ["result", answers[0]],
    ]);
    const { seq } = await service.read({ sessionId });
    const log = await eventsOf(service, sessionId, 0, seq);
    expect(log.filter(({ payload }) => payload.type === "run_started")).toHaveLength(1);
    const other = await send(at, body, { "idempotency-key": "key-2" });
    expect(await other.json()).toMatchObject({ text: "two" });
  });

  test("is refused with another request, and with characters that it cannot have", async () => {
    const { url, service } = await serve({ replies: ["one", "two"] });
    const { sessionId } = await service.createSession({});
    const at = `${url}/sessions/${sessionId}/messages`;
    await send(at, { prompt: "pay the bill" });
    const refused = await send(at, { prompt: "pay it twice" });
    expect([refused.status, await refused.json()]).toMatchObject([422, { code: "NOT_POSSIBLE" }]);
    const bad = await send(at, { prompt: "hi" }, { "idempotency-key": "a b" });
    expect([bad.status, await bad.json()]).toMatchObject([400, { code: "INVALID_PARAMS" }]);
  });

  test("is free again after a request that began no turn, and belongs to one user", async () => {
    const { url, service } = await serve({ replies: ["one", "two"] });
    const { sessionId } = await service.forUser("ada").createSession({});
    const at = `${url}/sessions/${sessionId}/messages`;
    const body = { prompt: "hi" };
    for (const user of ["bob", "bob"]) {
      expect((await send(at, body, { "x-rkat-user": user })).status).toBe(404);
    }
    const [first, again] = [
      await send(at, body, { "x-rkat-user": "ada" }),
      await send(at, body, { "x-rkat-user": "ada" }),
    ];
    expect(await first.json()).toEqual(await again.json());
  });
});

test("a Last-Event-ID after the end of the log is refused, and says where the log ends", async () => {
  const { url, service } = await serve({ replies: [] });
  const { sessionId } = await service.createSession({});
  const { seq } = await service.read({ sessionId });
  const ask = (id: number) =>
    fetch(`${url}/sessions/${sessionId}/events`, {
      headers: { "last-event-id": String(id) },
      signal: AbortSignal.timeout(10_000),
    });
  const refused = await ask(seq + 1);
  expect([refused.status, await refused.json()]).toMatchObject([
    422,
    { code: "NOT_POSSIBLE", message: expect.stringContaining(`ends at ${seq}`) },
  ]);
  const open = await ask(seq);
  expect(open.status).toBe(200);
  await open.body?.cancel();
});
