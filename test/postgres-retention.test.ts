import { describe, expect, onTestFinished, test, vi } from "vitest";
import { newId } from "../src/core/ids.ts";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import type { PostgresPool } from "../src/stores/postgres/postgres-pool.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresPlace, postgresPool } from "./support/postgres.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const DAYS = 30;

describe.skipIf(!hasPostgres)("retention on PostgreSQL", NEEDS_POSTGRES, () => {
  test("the hourly clean-up sends no statement about a user who has nothing old", async () => {
    vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { connectionString, schema } = await postgresPlace();
    const namespace = newId();
    const pool = await postgresPool();
    const about: string[] = [];
    const watched: PostgresPool = {
      query: (statement) => {
        about.push(JSON.stringify(statement.values ?? []));
        return pool.query(statement as never);
      },
      connect: async () => await pool.connect(),
      end: () => pool.end(),
    };
    const stores = postgresStores({ connectionString, schema, namespace });
    const first = createSessionService({ model: scriptedModel([]), stores });
    const { sessionId } = await first.forUser("ada").createSession({});
    await first.forUser("ada").archive({ sessionId });
    const idle = ["bob", "eve", "mallory"];
    for (const user of idle) await first.forUser(user).createSession({});
    await first.close();

    vi.setSystemTime(Date.now() + (DAYS + 1) * DAY_MS);
    const watchedStores = postgresStores({ pool: watched, schema, namespace });
    const server = createSessionService({
      model: scriptedModel([]),
      stores: watchedStores,
      keepDays: { archived: DAYS },
      onBackgroundError: () => {},
    });
    vi.advanceTimersByTime(HOUR_MS);
    const { events } = stores.forUser("ada");
    await vi.waitFor(async () => expect(await events.lastSeq(sessionId)).toBe(0), 10_000);
    await server.close();
    await watchedStores.close();
    await stores.close();
    expect(about.some((values) => values.includes("user ada"))).toBe(true);
    for (const user of idle) {
      expect(about.filter((values) => values.includes(`user ${user}`))).toEqual([]);
    }
  });
});
