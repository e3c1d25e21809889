import { lstatSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";

const END = ".unfinished";

/**
 * Works in a private folder beside `file`, and removes it afterwards. Its name says whose it is:
 *
 *     .shop.backup.laptop.4711.0194….unfinished/
 *
 * A process that was killed leaves its folder. The next work beside the same file removes it.
 */
export async function inWorkFolder<Result>(
  file: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const start = `.${basename(file)}.${hostname()}.`;
  removeLeftovers(dirname(file), start);
  const folder = join(dirname(file), `${start}${process.pid}.${crypto.randomUUID()}${END}`);
  mkdirSync(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function removeLeftovers(folder: string, start: string): void {
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(start) || !name.endsWith(END)) continue;
    const pid = Number(/^\d+/.exec(name.slice(start.length))?.[0]);
    const path = join(folder, name);
    if (Number.isSafeInteger(pid) && pid > 0 && isYours(path) && !isRunning(pid)) {
      rmSync(path, { recursive: true, force: true });
    }
  }
}

/** Whether you made it. In a folder for all users, such as /tmp, another user's cannot be removed. */
function isYours(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.uid === (process.getuid?.() ?? found.uid);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
