import type { EventEmitter } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { newId } from "../src/core/ids.ts";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { eventStoreLaws } from "../src/testing.ts";
import { obey } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace, postgresPool } from "./support/postgres.ts";

/** Stores as another process has them. */
async function opened(namespace: string) {
  const stores = postgresStores({ ...(await postgresPlace()), namespace, notify: true });
  onTestFinished(() => stores.close());
  return stores;
}

describe.skipIf(!hasPostgres)("stores that tell each other of events", NEEDS_POSTGRES, () => {
  obey(eventStoreLaws, [
    {
      name: "laws",
      durable: true,
      part: { of: 4, at: 3 },
      open: async (place) => (await opened(place)).events,
    },
  ]);

  test("tell only who watches a session, also after their connection was lost", async () => {
    const namespace = newId();
    const [here, there] = [await opened(namespace), await opened(namespace)];
    const told = { watched: 0, other: 0, left: 0 };
    there.events.watch?.("watched", () => {
      told.watched += 1;
    });
    there.events.watch?.("other", () => {
      told.other += 1;
    });
    const leave = there.events.watch?.("watched", () => {
      told.left += 1;
    });
    leave?.();
    let seq = 0;
    const isTold = async () => {
      const before = told.watched;
      const event = { type: "run_started", session_id: "watched", prompt: "hi" } as const;
      const added = { event_id: newId(), timestamp_ms: Date.now(), event };
      seq = await here.events.append("watched", seq, [added]);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return told.watched > before;
    };
    await expect.poll(isTold).toBe(true);
    const pool = await postgresPool();
    const ended = await pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen rkat_%'",
    );
    expect(ended.rows.length).toBeGreaterThan(0);
    await expect.poll(isTold).toBe(true);
    expect(told).toMatchObject({ other: 0, left: 0 });
  });

  test("give a connection that fails twice back once, and listen on another", async () => {
    const pool = await postgresPool();
    const given: EventEmitter[] = [];
    const noting = {
      query: (statement: object) => pool.query(statement as never),
      connect: async () => {
        const client = await pool.connect();
        given.push(client as unknown as EventEmitter);
        return client;
      },
      end: async () => {},
    };
    const { schema } = await postgresPlace();
    const stores = postgresStores({ pool: noting, schema, namespace: newId(), notify: true });
    onTestFinished(() => stores.close());
    let told = 0;
    stores.events.watch?.("s", () => {
      told += 1;
    });
    let seq = 0;
    const isTold = async () => {
      const before = told;
      const event = { type: "run_started", session_id: "s", prompt: "hi" } as const;
      const added = { event_id: newId(), timestamp_ms: Date.now(), event };
      seq = await stores.events.append("s", seq, [added]);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return told > before;
    };
    await expect.poll(isTold).toBe(true);
    const listening = () => given.filter((client) => client.listenerCount("notification") > 0);
    const [first] = listening();
    for (const error of ["cut", "cut again"]) first?.emit("error", new Error(error));
    await expect.poll(() => listening().length, { timeout: 20_000 }).toBe(2);
    await expect.poll(isTold, { timeout: 20_000 }).toBe(true);
  });

  test("show a turn to a subscriber elsewhere, each event once and in order", async () => {
    const namespace = newId();
    const services = await Promise.all(
      [1, 2].map(async () => {
        const stores = await opened(namespace);
        const service = createSessionService({ model: scriptedModel(["one", "two"]), stores });
        onTestFinished(() => service.close());
        return service;
      }),
    );
    const [runs, watches] = services;
    if (!runs || !watches) expect.fail("There are two.");
    const { sessionId } = await runs.createSession({});
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { seq, payload } of watches.subscribe({ sessionId, afterSeq: 0 })) {
        seen.push(seq);
        if (payload.type === "run_completed" && payload.result === "two") return;
      }
    })();
    await runs.startTurn({ sessionId, prompt: "first" });
    await runs.startTurn({ sessionId, prompt: "second" });
    await reading;
    expect(seen).toEqual(seen.map((_, index) => index + 1));
  });
});
