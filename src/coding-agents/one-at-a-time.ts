import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolders } from "../files/make-folders.ts";

const WAIT_MS = 200;
const WAIT_MAX_MS = 60_000;

/**
 * Does work that is never done by two processes for one name. If another process is at it, that one
 * does it once more, and this one ends. With `waits` it waits for the other one instead.
 *
 * `name.wanted` says that there is work, and `name.pid` that a process does it. The first is written
 * before the second is looked at, and the second is removed before the first is looked at again. So
 * no work is forgotten.
 */
export async function oneAtATime(
  {
    folder,
    name,
    waits,
  }: { readonly folder: string; readonly name: string; readonly waits: boolean },
  work: () => Promise<void>,
): Promise<void> {
  makeFolders(folder, 0o700);
  const wanted = join(folder, `${name}.wanted`);
  const lock = join(folder, `${name}.pid`);
  writeFileSync(wanted, "", { mode: 0o600 });
  for (let waitedMs = 0; existsSync(wanted); ) {
    if (!take(lock)) {
      if (!waits || waitedMs >= WAIT_MAX_MS) return;
      await sleep(WAIT_MS);
      waitedMs += WAIT_MS;
      continue;
    }
    try {
      while (existsSync(wanted)) {
        rmSync(wanted, { force: true });
        await work();
      }
    } finally {
      rmSync(lock, { force: true });
    }
  }
}

/** Takes the lock, also from a process that has ended. */
function take(lock: string): boolean {
  for (let tries = 0; tries < 2; tries += 1) {
    try {
      writeFileSync(lock, String(process.pid), { flag: "wx", mode: 0o600 });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (isHeld(lock)) return false;
    rmSync(lock, { force: true });
  }
  return false;
}

function isHeld(lock: string): boolean {
  try {
    const pid = Number(readFileSync(lock, "utf8"));
    process.kill(pid, 0);
    return pid > 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
