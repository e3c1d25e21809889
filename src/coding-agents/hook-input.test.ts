import { mkdtempSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { oneAtATime, readTold, tailOf, writeTold } from "./hook-input.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "rkat-hooks-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a hook's note is written although another hook has just removed an old one", () => {
  const folder = temporaryFolder();
  // Its name is listed, and it is gone when it is looked at.
  symlinkSync("nowhere", join(folder, "old.recalled.json"));
  writeTold(folder, "session", { told: ["a"] });
  expect(readTold(folder, "session")).toEqual({ told: ["a"] });
});

test("a lock that another process has made and not written yet is that process's, unless it is old", async () => {
  const folder = temporaryFolder();
  const lock = join(folder, "session.pid");
  writeFileSync(lock, "");
  let times = 0;
  const work = () =>
    oneAtATime({ folder, name: "session", waits: false }, async () => {
      times += 1;
    });
  await work();
  expect([times, readFileSync(lock, "utf8")]).toEqual([0, ""]);
  utimesSync(lock, 1, 1);
  await work();
  expect(times).toBe(1);
});

test("of a file that became shorter than what was imported of it, all is new", () => {
  const folder = temporaryFolder();
  const path = join(folder, "session.jsonl");
  writeFileSync(path, "another beginning\n");
  expect(tailOf(path, 8)).toBe("beginning\n");
  expect(tailOf(path, 1000)).toBe("another beginning\n");
});

test("who waits for another process goes on when that one has done the work, and not when it begins", async () => {
  const lock = { folder: temporaryFolder(), name: "session" };
  const first = Promise.withResolvers<void>();
  let done = 0;
  const working = oneAtATime({ ...lock, waits: false }, async () => {
    // The second time it is at work while the other one looks.
    await (done === 0 ? first.promise : sleep(500));
    done += 1;
  });
  const waiting = oneAtATime({ ...lock, waits: true }, async () => {}).then(() => done);
  first.resolve();
  expect(await waiting).toBe(2);
  await working;
});
