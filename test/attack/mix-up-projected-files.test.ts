import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSessionService } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";
import { builtProgram } from "../support/built-package.ts";
import { temporaryFolder } from "../support/obey.ts";
import { fork } from "../support/start-process.ts";
import { trials } from "../support/trials.ts";

test("whatever processes work at once, each file has each line once, whole and in order", async () => {
  const folder = await temporaryFolder();
  const children = Array.from({ length: trials(4, 8) }, () =>
    fork(builtProgram("project-files"), [folder, String(trials(6, 30))], { stdio: "inherit" }),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0]));
  expect(codes.every((code) => code === 0)).toBe(true);
  const sessions = join(folder, "sessions");
  const stores = sqliteStores({ path: join(folder, "rkat.db") });
  await createSessionService({ model: scriptedModel([]), stores, sessionFiles: sessions }).close();
  const ids: string[] = [];
  for (const id of readdirSync(sessions).filter((name) => name.length === 36)) {
    ids.push(id);
    const lines = readFileSync(join(sessions, id, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n");
    const log = await Array.fromAsync(stores.events.read(id, 0));
    expect(lines).toEqual(log.map((event) => JSON.stringify(event)));
    expect(readdirSync(join(sessions, id)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  }
  const index = readFileSync(join(sessions, "index.jsonl"), "utf8").trimEnd().split("\n");
  expect(index.map((line) => JSON.parse(line).session_id).sort()).toEqual(ids.sort());
  expect(ids.length).toBe(children.length * trials(6, 30));
  await stores.close();
}, 900_000);
