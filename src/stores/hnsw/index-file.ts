import {
  appendFileSync,
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import type { Index } from "usearch";

/**
 * An index on disk: what the library writes, what we add, and what tells that both are whole.
 *
 *     graph and vectors │ notes (JSON) │ "RKATHNS1" │ length of the notes │ CRC-32 of all before
 *
 * The library reads its part and stops. It must not be given a torn file: it
 * would take the whole process down with it.
 */
const NAME = "RKATHNS1";
const MAGIC = Buffer.from(NAME);
const FOOTER_BYTES = MAGIC.length + 8;
const CHUNK_BYTES = 1 << 20;

/** Writes the file whole or not at all, whatever is killed when. */
export function writeIndexFile(file: string, graph: Index, notes: unknown): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  removeLeftovers(file);
  const unfinished = `${file}.${process.pid}${UNFINISHED}`;
  try {
    // Made before the library does, so that it is private from its first byte.
    closeSync(openSync(unfinished, "w", 0o600));
    chmodSync(unfinished, 0o600);
    graph.save(unfinished);
    appendNotes(unfinished, Buffer.from(JSON.stringify(notes)));
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  sync(dirname(file));
}

/** Fills the graph and returns the notes; `undefined` when there is no file, or not a whole one. */
export function readIndexFile(file: string, graph: () => Index) {
  const notes = readNotes(file);
  if (notes === undefined) return undefined;
  const index = graph();
  index.load(file);
  return { graph: index, notes };
}

const UNFINISHED = ".unfinished";
const LEFT_BEHIND_AFTER_MS = 3_600_000;

/** What processes wrote that were killed over it. */
function removeLeftovers(file: string): void {
  const beginning = `${basename(file)}.`;
  for (const name of readdirSync(dirname(file))) {
    if (!name.startsWith(beginning) || !name.endsWith(UNFINISHED)) continue;
    const path = join(dirname(file), name);
    const writtenAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - writtenAt > LEFT_BEHIND_AFTER_MS) rmSync(path, { force: true });
  }
}

function appendNotes(file: string, notes: Buffer): void {
  const footer = Buffer.alloc(FOOTER_BYTES);
  MAGIC.copy(footer);
  footer.writeUInt32LE(notes.length, MAGIC.length);
  const fd = openSync(file, "r+");
  try {
    const checked = [notes, footer.subarray(0, -4)].reduce<number>(
      (sum, part) => crc32(part, sum),
      checksum(fd, fstatSync(fd).size),
    );
    footer.writeUInt32LE(checked, FOOTER_BYTES - 4);
  } finally {
    closeSync(fd);
  }
  appendFileSync(file, Buffer.concat([notes, footer]), { flush: true });
}

function readNotes(file: string): unknown {
  let fd: number;
  try {
    fd = openSync(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(fd);
    if (size < FOOTER_BYTES) return undefined;
    const footer = read(fd, size - FOOTER_BYTES, FOOTER_BYTES);
    const length = footer.readUInt32LE(MAGIC.length);
    if (!footer.subarray(0, MAGIC.length).equals(MAGIC) || length > size - FOOTER_BYTES) {
      return undefined;
    }
    if (checksum(fd, size - 4) !== footer.readUInt32LE(FOOTER_BYTES - 4)) return undefined;
    return JSON.parse(read(fd, size - FOOTER_BYTES - length, length).toString());
  } finally {
    closeSync(fd);
  }
}

/** Of the first so many bytes. */
function checksum(fd: number, bytes: number): number {
  let sum = 0;
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    sum = crc32(read(fd, at, Math.min(CHUNK_BYTES, bytes - at)), sum);
  }
  return sum;
}

function read(fd: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  let done = 0;
  while (done < bytes) {
    const count = readSync(fd, buffer, done, bytes - done, position + done);
    if (count === 0) throw new Error(`The file ended after ${position + done} bytes.`);
    done += count;
  }
  return buffer;
}

function sync(folder: string): void {
  // Windows knows no folder to sync.
  if (process.platform === "win32") return;
  const fd = openSync(folder, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
