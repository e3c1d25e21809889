import { expect, test } from "vitest";
import { type EventEnvelope, isTransient, passing } from "../core/event.ts";
import { ReaderQueues } from "../core/reader-queues.ts";
import { TurnEvents } from "./turn-events.ts";

const completed = (seq: number): EventEnvelope => ({
  ...passing("s", seq, { type: "text_delta", delta: "" }),
  payload: { type: "text_complete", text: `${seq}`.padEnd(1000) } as never,
});

/** Pushes `count` durable events, each after ten deltas. */
function talk(readers: readonly TurnEvents[], count: number): EventEnvelope[] {
  const log: EventEnvelope[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    for (let delta = 0; delta < 10; delta += 1) {
      const event = passing("s", seq - 1, { type: "text_delta", delta: "x".repeat(500) });
      for (const reader of readers) reader.push(event);
    }
    log.push(completed(seq));
    for (const reader of readers) reader.push(completed(seq));
  }
  return log;
}

test("turns share a budget, and a slow reader gets what it lost: durable events, and a count of deltas", async () => {
  const queues = new ReaderQueues(200_000);
  let log: EventEnvelope[] = [];
  const service = {
    async *subscribe({ afterSeq = 0 }) {
      for (const event of log) if (event.seq > afterSeq) yield event;
      await new Promise(() => {});
    },
  };
  const readers = Array.from({ length: 20 }, () => new TurnEvents(service, "s", queues));
  log = talk(readers, 40);
  expect(queues.bytes).toBeLessThanOrEqual(200_000);
  for (const reader of readers) {
    reader.end();
    const events = (await Array.fromAsync(reader.batches())).flat();
    const durable = events.filter(({ payload }) => !isTransient(payload));
    expect(durable.map(({ seq }) => seq)).toEqual(log.map(({ seq }) => seq));
    const deltas = events.filter(({ payload }) => payload.type === "text_delta").length;
    const dropped = events.reduce(
      (sum, { payload }) => sum + (payload.type === "stream_truncated" ? payload.dropped : 0),
      0,
    );
    expect(deltas + dropped).toBe(400);
  }
  expect(queues.bytes).toBe(0);
});

test("a reader that leaves a turn takes its events along", () => {
  const queues = new ReaderQueues();
  const reader = new TurnEvents({ subscribe: () => expect.fail() }, "s", queues);
  talk([reader], 5);
  expect(queues.bytes).toBeGreaterThan(0);
  reader.abandon();
  expect(queues.bytes).toBe(0);
});
