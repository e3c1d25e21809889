import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createInflateRaw } from "node:zlib";
import { bytesAt, copiedChunks, type FoundFile } from "./found-file.ts";

type ZipSource = Pick<FoundFile, "size" | "read">;

/** A file in a ZIP archive. */
export interface ZipEntry {
  /** The name as the archive says it. It is a name to look for, and never a place to write to. */
  readonly path: string;
  readonly size: number;
  readonly packedSize: number;
  readonly start: number;
  readonly method: number;
}

/**
 * Lists the files of a ZIP archive, from the directory at its end:
 *
 *     file, file, …, directory, end of directory
 *
 * @throws Error when the bytes are no archive, or when it is damaged or encrypted.
 */
export async function listZip(source: ZipSource): Promise<readonly ZipEntry[]> {
  const tailStart = Math.max(0, source.size - END_SIZE - COMMENT_MAX);
  const tail = await take(source, tailStart, source.size);
  const at = tail.lastIndexOf(END_MARK);
  if (at < 0 || at + END_SIZE > tail.length) throw new Error("it is not a whole ZIP archive");
  const place = await directoryPlace(source, tail, at);
  const end = place.start + place.size;
  if (place.size > DIRECTORY_MAX || end > source.size) throw new Error(DAMAGED);
  const entries = entriesIn(await take(source, place.start, end), place.count);
  // Files that share bytes make much of little, and so do many files that each hold a little too much.
  const packed = entries.reduce((sum, { packedSize }) => sum + packedSize, 0);
  if (packed > source.size) throw new Error(DAMAGED);
  const size = entries.reduce((sum, entry) => sum + entry.size, 0);
  if (size > unpackedMax(packed)) {
    throw new Error(
      `the ZIP archive holds more than the ${unpackedMax(packed)} bytes that it may hold`,
    );
  }
  return entries;
}

/**
 * Reads a file of the archive.
 *
 * It stops with an error at more bytes than the directory says, or than packed text can have. So a small archive
 * cannot keep it busy for hours.
 */
export async function* readZipEntry(
  source: ZipSource,
  entry: ZipEntry,
): AsyncGenerator<Uint8Array, void> {
  if (entry.method !== STORED && entry.method !== DEFLATED) {
    throw new Error(`it is packed with method ${entry.method}, which rkat cannot read`);
  }
  const header = await take(source, entry.start, entry.start + HEADER_SIZE);
  if (header.length < HEADER_SIZE || header.readUInt32LE(0) !== HEADER_MARK) {
    throw new Error(DAMAGED);
  }
  const start = entry.start + HEADER_SIZE + header.readUInt16LE(26) + header.readUInt16LE(28);
  const packed = source.read(start, Math.min(source.size, start + entry.packedSize));
  const sizeMax = Math.min(entry.size, unpackedMax(entry.packedSize));
  let size = 0;
  for await (const chunk of entry.method === STORED ? packed : inflated(packed)) {
    size += chunk.length;
    if (size > sizeMax) throw new Error(`it holds more than the ${sizeMax} bytes that it may hold`);
    yield chunk;
  }
  if (size < entry.size) throw new Error("it ends early");
}

const DAMAGED = "the ZIP archive is damaged";
const STORED = 0;
const DEFLATED = 8;

const HEADER_MARK = 0x04034b50;
const HEADER_SIZE = 30;
const ENTRY_MARK = 0x02014b50;
const ENTRY_SIZE = 46;
const END_MARK = Buffer.of(0x50, 0x4b, 0x05, 0x06);
const END_SIZE = 22;
const COMMENT_MAX = 0xffff;
const END64_LOCATOR_MARK = 0x07064b50;
const END64_LOCATOR_SIZE = 20;
const END64_MARK = 0x06064b50;
const END64_SIZE = 56;
const FIELD_64 = 0x0001;
const FULL_32 = 0xffffffff;

const DIRECTORY_MAX = 64 * 1024 * 1024;
/** Text with much repetition packs to 1/100. Deflate could reach 1/1032. */
const RATIO_MAX = 200;
const RATIO_FREE = 16 * 1024 * 1024;

function unpackedMax(packed: number): number {
  return packed * RATIO_MAX + RATIO_FREE;
}

async function take(source: ZipSource, start: number, end: number): Promise<Buffer> {
  return Buffer.from(await bytesAt(source, start, Math.min(end, source.size)));
}

interface DirectoryPlace {
  readonly count: number;
  readonly size: number;
  readonly start: number;
}

/** An archive over 4 GB says it in a second, larger end record. */
async function directoryPlace(
  source: ZipSource,
  tail: Buffer,
  at: number,
): Promise<DirectoryPlace> {
  const locator = at - END64_LOCATOR_SIZE;
  if (locator >= 0 && tail.readUInt32LE(locator) === END64_LOCATOR_MARK) {
    const place = Number(tail.readBigUInt64LE(locator + 8));
    const end = await take(source, place, place + END64_SIZE);
    if (end.length < END64_SIZE || end.readUInt32LE(0) !== END64_MARK) throw new Error(DAMAGED);
    return {
      count: Number(end.readBigUInt64LE(32)),
      size: Number(end.readBigUInt64LE(40)),
      start: Number(end.readBigUInt64LE(48)),
    };
  }
  return {
    count: tail.readUInt16LE(at + 10),
    size: tail.readUInt32LE(at + 12),
    start: tail.readUInt32LE(at + 16),
  };
}

function entriesIn(directory: Buffer, count: number): readonly ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let at = 0; entries.length < count; ) {
    if (at + ENTRY_SIZE > directory.length || directory.readUInt32LE(at) !== ENTRY_MARK) {
      throw new Error(DAMAGED);
    }
    if (directory.readUInt16LE(at + 8) & 1) throw new Error("the ZIP archive is encrypted");
    const nameEnd = at + ENTRY_SIZE + directory.readUInt16LE(at + 28);
    const extraEnd = nameEnd + directory.readUInt16LE(at + 30);
    const extra = directory.subarray(nameEnd, extraEnd);
    const [size, packedSize, start] = wideNumbers(extra, [
      directory.readUInt32LE(at + 24),
      directory.readUInt32LE(at + 20),
      directory.readUInt32LE(at + 42),
    ]);
    entries.push({
      path: directory.toString("utf8", at + ENTRY_SIZE, nameEnd),
      size,
      packedSize,
      start,
      method: directory.readUInt16LE(at + 10),
    });
    at = extraEnd + directory.readUInt16LE(at + 32);
  }
  return entries;
}

type Three = readonly [number, number, number];

/** Numbers over 4 GB are in an extra field, in this order, and only those. */
function wideNumbers(extra: Buffer, numbers: Three): Three {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== FIELD_64) continue;
    const field = extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
    let next = 0;
    const wide = (number: number) => {
      if (number !== FULL_32) return number;
      if (next + 8 > field.length) throw new Error(DAMAGED);
      next += 8;
      return Number(field.readBigUInt64LE(next - 8));
    };
    return [wide(numbers[0]), wide(numbers[1]), wide(numbers[2])];
  }
  return numbers;
}

/** An error on either side ends the loop of the reader. */
function inflated(packed: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const inflate = createInflateRaw();
  pipeline(Readable.from(copiedChunks(packed)), inflate).catch(() => {});
  return inflate;
}
