import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { SessionError } from "../core/errors.ts";

/**
 * Files below a folder whose content a stranger may have made, such as a cloned repository.
 *
 *     root / .rkat / sessions / 0194… / events.jsonl
 *            └────────────┬──────────────────────┘
 *            each is looked at: no link, a folder or a regular file, and yours
 *
 * A link in a repository could lead anywhere: what rkat writes into `index.jsonl` would end in
 * your `.bashrc`. So nothing below the root is opened, made, renamed or deleted through one.
 */

/** Looks at each part of a path below `root`. Returns the entry at its end, or `undefined`. */
export function lookAt(root: string, path: string): Stats | undefined {
  const parts = partsBelow(root, path);
  let at = resolve(root);
  let found: Stats | undefined;
  for (const [index, part] of parts.entries()) {
    at = join(at, part);
    found = lstatSync(at, { throwIfNoEntry: false });
    if (!found) return undefined;
    const isLast = index === parts.length - 1;
    if (found.isSymbolicLink()) throw unsafe(at, "is a link");
    if (!isLast && !found.isDirectory()) throw unsafe(at, "is not a folder");
    if (isLast && !found.isDirectory() && !found.isFile())
      throw unsafe(at, "is not a regular file");
    if (!isYours(found)) throw unsafe(at, "belongs to another user");
  }
  return found;
}

/** The same for a path that must be a regular file if it is there. */
export function lookAtFile(root: string, path: string): Stats | undefined {
  const found = lookAt(root, path);
  if (found && !found.isFile()) throw unsafe(path, "is not a regular file");
  return found;
}

/** Opens a regular file, and returns its descriptor. The opened file is the one that was looked at. */
function openFile(root: string, path: string, flags: number, mode = 0o600): number {
  const before = lookAtFile(root, path);
  // A file that is made must be new: a link that appears meanwhile makes it fail.
  const exclusive = !before && flags & constants.O_CREAT ? constants.O_EXCL : 0;
  const all =
    (flags & ~constants.O_TRUNC) |
    exclusive |
    (constants.O_NOFOLLOW ?? 0) |
    (constants.O_NONBLOCK ?? 0);
  const descriptor = inFolder(root, path, (place) => openSync(place, all, mode));
  try {
    const opened = fstatSync(descriptor);
    // If the file is new, a folder above it may have been a link while it was opened.
    const isSeen = [before, lookAtFile(root, path)].some(
      (seen) => seen?.dev === opened.dev && seen.ino === opened.ino,
    );
    if (!opened.isFile() || !isYours(opened) || !isSeen) throw unsafe(path, "was replaced");
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** The text of a small file below `root`; `undefined` where there is none. */
export function readSmallFile(root: string, path: string, bytesMax: number): string | undefined {
  const found = lookAtFile(root, path);
  if (!found) return undefined;
  if (found.size > bytesMax) throw unsafe(path, `is larger than ${bytesMax} bytes`);
  return withFile(root, path, constants.O_RDONLY, (descriptor) => {
    // One more than it has: it may grow meanwhile.
    let buffer: Buffer = Buffer.allocUnsafe(found.size + 1);
    let length = 0;
    for (let read = 1; read > 0 && length <= bytesMax; length += read) {
      if (length === buffer.length) buffer = enlarged(buffer, bytesMax + 1);
      read = readSync(descriptor, buffer, length, buffer.length - length, null);
    }
    if (length > bytesMax) throw unsafe(path, `is larger than ${bytesMax} bytes`);
    return buffer.toString("utf8", 0, length);
  });
}

function enlarged(bytes: Buffer, sizeMax: number): Buffer {
  return Buffer.concat([bytes], Math.min(2 * bytes.length + 4096, sizeMax));
}

/** Makes a file with this text below `root`, private to you. Returns whether there was none. */
export function makeFile(root: string, path: string, text: string): boolean {
  if (lookAtFile(root, path)) return false;
  try {
    withFile(root, path, constants.O_WRONLY | constants.O_CREAT, (file) => writeSync(file, text));
    return true;
  } catch (error) {
    // Another process made it meanwhile.
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && lookAtFile(root, path)) return false;
    throw error;
  }
}

/** The text of a file below `root`; empty where there is none. */
export function readText(root: string, path: string): string {
  if (!lookAtFile(root, path)) return "";
  return withFile(root, path, constants.O_RDONLY, (descriptor) => readFileSync(descriptor, "utf8"));
}

/** Writes at a place of a file below `root`, and cuts off the rest. Makes the file if it is missing. */
export function writeAt(
  root: string,
  path: string,
  text: string,
  offset: number,
  mode?: number,
): void {
  const flags = constants.O_WRONLY | constants.O_CREAT;
  const write = (descriptor: number) => writeWhole(descriptor, text, offset);
  withFile(root, path, flags, write, mode);
}

function writeWhole(descriptor: number, text: string, offset: number): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, offset + written);
  }
  ftruncateSync(descriptor, offset + bytes.length);
}

/** Writes a file below `root` whole or not at all, as seen by anyone who reads it meanwhile. */
export function replaceFile(root: string, path: string, text: string): void {
  lookAtFile(root, path);
  // The global loads Node's crypto when it is used; an import would load it for every command.
  const unfinished = `${path}.${crypto.randomUUID()}.tmp`;
  writeAt(root, unfinished, text, 0);
  inFolder(root, path, (place) => renameSync(join(place, "..", basename(unfinished)), place));
}

/**
 * Writes the text of a file below `root`, so that a process that dies leaves the one text or the other. A file that is there
 * keeps its permissions and its group, and refuses where you may not write it. `mode` is that of a new one.
 *
 * A file with several names keeps them, so it is written in place; so is one that nothing can be put in the place of.
 */
export function rewriteFile(root: string, path: string, text: string, mode: number): void {
  const found = lookAtFile(root, path);
  // Renaming asks no permission of the file.
  if (found) withFile(root, path, constants.O_WRONLY, () => {});
  if ((found?.nlink ?? 1) > 1 || !isReplaced(root, path, text, found ?? { mode }))
    writeAt(root, path, text, 0, mode);
}

/** Puts a file with this text in the place of another. False where the system does not let it. */
function isReplaced(
  root: string,
  path: string,
  text: string,
  { mode, gid }: Pick<Stats, "mode"> & Partial<Pick<Stats, "gid">>,
): boolean {
  // A name of its own: that of the file may be as long as names can be.
  const unfinished = join(dirname(path), `.rkat-${crypto.randomUUID()}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT;
  try {
    withFile(
      root,
      unfinished,
      flags,
      (file) => {
        if (gid !== undefined) {
          if (fstatSync(file).gid !== gid) fchownSync(file, -1, gid);
          fchmodSync(file, mode & 0o7777);
        }
        writeWhole(file, text, 0);
        fsyncSync(file);
      },
      mode & 0o777,
    );
    inFolder(root, path, (place) => renameSync(join(place, "..", basename(unfinished)), place));
    return true;
  } catch (error) {
    if (lookAt(root, unfinished)) inFolder(root, unfinished, unlinkSync);
    if (NOT_REPLACED.has((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** A folder that takes no new file, a group that is not yours, a file that is mounted by itself, or one that Windows has open. */
const NOT_REPLACED: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"]);

/** Gives a complete file its final name, unless another process did it first. */
export function publish(unseen: string, file: string): void {
  try {
    linkSync(unseen, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(unseen, { force: true });
  }
}

/** Removes a file or a folder below `root`, with all that is in it. A link in it is removed, not followed. */
export function remove(root: string, path: string): void {
  if (!lookAt(root, path)) return;
  if (DESCRIPTORS) inFolder(root, path, removeAt);
  else rmSync(path, { recursive: true, force: true });
}

/** Removes the entry at a place in an open folder. */
function removeAt(place: string): void {
  try {
    if (!lstatSync(place).isDirectory()) {
      unlinkSync(place);
      return;
    }
    const folder = openSync(place, FOLDER);
    try {
      const inside = `${DESCRIPTORS}/${folder}`;
      for (const name of readdirSync(inside)) removeAt(`${inside}/${name}`);
    } finally {
      closeSync(folder);
    }
    rmdirSync(place);
  } catch (error) {
    // Another process removed it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Puts the names in a folder below `root` on the disk: what was removed from it stays removed when power fails. */
export function syncFolder(root: string, path: string): void {
  // Windows cannot sync a folder.
  if (process.platform === "win32") return;
  inFolder(root, path, (place) => {
    const folder = openSync(place, FOLDER);
    try {
      fsyncSync(folder);
    } finally {
      closeSync(folder);
    }
  });
}

/**
 * Works with a regular file below `root`, which is opened without following a link.
 *
 * @param flags as of `open(2)`, from `fs.constants`
 * @param mode the permissions of a file that is made, less those that your umask takes away
 * @throws SessionError `UNSAFE_FILE`, or the system's error, such as `ENOENT`
 */
export function withFile<T>(
  root: string,
  path: string,
  flags: number,
  work: (file: number) => T,
  mode?: number,
): T {
  const descriptor = openFile(root, path, flags, mode);
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes a folder below `root`, and those above it, private to you unless `mode` says otherwise. */
export function makeFolder(root: string, path: string, mode = 0o700): void {
  let at = resolve(root);
  for (const part of partsBelow(root, path)) {
    at = join(at, part);
    if (lookAt(root, at)) continue;
    try {
      inFolder(root, at, (place) => mkdirSync(place, { mode }));
    } catch (error) {
      // Another process made it meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (!lookAt(root, at)?.isDirectory()) throw unsafe(at, "is not a folder");
  }
}

/** The folder in which Linux shows the open files of a process. A path through it begins in a folder that is open already. */
const DESCRIPTORS =
  process.platform === "linux" && existsSync("/proc/self/fd") ? "/proc/self/fd" : undefined;

/** Undefined on Windows. */
const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Works with a path in its folder, which is opened part by part without following a link. So a folder that becomes
 * a link meanwhile leads nowhere. Where the system cannot do that, it works with the path.
 */
function inFolder<T>(root: string, path: string, work: (place: string) => T): T {
  if (!DESCRIPTORS) return work(path);
  const parts = partsBelow(root, path);
  let folder = openSync(root, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    for (const part of parts.slice(0, -1)) {
      const next = openSync(`${DESCRIPTORS}/${folder}/${part}`, FOLDER);
      closeSync(folder);
      folder = next;
    }
    return work(`${DESCRIPTORS}/${folder}/${parts.at(-1)}`);
  } catch (error) {
    throw withPath(error, path);
  } finally {
    closeSync(folder);
  }
}

/** The error of a place in an open folder, about the path that people know. */
function withPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !("code" in error)) return error;
  if (error.code === "ELOOP" || error.code === "ENOTDIR") return unsafe(path, "was replaced");
  error.message = error.message.replaceAll(/\/proc\/self\/fd\/\d+\/[^']*/g, path);
  return Object.assign(error, "path" in error ? { path } : {});
}

function partsBelow(root: string, path: string): readonly string[] {
  const below = relative(resolve(root), resolve(path));
  const parts = below.split(sep).filter((part) => part !== "");
  if (parts.length === 0 || parts[0] === ".." || resolve(root, below) !== resolve(path)) {
    throw unsafe(path, `is not below ${root}`);
  }
  return parts;
}

function isYours({ uid }: Stats): boolean {
  return process.getuid === undefined || uid === process.getuid();
}

function unsafe(path: string, why: string): SessionError {
  return new SessionError("UNSAFE_FILE", { detail: `${path} ${why}.` });
}
