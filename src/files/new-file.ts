import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { errorText, SessionError } from "../core/errors.ts";

/**
 * Writes a file that is whole or not there. `write` makes it in a private folder beside its place, at the path that it
 * is given.
 *
 * @throws SessionError `NOT_POSSIBLE` when the file is there already, and `force` is not set
 * @throws SessionError `INVALID_PARAMS` when something else is there, `SESSION_STORE_ERROR` when it cannot be written
 */
export async function writeNewFile<Result>(
  path: string,
  force: boolean,
  write: (unseen: string, folder: string) => Promise<Result>,
): Promise<Result> {
  try {
    requireFree(path, force);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return await inWorkFolder(path, async (folder) => {
      const unseen = join(folder, "whole");
      const result = await write(unseen, folder);
      publish(unseen, path, force);
      return result;
    });
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new SessionError("SESSION_STORE_ERROR", {
      message: `${path} could not be written (${errorText(error)}).`,
      hint: "Check the folder, its permissions and the free space of the disk. Nothing was written.",
      cause: error,
    });
  }
}

function requireFree(path: string, force: boolean): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found && !found.isFile()) {
    throw new SessionError("INVALID_PARAMS", {
      message: `${path} is not a regular file.`,
      hint: "Name a new file.",
    });
  }
  if (found && !force) throw fileIsThere(path);
}

function publish(unseen: string, path: string, force: boolean): void {
  if (force) {
    renameSync(unseen, path);
    return;
  }
  try {
    linkSync(unseen, path);
    unlinkSync(unseen);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Some file systems, such as those of USB sticks, have no hard links.
    if (code === "EEXIST" || existsSync(path)) throw fileIsThere(path);
    renameSync(unseen, path);
  }
}

function fileIsThere(path: string): SessionError {
  return new SessionError("NOT_POSSIBLE", {
    message: `${path} is there already.`,
    hint: "Name another file, or pass --force to replace it.",
  });
}

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
