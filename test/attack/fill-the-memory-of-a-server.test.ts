import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test, vi } from "vitest";
import { readerQueues } from "../../src/core/reader-queues.ts";
import { createSessionService, type LanguageModel } from "../../src/index.ts";
import { serveJsonRpc } from "../../src/json-rpc.ts";
import { serveMcpHttp } from "../../src/mcp.ts";
import { createRestApp, serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { builtProgram, RKAT } from "../support/built-package.ts";
import { stalledMcp, stalledReader } from "../support/event-stream.ts";
import { temporaryFolder } from "../support/obey.ts";
import { execFile, spawn } from "../support/start-process.ts";
import { sampled, trials } from "../support/trials.ts";

const SOAK = builtProgram("soak");
const IDLE = builtProgram("idle-subscriber");
/** In the short form, what stays of three quarters of them is still more than the limit. */
const TIMES = trials(140, 10_000);
/** What a process learns once, such as compiled code, is in it. A request that stays is 10 KB and more. */
const GROWTH_BYTES_MAX = 1_000_000;

// Take over two seconds: what stays behind shows after many rounds only, in a process that does nothing else.
const KINDS = ["turns", "compactions", "requests", "subscriptions"];
for (const kind of sampled(KINDS, { of: 4, at: 0 }, "attacks")) {
  test(`${TIMES} ${kind} leave nothing behind`, async () => {
    const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", SOAK, kind, `${TIMES}`];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(growthIn(JSON.parse(stdout))).toBeLessThan(GROWTH_BYTES_MAX);
  }, 600_000);
}

/**
 * How much the heap grew in three quarters of the work, by the smallest one of them. What stays shows in each; what a
 * process does now and then, such as a merge that a slow machine has time for later, not in all.
 */
function growthIn([first, second, third, last]: readonly [number, number, number, number]): number {
  return 3 * Math.min(second - first, third - second, last - third);
}

test("a subscriber that waits keeps none of the events that it took in memory", async () => {
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", IDLE];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ taken: 12, kept: 0 });
});

test("a body of openers is refused before it is parsed", async () => {
  const app = createRestApp({ service: createSessionService({ model: scriptedModel(() => "") }) });
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  for (const [body, status] of [
    ["[".repeat(7_000_000), 400],
    [`[${"[],".repeat(2_000_000)}[]]`, 413],
  ] as const) {
    const response = await app.fetch(
      new Request("http://127.0.0.1/sessions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      }),
    );
    expect(response.status).toBe(status);
    expect(parse.mock.calls.filter(([text]) => text.length > 1_000_000)).toEqual([]);
  }
});

test.runIf(process.platform === "linux")(
  "rkat serve bounds the memory for new objects",
  async () => {
    const folder = await temporaryFolder();
    const env = { HOME: folder };
    const child = spawn(process.execPath, [RKAT, "serve", "--port", "0", "--dir", folder], { env });
    onTestFinished(() => void child.kill("SIGKILL"));
    // The process starts Node again before it listens.
    const [line] = (await Promise.race(
      [child.stdout, child.stderr].map((out) => once(out, "data")),
    )) as [Buffer];
    expect(`${line}`).toContain("http://127.0.0.1:");
    expect(readFileSync(`/proc/${child.pid}/cmdline`, "utf8").split("\0")).toContain(
      "--max-semi-space-size=16",
    );
  },
);

test("a body that arrives byte by byte takes little more memory than its bytes", async () => {
  const app = createRestApp({ service: createSessionService({ model: scriptedModel(() => "") }) });
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const size = 500_000;
  let [sent, before, grown] = [0, 0, 0];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === 1 || sent === size) {
        collectGarbage();
        const { heapUsed, arrayBuffers } = process.memoryUsage();
        [before, grown] = [heapUsed + arrayBuffers, heapUsed + arrayBuffers - before];
      }
      if (sent === size) controller.close();
      else controller.enqueue(new Uint8Array([32]));
      sent += 1;
    },
  });
  const headers = { "content-type": "application/json" };
  const response = await app.fetch(
    new Request("http://127.0.0.1/sessions", { method: "POST", headers, body, duplex: "half" }),
  );
  expect(response.status).toBe(400);
  // As a list of its chunks, it takes 50 MB and more.
  expect(grown).toBeLessThan(5_000_000);
}, 120_000);

// Takes over two seconds: 20 MB are sent to 120 readers, behind full buffers of the system.
test("readers of a session that read nothing share the events that they were sent", async () => {
  const readers = 120;
  const service = createSessionService({ model: scriptedModel(() => "") });
  const server = await serveRest({ service, port: 0 });
  const { sessionId } = await service.createSession({});
  onTestFinished(async () => {
    await server.close({ graceMs: 0 });
    await service.close();
  });
  for (let count = 0; count < readers; count += 1) {
    await stalledReader(`${server.url}/sessions/${sessionId}/events`);
  }
  const before = process.memoryUsage().arrayBuffers;
  const text = "x".repeat(500_000);
  for (let count = 0; count < 40; count += 1) {
    const content = [{ type: "text", text }] as const;
    await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  // A copy of one event for each reader is 60 MB, and a copy of all events is 20 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000);
});

test("readers of a session that wait or fell behind read its log together", async () => {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  let reads = 0;
  const read: typeof stores.events.read = (...page) => {
    reads += 1;
    return stores.events.read(...page);
  };
  const events = new Proxy(stores.events, {
    get: (store, name) => {
      if (name === "read") return read;
      const value = Reflect.get(store, name);
      return typeof value === "function" ? value.bind(store) : value;
    },
  });
  const service = createSessionService({
    model: scriptedModel(() => ""),
    stores: { ...stores, events },
    memory: false,
  });
  const { sessionId } = await service.createSession({});
  for (let count = 0; count < 40; count += 1) {
    const content = [{ type: "text", text: "Hello." }] as const;
    await service.appendMessages({ sessionId, messages: [{ role: "user", content }] });
  }
  reads = 0;
  const readers = 200;
  const stop = new AbortController();
  const { signal } = stop;
  const all = { sessionId, afterSeq: 0 };
  const ends = Array.from({ length: readers }, async () => {
    let seen = 0;
    for await (const { seq } of service.subscribe(all, { signal })) seen = seq;
    return seen;
  });
  // All of them have read the log, and have looked into it for the events of other processes.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  stop.abort();
  const last = await Promise.all(ends);
  expect(new Set(last).size).toBe(1);
  expect(last[0]).toBeGreaterThan(40);
  // Each alone: three pages, the empty one after them, and one every half second.
  expect(reads).toBeLessThan(readers);
  await service.close();
  await stores.close();
});

const READERS = trials(40, 60);

// Takes over two seconds: the bound of all readers is only reached by many of them, each behind full buffers of the system.
test("readers of turns, subscriptions and MCP that read nothing hold a bounded number of bytes together", async () => {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({ model: chatterbox, stores, memory: false });
  const rest = await serveRest({ service, port: 0 });
  const mcp = await serveMcpHttp({ service, port: 0, tools: ["all"] });
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()];
  const rpc = serveJsonRpc({ service, input, output, signal: stop.signal });
  const stallMcp = await stalledMcp(mcp.url);
  const before = readerQueues.bytes;
  let most = 0;
  // Readers of one session share its events, so each of these has a session of its own.
  for (let id = 0; id < READERS; id += 1) {
    const { sessionId } = await service.createSession({});
    const params = { session_id: sessionId };
    if (id === 0) {
      for (let count = 0; count < 20; count += 1) {
        await stallMcp("session_events", { ...params, follow: true });
      }
    } else if (id % 2 === 0) await stalledReader(`${rest.url}/sessions/${sessionId}/events`);
    else {
      input.write(
        `${JSON.stringify({ jsonrpc: "2.0", id, method: "session/subscribe", params })}\n`,
      );
    }
    await stalledReader(`${rest.url}/sessions/${sessionId}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ prompt: "talk" }),
    });
    for (let active = true; active; { isActive: active } = await service.read({ sessionId })) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      most = Math.max(most, readerQueues.bytes);
    }
  }
  expect(most).toBeLessThanOrEqual(64 * 1024 * 1024);
  // Each of the turns has two readers or more that may hold 1 MiB each, so the common bound was reached.
  expect(most).toBeGreaterThan(50 * 1024 * 1024);
  stop.abort();
  output.destroy();
  await Promise.all([rest.close({ graceMs: 0 }), mcp.close(), rpc]);
  await service.close();
  await stores.close();
  await expect.poll(() => readerQueues.bytes).toBe(before);
});

/** Answers with 6 MB of deltas. */
const chatterbox: LanguageModel = {
  id: "chatter/box",
  async *stream() {
    for (let count = 0; count < 300; count += 1) {
      if (count % 4 === 0) await new Promise((resolve) => setImmediate(resolve));
      yield { type: "text_delta", delta: "blah ".repeat(4000) };
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
