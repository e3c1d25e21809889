import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { createRestApp, serveRest } from "../../src/rest.ts";
import { scriptedModel } from "../../src/testing.ts";
import { stalledReader } from "../support/event-stream.ts";
import { trials } from "../support/trials.ts";

const SOAK = fileURLToPath(new URL("../support/soak.ts", import.meta.url));
const IDLE = fileURLToPath(new URL("../support/idle-subscriber.ts", import.meta.url));
const TIMES = trials(400, 10_000);
/** What a process learns once, such as compiled code, is in it. A request that stays is 10 KB and more. */
const GROWTH_BYTES_MAX = 1_000_000;

for (const kind of ["turns", "compactions", "requests", "subscriptions"]) {
  test(`${TIMES} ${kind} leave nothing behind`, async () => {
    const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", SOAK, kind, `${TIMES}`];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { early, end } = JSON.parse(stdout) as { early: number; end: number };
    expect(end - early).toBeLessThan(GROWTH_BYTES_MAX);
  }, 600_000);
}

test("a subscriber that waits keeps none of the events that it took in memory", async () => {
  const args = ["--expose-gc", "--disable-warning=ExperimentalWarning", IDLE];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toEqual({ taken: 12, kept: 0 });
}, 60_000);

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
