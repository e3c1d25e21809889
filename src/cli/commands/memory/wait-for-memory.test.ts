import { expect, onTestFinished, test, vi } from "vitest";
import type { OpenMemory } from "../../../core/operations/memory.ts";
import type { CliContext } from "../../cli-context.ts";
import { waitForMemory } from "./wait-for-memory.ts";

/** A memory that lacks so many events, look by look, and then always what it lacked last. */
function lacking(...counts: readonly number[]) {
  let looks = 0;
  const memoryStats = async () => {
    const events = counts[Math.min(looks, counts.length - 1)] ?? 0;
    looks += 1;
    return events === 0 ? {} : { behind: { events, seconds: 1 } };
  };
  return {
    memory: { memoryStats } as unknown as Pick<OpenMemory, "memoryStats">,
    looks: () => looks,
  };
}

const CONTEXT = {
  rkat: "rkat --user ada",
  terminal: { stderr: { rewrites: false, write: async () => {} } },
} as unknown as CliContext;

async function waited(memory: Pick<OpenMemory, "memoryStats">): Promise<unknown> {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const end = waitForMemory(CONTEXT, memory).catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  return await end;
}

test("it waits as long as memory gets on, however long that takes", async () => {
  const slow = Array.from({ length: 200 }, (_, at) => 100 - Math.floor(at / 2));
  const { memory, looks } = lacking(...slow, 0);
  expect(await waited(memory)).toBeUndefined();
  expect(looks()).toBe(201);
});

test("it ends with an error when memory does not get on, and says what is missing", async () => {
  const { memory } = lacking(9, 2);
  expect(await waited(memory)).toMatchObject({
    code: "NOT_POSSIBLE",
    message: expect.stringMatching(/^Nothing was forgotten\..* lacks the last 2 events of the log/),
    hint: expect.stringContaining("`rkat --user ada doctor`"),
  });
});
