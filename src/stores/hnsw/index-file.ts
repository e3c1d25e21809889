import { createHmac, type Hmac, timingSafeEqual } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Index } from "usearch";
import { makeFolders } from "../../files/make-folders.ts";
import { lookAtFile, makeFile, makeFolder, withFile } from "../../files/plain-files.ts";

/** The place of an index on disk. */
export interface IndexPlace {
  readonly file: string;
  /** Below this folder no part of the path may be a link. */
  readonly root: string;
  /** The owner of this key may write the index. */
  readonly key: Uint8Array;
}

/**
 * An index on disk: the graph as the library writes it, our notes, and a code that proves that
 * both are whole and were written by someone with the key.
 *
 *     graph and vectors │ notes (JSON) │ "RKATHNS2" │ length of the notes │ HMAC-SHA-256 of all before
 *
 * The library trusts its part of the file. A torn or crafted one would end the whole process.
 */
const NAME = "RKATHNS2";
const MAGIC = Buffer.from(NAME);
const CODE_BYTES = 32;
const FOOTER_BYTES = MAGIC.length + 4 + CODE_BYTES;
const CHUNK_BYTES = 1 << 20;

/** Writes the file whole or not at all, whenever the process is killed. */
export function writeIndexFile(place: IndexPlace, graph: Index, notes: unknown): void {
  const { file, root } = place;
  makeFolders(root, 0o700);
  if (resolve(dirname(file)) !== resolve(root)) makeFolder(root, dirname(file));
  removeLeftovers(file);
  const unfinished = `${file}.${crypto.randomUUID()}${UNFINISHED}`;
  try {
    // The library would follow a link, and would not make the file private.
    makeFile(root, unfinished, "");
    graph.save(unfinished);
    appendNotes({ ...place, file: unfinished }, Buffer.from(JSON.stringify(notes)));
    lookAtFile(root, file);
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
}

/** Fills a graph and returns it with the notes. Undefined without a file that is whole and ours. */
export function readIndexFile(place: IndexPlace, graph: () => Index) {
  const notes = readNotes(place);
  if (notes === undefined) return undefined;
  const index = graph();
  index.load(place.file);
  return { graph: index, notes };
}

const UNFINISHED = ".unfinished";
const LEFT_BEHIND_AFTER_MS = 3_600_000;

/** Removes the files of processes that were killed while they wrote. */
function removeLeftovers(file: string): void {
  const beginning = `${basename(file)}.`;
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(beginning) || !name.endsWith(UNFINISHED)) continue;
    const path = join(dirname(file), name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    const isOld = found && Date.now() - found.mtimeMs > LEFT_BEHIND_AFTER_MS;
    if (isOld && found.isFile()) rmSync(path, { force: true });
  }
}

function appendNotes({ file, root, key }: IndexPlace, notes: Buffer): void {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(notes.length);
  withFile(root, file, constants.O_RDWR, (descriptor) => {
    const { size } = fstatSync(descriptor);
    const added = Buffer.concat([notes, MAGIC, length]);
    const code = hashed(descriptor, size, key).update(added).digest();
    write(descriptor, Buffer.concat([added, code]), size);
    fsyncSync(descriptor);
  });
}

function readNotes({ file, root, key }: IndexPlace): unknown {
  if (!lookAtFile(root, file)) return undefined;
  return withFile(root, file, constants.O_RDONLY, (descriptor) => {
    const { size } = fstatSync(descriptor);
    if (size < FOOTER_BYTES) return undefined;
    const footer = read(descriptor, size - FOOTER_BYTES, FOOTER_BYTES);
    const length = footer.readUInt32LE(MAGIC.length);
    const isOurs = footer.subarray(0, MAGIC.length).equals(MAGIC);
    if (!isOurs || length > size - FOOTER_BYTES) return undefined;
    const code = hashed(descriptor, size - CODE_BYTES, key).digest();
    if (!timingSafeEqual(code, footer.subarray(-CODE_BYTES))) return undefined;
    return JSON.parse(read(descriptor, size - FOOTER_BYTES - length, length).toString());
  });
}

/** The code of the first bytes, to which more can be added. */
function hashed(descriptor: number, bytes: number, key: Uint8Array): Hmac {
  const hmac = createHmac("sha256", key);
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    hmac.update(read(descriptor, at, Math.min(CHUNK_BYTES, bytes - at)));
  }
  return hmac;
}

function read(descriptor: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  for (let done = 0; done < bytes; ) {
    const count = readSync(descriptor, buffer, done, bytes - done, position + done);
    if (count === 0) throw new Error(`The file ended after ${position + done} bytes.`);
    done += count;
  }
  return buffer;
}

function write(descriptor: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(descriptor, bytes, done, bytes.length - done, position + done);
  }
}

function syncFolder(folder: string): void {
  // Windows cannot sync a folder.
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
