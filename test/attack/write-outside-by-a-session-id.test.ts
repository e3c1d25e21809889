import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { newId } from "../../src/core/ids.ts";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { temporaryFolder } from "../support/obey.ts";

const NAMES = [
  ["../../../victim", "up and out"],
  ["../index.jsonl", "another file of the folder"],
  ["..", "the folder above"],
  [".", "the folder itself"],
  ["a/../../../victim", "up in the middle"],
  ["checkpoint\0x", "a byte of zero"],
  ["..\\..\\victim", "the other separator"],
] as const;

/** A store with a session of this id, as only a crafted store has it. */
async function craftedStore(id: string) {
  const root = await temporaryFolder();
  const victim = join(root, "victim");
  mkdirSync(victim);
  writeFileSync(join(victim, "letters"), "mine");
  const folder = join(root, "project", ".rkat");
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  onTestFinished(() => stores.close());
  const model = scriptedModel(["A harmless answer."]);
  // The events of a real session, under another id.
  const made = createSessionService({ model, stores });
  const { sessionId } = await made.createSession({});
  await made.startTurn({ sessionId, prompt: "hi" });
  await made.close();
  const log = await Array.fromAsync(stores.events.read(sessionId, 0));
  await stores.events.append(
    id,
    0,
    log.map(({ timestamp_ms, event }) => ({ event_id: newId(), timestamp_ms, event })),
  );
  const sessionFiles = join(folder, "sessions");
  const service = createSessionService({ model, stores, sessionFiles });
  return { root, victim, folder, sessionFiles, sessionId, service };
}

test.each(NAMES)("a session id %j (%s) writes and deletes nothing outside", async (id) => {
  const { root, victim, folder, sessionFiles, sessionId, service } = await craftedStore(id);
  const before = globSync("**", { cwd: root, exclude: ["project/**"] }).sort();
  await service.startTurn({ sessionId: id, prompt: "again" }).catch(() => {});
  await service.delete({ sessionId: id }).catch(() => {});
  await service.close();
  expect(globSync("**", { cwd: root, exclude: ["project/**"] }).sort()).toEqual(before);
  expect(readFileSync(join(victim, "letters"), "utf8")).toBe("mine");
  expect(existsSync(folder)).toBe(true);
  // The other session's files are there and whole.
  const index = readFileSync(join(sessionFiles, "index.jsonl"), "utf8").trimEnd().split("\n");
  expect(index.map((line) => JSON.parse(line).session_id)).toEqual([sessionId]);
  expect(existsSync(join(sessionFiles, sessionId, "events.jsonl"))).toBe(true);
});
