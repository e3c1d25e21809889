import { describe, expect, test } from "vitest";
import type { NewEvent } from "../src/core/event.ts";
import { newId } from "../src/core/ids.ts";
import { EVENTS_PER_NUMBER } from "../src/stores/postgres/event-positions.ts";
import { PostgresEventStore } from "../src/stores/postgres/postgres-event-store.ts";
import { hasPostgres, postgresDatabase } from "./support/postgres.ts";

const WRITERS = 8;
const APPENDS = 25;

function said(prompt: string): NewEvent {
  return {
    event_id: newId(),
    timestamp_ms: Date.now(),
    event: { type: "run_started", session_id: "s", prompt },
  };
}

describe.skipIf(!hasPostgres)("the log on PostgreSQL", () => {
  test("a reader that follows many writers misses nothing and sees each session in order", async () => {
    const namespace = newId();
    const store = new PostgresEventStore(await postgresDatabase(), { namespace });
    let writing = true;
    const writers = Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let seq = 0; seq < APPENDS; ) {
          const batch = Array.from({ length: 1 + (seq % 3) }, () => said(`${writer}`));
          seq = await store.append(`session ${writer}`, seq, batch);
        }
      }),
    ).finally(() => {
      writing = false;
    });
    const seen = new Map<string, number[]>();
    for (let position = 0, isLast = false; ; ) {
      const page = await store.readAll(position, 7);
      for (const { sessionId, stored } of page) {
        seen.set(sessionId, [...(seen.get(sessionId) ?? []), stored.seq]);
      }
      position = page.at(-1)?.position ?? position;
      if (page.length > 0) continue;
      if (isLast) break;
      isLast = !writing;
    }
    await writers;
    for (let writer = 0; writer < WRITERS; writer += 1) {
      const last = await store.lastSeq(`session ${writer}`);
      expect(seen.get(`session ${writer}`)).toEqual(
        Array.from({ length: last }, (_, at) => at + 1),
      );
    }
  });

  test("an event is not read before all transactions that began earlier have ended", async () => {
    const namespace = newId();
    const database = await postgresDatabase();
    const store = new PostgresEventStore(database, { namespace });
    const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const earlier = database.write(async (statements) => {
      await statements.row("select 1");
      begin();
      await mayEnd;
    });
    await begun;
    await store.append("s", 0, [said("later")]);
    expect(await store.readAll(0, 10)).toEqual([]);
    end();
    await earlier;
    expect(await store.readAll(0, 10)).toHaveLength(1);
  });

  test("a batch with more events than a transaction has positions is whole and in order", async () => {
    const store = new PostgresEventStore(await postgresDatabase(), { namespace: newId() });
    const count = 2 * EVENTS_PER_NUMBER + 3;
    await store.append("large", 0, Array(count).fill(said("x")));
    await store.append("next", 0, [said("y")]);
    const seqs: number[] = [];
    let position = 0;
    for (;;) {
      const page = await store.readAll(position, 10_000);
      if (page.length === 0) break;
      seqs.push(
        ...page.flatMap(({ sessionId, stored }) => (sessionId === "large" ? stored.seq : [])),
      );
      expect(
        page.every((event, at) => at === 0 || event.position > (page[at - 1]?.position ?? 0)),
      ).toBe(true);
      position = page.at(-1)?.position ?? position;
    }
    expect(seqs).toEqual(Array.from({ length: count }, (_, at) => at + 1));
  });

  test("of an append whose connection is lost before the answer, each event is there once", async () => {
    const namespace = newId();
    const database = await postgresDatabase();
    const store = new PostgresEventStore(database, { namespace });
    await store.append("s", 0, [said("one")]);
    const event = said("two");
    let tries = 0;
    const losing = new Proxy(database, {
      get(target, name) {
        if (name !== "repeat") return Reflect.get(target, name).bind?.(target);
        return (work: Parameters<typeof database.repeat>[0]) =>
          database.repeat(async (statements, isAgain) => {
            tries += 1;
            const result = await work(statements, isAgain);
            if (tries > 1) return result;
            throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
          });
      },
    });
    expect(await new PostgresEventStore(losing, { namespace }).append("s", 1, [event])).toBe(2);
    expect(tries).toBe(2);
    expect(await Array.fromAsync(store.read("s", 0), ({ seq }) => seq)).toEqual([1, 2]);
  });
});
