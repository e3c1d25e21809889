import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { createRestApp } from "../../src/rest.ts";
import { scriptedModel } from "../../src/testing.ts";
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
