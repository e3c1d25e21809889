import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { isTransient } from "../src/core/event.ts";
import type { EventEnvelope, SessionService } from "../src/index.ts";
import { connectJsonRpc, serveJsonRpc } from "../src/json-rpc.ts";
import { BUILDS, type ScriptedReply } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { scriptedService } from "./support/scripted-service.ts";

const MEGABYTE = 1024 * 1024;
const ROUNDS = 4;

test("a slow reader of a turn misses no durable event, and hears how many deltas it missed", async () => {
  const { service, input, output, served } = await serveTalkative();
  const { sessionId } = await service.createSession({});
  ask(input, 1, "turn/start", { session_id: sessionId, prompt: "talk" });
  await ended(service, sessionId);
  expect(output.readableLength + output.writableLength).toBeLessThan(4 * MEGABYTE);

  const told: EventEnvelope[] = [];
  for await (const { id, method, params, result } of messages(output)) {
    if (method === "session/event") told.push(params.event);
    if (id !== 1) continue;
    expect(result.text).toBe("ok");
    break;
  }
  const durable = told.filter(({ payload }) => !isTransient(payload));
  const deltas = told.filter(({ payload }) => payload.type === "text_delta").length;
  const dropped = told.reduce(
    (sum, { payload }) => sum + (payload.type === "stream_truncated" ? payload.dropped : 0),
    0,
  );
  const { seq } = await service.read({ sessionId });
  const first = durable[0]?.seq ?? 0;
  expect(durable.map((event) => event.seq)).toEqual(
    Array.from({ length: seq - first + 1 }, (_, index) => first + index),
  );
  expect(dropped).toBeGreaterThan(0);
  expect(deltas + dropped).toBe(ROUNDS + 1);
  input.end();
  await served;
});

test("a slow reader of a subscription has its events from the log when it comes back", async () => {
  const { service, input, output } = await serveTalkative();
  const client = connectJsonRpc({ input: output, output: input });
  onTestFinished(() => client.close());
  const { sessionId } = await client.createSession({});
  const events = client.subscribe({ sessionId, afterSeq: 0 })[Symbol.asyncIterator]();
  const seqs = [(await events.next()).value.seq];
  await client.startTurn({ sessionId, prompt: "talk" });
  const { seq } = await service.read({ sessionId });
  while (seqs.at(-1) < seq) {
    const { value } = await events.next();
    if (!isTransient(value.payload)) seqs.push(value.seq);
  }
  await events.return?.();
  expect(seqs).toEqual(Array.from({ length: seq }, (_, index) => index + 1));
});

test("a subscription that is given up while it is opened ends", async () => {
  const { input, output } = await serveTalkative();
  const client = connectJsonRpc({ input: output, output: input });
  onTestFinished(() => client.close());
  const { sessionId } = await client.createSession({});
  const stop = new AbortController();
  const events = client.subscribe({ sessionId }, { signal: stop.signal })[Symbol.asyncIterator]();
  const next = events.next();
  await Promise.resolve();
  stop.abort();
  expect(await next).toEqual({ done: true, value: undefined });
});

test("a connection runs a bounded number of turns, and everything else beside them", async () => {
  const { service, input, output, served } = await serve([{ text: "slow", delayMs: 60_000 }], {
    turnsMax: 1,
    drainMs: 0,
  });
  const [a, b] = [await service.createSession({}), await service.createSession({})];
  ask(input, 1, "turn/start", { session_id: a.sessionId, prompt: "wait" });
  ask(input, 2, "turn/start", { session_id: b.sessionId, prompt: "too many" });
  for (let id = 3; id < 300; id += 1) ask(input, id, "capabilities/get", {});
  const failed = new Map<number, string>();
  const answered: number[] = [];
  for await (const { id, error } of messages(output)) {
    if (id === undefined) continue;
    answered.push(id);
    if (error) failed.set(id, error.data.code);
    if (answered.length === 298) input.end();
  }
  await served;
  expect(answered.toSorted((x, y) => x - y)).toEqual(
    Array.from({ length: 299 }, (_, at) => at + 1),
  );
  expect(Object.fromEntries(failed)).toEqual({ 1: "TURN_INTERRUPTED", 2: "SERVICE_UNAVAILABLE" });
});

test("a server that is stopped does not wait for who does not read", async () => {
  const stop = new AbortController();
  const { input, output, served } = await serve([], {
    signal: stop.signal,
    drainMs: 200,
    graceMs: 200,
  });
  for (let id = 1; id < 3000; id += 1) ask(input, id, "initialize", {});
  await expect.poll(() => output.writableNeedDrain).toBe(true);
  stop.abort();
  await served;
  expect(output.destroyed).toBe(true);
});

test("who stops reading altogether is given up when the connection ends", async () => {
  const { service, input, output, served } = await serveTalkative();
  const { sessionId } = await service.createSession({});
  ask(input, 1, "turn/start", { session_id: sessionId, prompt: "talk" });
  await ended(service, sessionId);
  output.destroy();
  await served;
  expect((await service.read({ sessionId })).lastAssistantText).toBe("ok");
});

/** A service whose model says a megabyte at a time before it answers. */
function serveTalkative() {
  const call = { id: "c", name: "nothing", args: {} };
  const replies = Array.from({ length: ROUNDS }, (_, round) => ({
    text: `${round}`.padEnd(MEGABYTE, "."),
    toolCalls: [{ ...call, id: `c${round}` }],
  }));
  return serve(replies);
}

async function serve(
  replies: readonly ScriptedReply[],
  options: {
    readonly turnsMax?: number;
    readonly drainMs?: number;
    readonly graceMs?: number;
    readonly signal?: AbortSignal;
  } = {},
) {
  const capabilities = BUILDS.B ?? [];
  const { service, close } = scriptedService(await temporaryFolder(), { capabilities, replies });
  onTestFinished(close);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const served = serveJsonRpc({ service, input, output, ...options });
  return { service, input, output, served };
}

function ask(input: PassThrough, id: number, method: string, params: object): void {
  input.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
}

async function* messages(output: PassThrough) {
  let rest = "";
  for await (const chunk of output) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}

/** Waits until a turn has been run in the session. */
async function ended(service: SessionService, sessionId: string): Promise<void> {
  await expect.poll(async () => (await service.read({ sessionId })).lastAssistantText).toBe("ok");
}
