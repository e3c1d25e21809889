import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeStore, openWorkspace } from "../../src/config/workspace.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/obey.ts";

test("a checked-in store under the name of one that is being made is not taken for it", async () => {
  const root = await temporaryFolder();
  const folder = join(root, "project");
  mkdirSync(join(folder, ".rkat"), { recursive: true });
  writeFileSync(join(folder, ".rkat", `rkat.db.${process.pid}.new`), "the store of a stranger");
  const surroundings = { cwd: folder, env: { HOME: root } };
  const workspace = await openWorkspace(surroundings, undefined);
  makeStore(workspace, surroundings.env);
  const stores = sqliteStores({ path: workspace.storeFile });
  expect((await stores.memory.stats()).entries).toBe(0);
  await stores.close();
});
