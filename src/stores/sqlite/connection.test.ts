import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/obey.ts";
import { OpenFiles } from "./connection.ts";

/** Every change of a folder is long past, so it is looked at once. */
const muchLater = () => Date.now() + 3_600_000;
/** Longer than a tick of the file system's clock. */
const TICK_MS = 30;

async function newStore(): Promise<string> {
  const path = join(await temporaryFolder(), "store", "rkat.db");
  mkdirSync(join(path, ".."));
  for (const end of ["", "-wal", "-shm"]) writeFileSync(path + end, end);
  return path;
}

const LOSSES: Readonly<Record<string, (path: string) => void>> = {
  "the file is removed": (path) => rmSync(path),
  "the file is replaced by a copy": (path) => {
    copyFileSync(path, `${path}.copy`);
    renameSync(`${path}.copy`, path);
  },
  "the log is removed": (path) => rmSync(`${path}-wal`),
  "the index of the log is removed": (path) => rmSync(`${path}-shm`),
  "the folder is removed": (path) => rmSync(join(path, ".."), { recursive: true }),
  "the folder is replaced by a copy": (path) => {
    renameSync(join(path, ".."), join(path, "../../away"));
    mkdirSync(join(path, ".."));
    for (const end of ["", "-wal", "-shm"]) writeFileSync(path + end, end);
  },
};

test.each(Object.keys(LOSSES))(
  "a store that was in place for long is missed when %s",
  async (loss) => {
    const path = await newStore();
    const files = new OpenFiles(path, { now: muchLater });
    files.requireInPlace();
    files.requireInPlace();
    await sleep(TICK_MS);
    LOSSES[loss]?.(path);
    for (let times = 0; times < 2; times += 1) {
      expect(() => files.requireInPlace()).toThrow(/was removed or replaced/);
    }
  },
);

test("a file that is removed in the tick of the folder's last change is missed", async () => {
  const path = await newStore();
  const files = new OpenFiles(path);
  files.requireInPlace();
  rmSync(`${path}-wal`);
  expect(() => files.requireInPlace()).toThrow(/was removed or replaced/);
});

test("other files may come and go beside a store", async () => {
  const path = await newStore();
  const files = new OpenFiles(path, { now: muchLater });
  files.requireInPlace();
  await sleep(TICK_MS);
  writeFileSync(`${path}.notes`, "");
  files.requireInPlace();
  await sleep(TICK_MS);
  rmSync(`${path}-shm`);
  expect(() => files.requireInPlace()).toThrow(/was removed or replaced/);
});

test("a store behind a link is missed too", async () => {
  const path = await newStore();
  const link = join(path, "../../rkat.db");
  symlinkSync(path, link);
  const files = new OpenFiles(link, { now: muchLater });
  files.requireInPlace();
  await sleep(TICK_MS);
  rmSync(path);
  expect(() => files.requireInPlace()).toThrow(/was removed or replaced/);
});
