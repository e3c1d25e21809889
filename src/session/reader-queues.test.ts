import { expect, test } from "vitest";
import { type EventEnvelope, passing } from "../core/event.ts";
import { ReaderQueues } from "./reader-queues.ts";

const delta: EventEnvelope = passing("s", 1, { type: "text_delta", delta: "word" });

test("when too many events wait for all readers, the slowest loses its own and is told how many", () => {
  const queues = new ReaderQueues(100);
  const told: Record<string, number> = {};
  const open = (name: string) =>
    queues.open((deltas) => {
      told[name] = (told[name] ?? 0) + deltas;
    });
  const [quick, slow] = [open("quick"), open("slow")];
  for (let count = 0; count < 1000; count += 1) {
    slow.push(delta);
    quick.push(delta);
    if (quick.length > 3) quick.shift();
    expect(queues.waiting).toBeLessThanOrEqual(100);
    expect(queues.waiting).toBe(quick.length + slow.length);
  }
  expect(told.slow).toBeGreaterThan(800);
  expect(told.quick).toBeUndefined();
});

test("a reader that leaves takes its events along", () => {
  const queues = new ReaderQueues();
  const queue = queues.open(() => {});
  for (let count = 0; count < 10; count += 1) queue.push(delta);
  queues.close(queue);
  expect(queues.waiting).toBe(0);
});

test("one reader has a bound of its own", () => {
  const queues = new ReaderQueues();
  let missed = 0;
  const queue = queues.open((deltas) => {
    missed += deltas;
  });
  for (let count = 0; count < 25_000; count += 1) queue.push(delta);
  expect(queue.length + missed).toBe(25_000);
  expect(queue.length).toBeLessThanOrEqual(10_000);
});
