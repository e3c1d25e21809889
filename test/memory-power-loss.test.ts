import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { newId } from "../src/core/ids.ts";
import type { MemoryEntry } from "../src/core/memory-store.ts";
import { Outages } from "../src/core/warn.ts";
import { createSessionService } from "../src/index.ts";
import { MEMORY_INDEX } from "../src/projections/log-projection.ts";
import { MemoryIndex } from "../src/projections/memory-index.ts";
import { ProjectionRunner } from "../src/projections/projection-runner.ts";
import { type SqliteStores, sqliteStores } from "../src/sqlite.ts";
import { SimpleMemoryStore } from "../src/stores/ephemeral/simple-memory-store.ts";
import { openDatabase } from "../src/stores/sqlite/database.ts";
import { scriptedModel } from "../src/testing/scripted-model.ts";
import { temporaryFolder } from "./support/obey.ts";

const SAID = ["The heron waits at the weir.", "The otter sleeps.", "The badger digs at night."];
/** A page of the write-ahead log, and what stands before it. */
const FRAME_BYTES = 4096 + 24;

test("after a power failure memory is no further than its checkpoint, and catches up with the log", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "rkat.db");
  const stores = open(path);
  await record(stores);
  // Power fails at some time after this: the log of events is on the disk, and any part of what follows.
  const synced = readFileSync(`${path}-wal`).length;
  await follow(stores);
  const whole = readFileSync(`${path}-wal`);

  const found = new Set<number>();
  for (let cut = synced; cut <= whole.length; cut += FRAME_BYTES / 2) {
    const image = join(folder, `${cut}.db`);
    copyFileSync(path, image);
    writeFileSync(`${image}-wal`, whole.subarray(0, cut));
    const after = open(image);
    found.add((await after.memory.stats()).entries);
    await expectSound(image);
    await follow(after);
    const entries = await after.memory.list({ limit: 10 });
    expect(entries.map(({ content }) => content)).toEqual(SAID);
    await expectSound(image);
    await after.close();
  }
  expect(found).toEqual(new Set([0, SAID.length]));
});

test("what is added from the log of the same file waits for the next sync; all else is synced", async () => {
  const folder = await temporaryFolder();
  const stores = open(join(folder, "rkat.db"));
  const others = open(join(folder, "other.db"));
  const exec = vi.spyOn(DatabaseSync.prototype, "exec");
  onTestFinished(() => exec.mockRestore());
  const isSynced = async (...added: Parameters<SqliteStores["memory"]["add"]>) => {
    exec.mockClear();
    expect(await stores.memory.add(...added)).toBe(1);
    return !exec.mock.calls.some(([sql]) => sql.includes("synchronous = NORMAL"));
  };
  await stores.memory.add([entry()]);
  expect(await isSynced([entry()])).toBe(true);
  expect(await isSynced([entry()], others.events)).toBe(true);
  expect(await isSynced([entry()], stores.events)).toBe(false);
});

function open(path: string): SqliteStores {
  const stores = sqliteStores({ path });
  onTestFinished(() => stores.close());
  return stores;
}

/** Writes a session into the log. Its memory has nothing yet. */
async function record(stores: SqliteStores): Promise<void> {
  const memory = new SimpleMemoryStore();
  const service = createSessionService({
    model: scriptedModel([]),
    stores,
    memory,
    knowledge: false,
  });
  const messages = SAID.map((content) => ({ role: "user", content }) as const);
  await service.createSession({ messages });
  await service.close();
  await stores.events.saveCheckpoint(MEMORY_INDEX.all, 0);
}

async function follow({ events, memory }: SqliteStores): Promise<void> {
  const index = new MemoryIndex(events, memory);
  await new ProjectionRunner(
    events,
    [index],
    new Outages((error) => expect.fail(String(error))),
  ).flush();
}

/** `verify` would start a thread for each image. */
async function expectSound(path: string): Promise<void> {
  const database = openDatabase({ path });
  const { check } = await database.run("verifyMemories", "default", true);
  expect(check?.problems).toEqual([]);
  await database.close();
}

function entry(): MemoryEntry {
  return { id: newId(), content: "The otter.", sessionId: "s", turn: 0, kind: "message" };
}
