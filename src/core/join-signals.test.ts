import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { joinSignals } from "./join-signals.ts";

test("aborts with the first of its sources, and with its reason", () => {
  const [one, other] = [new AbortController(), new AbortController()];
  const joined = joinSignals([one.signal, undefined, other.signal]);
  expect(joined.signal.aborted).toBe(false);
  other.abort("enough");
  one.abort("too late");
  expect(joined.signal.reason).toBe("enough");
  expect(joinSignals([one.signal]).signal.reason).toBe("too late");
});

test("aborts when the time is up, and says so", async () => {
  const joined = joinSignals([], 1);
  await new Promise((resolve) => joined.signal.addEventListener("abort", resolve));
  expect(joined.timedOut).toBe(true);
  expect(joined.signal.reason).toMatchObject({ name: "TimeoutError" });
});

test("once released, it leaves nothing at its sources", () => {
  const { signal } = new AbortController();
  const joined = joinSignals([signal], 60_000);
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  joined.release();
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});
