import { expect, test } from "vitest";
import { SessionError } from "../../../core/errors.ts";
import type { CliContext } from "../../cli-context.ts";
import { waitForMemory } from "./wait-for-memory.ts";

const CONTEXT = {
  rkat: "rkat --user ada",
  terminal: { stderr: { rewrites: false, write: async () => {} } },
} as unknown as CliContext;

/** A service whose memory lacks something until forgetting has waited for it. */
function waiting(how: { readonly waits?: Promise<void>; readonly lacks?: number }) {
  const asked: unknown[] = [];
  const memoryStats = async () =>
    how.lacks === undefined ? {} : { behind: { events: how.lacks, seconds: 60 } };
  const forgetMemory = async (request: unknown) => {
    asked.push(request);
    await how.waits;
  };
  const service = { memoryStats, forgetMemory } as never as Parameters<typeof waitForMemory>[1];
  return { service, asked };
}

test("it ends when memory has everything, and not before", async () => {
  let end = () => {};
  const waits = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { service, asked } = waiting({ waits });
  let isDone = false;
  const done = waitForMemory(CONTEXT, service).then(() => {
    isDone = true;
  });
  // Whatever is due now, a wait that ends too early included.
  await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  end();
  await done;
  expect(asked).toEqual([{ ids: [expect.any(String)] }]);
});

test("where events are held back, it says what memory lacks", async () => {
  await expect(waitForMemory(CONTEXT, waiting({ lacks: 2 }).service)).rejects.toMatchObject({
    code: "NOT_POSSIBLE",
    message: expect.stringMatching(
      /^Nothing was forgotten\. .* lacks the last 2 events of the log/,
    ),
  });
});

test("where memory cannot be filled, it says why, and what memory lacks", async () => {
  const waits = Promise.reject(new SessionError("SESSION_STORE_ERROR", { detail: "It is full." }));
  await expect(waitForMemory(CONTEXT, waiting({ waits, lacks: 2 }).service)).rejects.toMatchObject({
    code: "SESSION_STORE_ERROR",
    message: expect.stringMatching(
      /^Nothing was forgotten\. .* last 2 events .* The store failed\. It is full\.$/s,
    ),
  });
});
