import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const TURNS = 25;
const KB = 1024;

test("a turn writes 40 KB at most, and turns write 44 KB each with the words of their events", async () => {
  const path = join(await temporaryFolder(), "rkat.db");
  const stores = sqliteStores({ path });
  const service = createSessionService({
    model: scriptedModel(() => "An answer of an ordinary length, as models give them. ".repeat(4)),
    stores,
    knowledge: false,
  });
  const messages = Array.from({ length: 400 }, (_, at) => ({
    role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `Message ${at} of an ordinary length.`,
  }));
  const { sessionId } = await service.createSession({ messages });
  const written: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    // The log grows by what is written to it, until SQLite has a thousand pages in it.
    const before = statSync(`${path}-wal`).size;
    await service.startTurn({ sessionId, prompt: "And then?" });
    written.push(statSync(`${path}-wal`).size - before);
  }
  await service.close();
  await stores.close();
  const sorted = written.sort((one, other) => one - other);
  expect(sorted[0]).toBeGreaterThan(0);
  expect(sorted[Math.floor(TURNS / 2)]).toBeLessThanOrEqual(40 * KB);
  expect(written.reduce((sum, bytes) => sum + bytes, 0) / TURNS).toBeLessThanOrEqual(44 * KB);
});
