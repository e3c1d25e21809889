import fc from "fast-check";
import { expect, test } from "vitest";
import type { PositionedEvent } from "../src/core/event-store.ts";
import { newId } from "../src/core/ids.ts";
import { RecentEvents } from "../src/projections/log-projection.ts";
import { EphemeralEventStore } from "../src/stores/ephemeral/ephemeral-event-store.ts";

/** The whole log, with a count of how often it was read. */
class ReadLog extends EphemeralEventStore {
  reads = 0;

  override async readAll(after: number, limit: number): Promise<readonly PositionedEvent[]> {
    this.reads += 1;
    return await super.readAll(after, limit);
  }

  /** Appends events of a session, and returns them with their positions. */
  async write(sessionId: string, count: number): Promise<readonly PositionedEvent[]> {
    const before = await super.readAll(0, Number.MAX_SAFE_INTEGER);
    const events = Array.from({ length: count }, () => ({
      event_id: newId(),
      timestamp_ms: 0,
      event: {
        type: "message_added" as const,
        message: { role: "user" as const, content: "Hello" },
      },
    }));
    await this.append(sessionId, await this.lastSeq(sessionId), events);
    return await super.readAll(before.length, Number.MAX_SAFE_INTEGER);
  }
}

const count = fc.integer({ min: 1, max: 5 });
const session = fc.constantFrom("one", "two");
const step = fc.oneof(
  fc.record({ type: fc.constant("own" as const), session, count }),
  fc.record({ type: fc.constant("others" as const), session, count }),
  fc.record({ type: fc.constant("read" as const), limit: fc.integer({ min: 1, max: 7 }) }),
);

test("reading what was just written, or the log, is reading the log, whoever else writes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const log = new ReadLog();
      const recent = new RecentEvents(log);
      const read: PositionedEvent[] = [];
      const next = async (limit: number) => {
        const events = await recent.readAll(read.at(-1)?.position ?? 0, limit);
        expect(events.length).toBeLessThanOrEqual(limit);
        read.push(...events);
        return events.length;
      };
      for (const each of steps) {
        if (each.type === "read") await next(each.limit);
        else {
          const events = await log.write(each.session, each.count);
          if (each.type === "own") recent.add(events);
        }
      }
      while ((await next(4)) > 0);
      expect(read).toEqual(await log.readAll(0, Number.MAX_SAFE_INTEGER));
    }),
  );
});

test("what was just written is not read from the log", async () => {
  const log = new ReadLog();
  const recent = new RecentEvents(log);
  const first = await log.write("one", 3);
  const second = await log.write("two", 2);
  recent.add(first);
  recent.add(second);
  expect(await recent.readAll(0, 4)).toEqual([...first, ...second].slice(0, 4));
  expect(await recent.readAll(4, 4)).toEqual(second.slice(1));
  expect(log.reads).toBe(0);
  expect(await recent.readAll(5, 4)).toEqual([]);
  expect(log.reads).toBe(1);
});

test("it says how far a session is this process's own, and not when others wrote behind that event", async () => {
  const log = new ReadLog();
  const recent = new RecentEvents(log);
  recent.add(await log.write("one", 3));
  expect(recent.writtenTo("one", 0)).toBe(3);
  await log.write("one", 1);
  recent.add(await log.write("one", 2));
  expect(recent.writtenTo("one", 3)).toBeUndefined();
  expect(recent.writtenTo("one", 4)).toBe(6);
  expect(recent.writtenTo("two", 0)).toBeUndefined();
});
