import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { type EventEnvelope, type LanguageModel, createSessionService } from "../src/index.ts";
import { connectRest, type ServeRestOptions, serveRest } from "../src/rest.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { BUILDS, type ScriptedReply } from "../src/testing.ts";
import { type Frame, framesOf, idsOf, stalledReader } from "./support/event-stream.ts";
import { eventsOf } from "./support/eventful-conversation.ts";
import { temporaryFolder } from "./support/obey.ts";
import { startScript } from "./support/rest-process.ts";
import { scriptedService } from "./support/scripted-service.ts";

const EVERYTHING = BUILDS.F ?? [];
const CROWD = Number(process.env.RKAT_CROWD ?? 40);
const ROUNDS = Number(process.env.RKAT_CROWD_ROUNDS ?? 3);

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

  test("begin with the place where a reader goes on that has seen none", async () => {
    const { url, service } = await serve({ replies: ["one", "two"] });
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "before" });
    const { seq } = await service.read({ sessionId });
    const reader = curl(["-i", `${url}/sessions/${sessionId}/events`]);
    await expect.poll(() => reader.text()).toContain(`\n\nid: ${seq}\nretry: 1000\n\n`.slice(2));
    expect(reader.text()).toMatch(new RegExp(`last-event-id: ${seq}\r\n`));
    await service.startTurn({ sessionId, prompt: "after" });
    await expect.poll(() => reader.text()).toContain('"result":"two"');
    expect(idsOf(framesOf(reader.text()))[0]).toBe(seq + 1);
  });

  test("are refused like any other request", async () => {
    const { url, service } = await serve({});
    const { sessionId } = await service.createSession({});
    const ask = async (path: string, headers: HeadersInit = {}) => {
      const response = await fetch(`${url}/sessions/${path}`, { headers });
      return [response.status, ((await response.json()) as { code: string }).code];
    };
    expect(await ask("nobody/events")).toEqual([404, "SESSION_NOT_FOUND"]);
    expect(await ask(`${sessionId}/events?after_seq=-1`)).toEqual([400, "INVALID_PARAMS"]);
    expect(await ask(`${sessionId}/events?colour=red`)).toEqual([400, "INVALID_PARAMS"]);
    const headers = { "last-event-id": "yesterday" };
    expect(await ask(`${sessionId}/events`, headers)).toEqual([400, "INVALID_PARAMS"]);
  });

  test("are kept alive by heartbeats, and end with `done` when the server does", async () => {
    const { url, service, close } = await serve({}, { heartbeatMs: 20 });
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
    const { url, service } = await serve({}, {}, chatterbox(30_000));
    const { sessionId } = await service.createSession({});
    const reader = await stalledReader(`${url}/sessions/${sessionId}/events?after_seq=0`);
    await service.startTurn({ sessionId, prompt: "talk" });
    const { seq } = await service.read({ sessionId });
    setTimeout(() => service.startTurn({ sessionId, prompt: "talk" }), 300);
    const frames: Frame[] = [];
    const all = await readUntil(`${url}/sessions/${sessionId}/events?after_seq=0`, seq);
    frames.push(...all);
    expect(idsOf(frames).slice(0, seq)).toEqual(Array.from({ length: seq }, (_, at) => at + 1));
    expect(reader.status).toBe(200);
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
    const { url, service } = await serve({}, {}, chatterbox(60_000));
    const { sessionId } = await service.createSession({});
    const reader = await stalledReader(`${url}/sessions/${sessionId}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ prompt: "talk" }),
    });
    await expect.poll(async () => (await service.read({ sessionId })).isActive).toBe(false);
    const frames = framesOf(await reader.readAll());
    const { seq } = await service.read({ sessionId });
    const ids = idsOf(frames);
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, at) => seq - ids.length + 1 + at));
    const dropped = frames
      .filter(({ event }) => event === "stream_truncated")
      .map((frame) => envelopeOf(frame).payload as { readonly dropped: number });
    const deltas = frames.filter(({ event }) => event === "text_delta");
    const missed = dropped.reduce((sum, payload) => sum + payload.dropped, 0);
    expect(missed).toBeGreaterThan(0);
    expect(deltas.length + missed).toBe(60_000);
    expect(frames.at(-1)?.event).toBe("result");
  });
});

test("a crowd of sessions runs at once, loses and repeats no event, and leaves nothing behind", async () => {
  const deltas = 20;
  const args = [await temporaryFolder(), String(CROWD), String(deltas)];
  const { url, child } = await startScript("./serve-crowd-rest.ts", args);
  const service = connectRest({ url });
  onTestFinished(() => service.close());
  const memory = async () => {
    child.send("memory");
    return (await once(child, "message"))[0] as NodeJS.MemoryUsage;
  };
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
  const megabytes = used.map(({ rss, heapUsed }) => [rss, heapUsed].map((n) => Math.round(n / 1e6)));
  console.info(`crowd of ${CROWD}, MB [rss, heap] after each round: ${JSON.stringify(megabytes)}`);

  async function watch(sessionId: string): Promise<EventEnvelope[]> {
    const events: EventEnvelope[] = [];
    for await (const event of service.subscribe({ sessionId, afterSeq: 0 })) {
      if (event.payload.type !== "text_delta") events.push(event);
      if (event.payload.type === "run_completed") break;
    }
    return events;
  }
});
