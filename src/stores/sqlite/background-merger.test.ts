import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BackgroundMerger } from "./background-merger.ts";
import { IN_MEMORY } from "./open-connection.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

function mergerWithCount() {
  let merges = 0;
  const merger = new BackgroundMerger({
    path: IN_MEMORY,
    closed: false,
    run: async () => {
      merges += 1;
      return false as never;
    },
    close: async () => {},
  });
  const count = async () => {
    // A merge that has begun is behind a few promises.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    return merges;
  };
  return { merger, count };
}

test("adds that follow each other share a merge, which begins when they pause", async () => {
  const { merger, count } = mergerWithCount();
  for (let add = 0; add < 20; add += 1) {
    merger.wake("default");
    vi.advanceTimersByTime(100);
  }
  expect(await count()).toBe(0);
  vi.advanceTimersByTime(10_000);
  expect(await count()).toBe(1);
});

test("adds without a pause are merged after a while", async () => {
  const { merger, count } = mergerWithCount();
  for (let add = 0; add < 32; add += 1) merger.wake("default");
  expect(await count()).toBe(1);
});

test("a merge that waits does not begin after the store was closed", async () => {
  const { merger, count } = mergerWithCount();
  merger.wake("default");
  await merger.close();
  vi.advanceTimersByTime(10_000);
  expect(await count()).toBe(0);
});
