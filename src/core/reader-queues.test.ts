import { expect, test } from "vitest";
import { type EventEnvelope, passing } from "./event.ts";
import { ReaderQueues } from "./reader-queues.ts";

const MEGABYTE = 1024 * 1024;

/** An event of at least this many bytes. */
const delta = (bytes: number): EventEnvelope =>
  passing("s", 1, { type: "text_delta", delta: "x".repeat(bytes / 2) });

test("when too many bytes wait for all readers, the slowest loses its own and is told how many", () => {
  const queues = new ReaderQueues(100_000);
  const told: Record<string, number> = {};
  const open = (name: string) =>
    queues.open((deltas) => {
      told[name] = (told[name] ?? 0) + deltas;
    });
  const [quick, slow] = [open("quick"), open("slow")];
  for (let count = 0; count < 1000; count += 1) {
    const event = delta(1000);
    slow.push(event);
    quick.push(event);
    if (quick.length > 3) quick.shift();
    expect(queues.bytes).toBeLessThanOrEqual(100_000);
  }
  expect(slow.length + (told.slow ?? 0)).toBe(1000);
  expect(told.quick).toBeUndefined();
});

test("1500 readers that take nothing hold a bounded number of bytes", () => {
  const queues = new ReaderQueues();
  let missed = 0;
  const readers = Array.from({ length: 1500 }, () =>
    queues.open((deltas) => {
      missed += deltas;
    }),
  );
  for (let count = 0; count < 300; count += 1) {
    const event = delta(2000);
    for (const reader of readers) reader.push(event);
    expect(queues.bytes).toBeLessThanOrEqual(64 * MEGABYTE);
  }
  const waiting = readers.reduce((sum, reader) => sum + reader.length, 0);
  expect(waiting + missed).toBe(1500 * 300);
});

test("an event that waits for many readers counts once, so none of them loses it", () => {
  const queues = new ReaderQueues();
  let missed = 0;
  const readers = Array.from({ length: 1500 }, () =>
    queues.open((deltas) => {
      missed += deltas;
    }),
  );
  for (let count = 0; count < 40; count += 1) {
    const event = delta(20_000);
    for (const reader of readers) reader.push(event);
  }
  expect(missed).toBe(0);
  expect(queues.bytes).toBeLessThan(4 * MEGABYTE);
  for (const reader of readers) reader.take(100_000);
  for (const reader of readers) reader.clear();
  expect(queues.bytes).toBe(0);
});

test("a reader keeps its first event, so that it makes progress however large the events are", () => {
  const queues = new ReaderQueues(1000);
  const readers = [queues.open(() => {}), queues.open(() => {})];
  for (const reader of readers) for (let at = 0; at < 5; at += 1) reader.push(delta(10_000));
  for (const reader of readers) expect(reader.shift()).toBeDefined();
});

test("a reader that leaves takes its events along", () => {
  const queues = new ReaderQueues();
  const queue = queues.open(() => {});
  for (let count = 0; count < 10; count += 1) queue.push(delta(100));
  queue.clear();
  expect(queues.bytes).toBe(0);
});

test("one reader has a bound of its own", () => {
  const queues = new ReaderQueues();
  let missed = 0;
  const queue = queues.open((deltas) => {
    missed += deltas;
  });
  for (let count = 0; count < 2500; count += 1) {
    queue.push(delta(2000));
    expect(queues.bytes).toBeLessThanOrEqual(MEGABYTE + 3000);
  }
  expect(queue.length + missed).toBe(2500);
});

test("of many readers that are behind, a few read the log at once, and each gets its turn", async () => {
  const queues = new ReaderQueues();
  let [reading, most, done] = [0, 0, 0];
  const read = () =>
    queues.read(async () => {
      reading += 1;
      most = Math.max(most, reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading -= 1;
      done += 1;
      if (done % 3 === 0) throw new Error("The store is gone.");
    });
  await Promise.allSettled(Array.from({ length: 300 }, read));
  expect({ done, reading }).toEqual({ done: 300, reading: 0 });
  expect(most).toBe(8);
});
