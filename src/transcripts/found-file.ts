import { pipeline, Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { errorText } from "../core/errors.ts";
import { isObject } from "../core/fields.ts";

/** A file that may have transcripts. */
export interface FoundFile {
  /** Its name in reports. Only a reader of databases opens it by this. */
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** The bytes from `start` to `end`, which is not included. Stops early when the file has shrunk. */
  read(start?: number, end?: number): AsyncIterable<Uint8Array>;
  /**
   * The other files of the import, for formats whose files refer to each other. No reader opens a
   * path that a transcript names: it may only look for it here.
   */
  readonly others: () => Iterable<FoundFile>;
}

/** A file that was changed so lately may still be written. */
const YOUNG_MS = 60_000;

export function isYoung({ mtimeMs }: Pick<FoundFile, "mtimeMs">): boolean {
  return Math.abs(Date.now() - mtimeMs) < YOUNG_MS;
}

const CHUNK_BYTES = 256 * 1024;

/** Bytes in memory as a file, such as the body of a request. */
export function fileOfBytes(
  path: string,
  bytes: Uint8Array,
  others: () => Iterable<FoundFile> = () => [],
): FoundFile {
  return {
    path,
    size: bytes.length,
    mtimeMs: 0,
    others,
    async *read(start = 0, end = bytes.length) {
      const stop = Math.min(end, bytes.length);
      for (let at = start; at < stop; at += CHUNK_BYTES) {
        yield bytes.subarray(at, Math.min(stop, at + CHUNK_BYTES));
      }
    },
  };
}

/** A part of a file in one piece. It is shorter when the file ends before. */
export async function bytesAt(
  file: Pick<FoundFile, "read">,
  start: number,
  end: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  // A chunk may be overwritten when the next one is asked for.
  for await (const chunk of file.read(start, end)) chunks.push(Uint8Array.from(chunk));
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** Copies of the chunks, for Node's streams, which read ahead: a file may overwrite a chunk when the next one is asked for. */
export async function* copiedChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield Uint8Array.from(chunk);
}

/** The most that packed text can have. A small file must not keep an import busy for hours. */
const RATIO_MAX = 200;
const RATIO_FREE = 16 * 1024 * 1024;

/** The most bytes that so many packed ones may become. */
export function unpackedMax(bytes: number): number {
  return bytes * RATIO_MAX + RATIO_FREE;
}

/**
 * The bytes of a file, unpacked if its name ends in `.zst`. A file that is cut or damaged gives what
 * comes before, and `onDamage` is called with the reason why the rest is missing.
 *
 * A file may consist of several frames of zstd, one for each time that its writer was started. Node
 * unpacks the first and drops what follows in the same chunk, so each frame gets a stream of its own.
 */
export async function* plainBytes(
  file: FoundFile,
  start = 0,
  onDamage?: (reason: string) => void,
): AsyncIterable<Uint8Array> {
  if (!file.path.endsWith(".zst")) {
    yield* file.read(start);
    return;
  }
  const room = { bytes: unpackedMax(file.size) };
  for (let at = 0; at < file.size; ) {
    const { end, skip } = await frameAt(file, at);
    const error = skip ? undefined : yield* unpacked(file, at, end, room);
    if (error?.isEnd || (!error && end > file.size)) return onDamage?.("it is cut off");
    if (error) return onDamage?.(`it is damaged: ${error.text}`);
    at = end;
  }
}

/** Returns the fault of the frame, if its bytes are not those of zstd, or more than the file may hold. */
async function* unpacked(
  file: FoundFile,
  start: number,
  end: number,
  room: { bytes: number },
): AsyncGenerator<Uint8Array, { readonly isEnd: boolean; readonly text: string } | undefined> {
  // An error reaches the loop below, which reads the last stream of the pipeline.
  const frame = pipeline(
    Readable.from(copiedChunks(file.read(start, Math.min(end, file.size)))),
    createZstdDecompress(),
    () => {},
  );
  try {
    for await (const chunk of frame) {
      room.bytes -= chunk.length;
      if (room.bytes < 0) return { isEnd: false, text: "it holds more than packed text can" };
      yield chunk;
    }
  } catch (error) {
    const code = isObject(error) && typeof error.code === "string" ? error.code : "";
    if (!code.startsWith("ZSTD_") && code !== "Z_BUF_ERROR") throw error;
    // The stream still has the bytes that it unpacked before.
    const rest: Uint8Array | null = frame.read();
    if (rest) yield rest;
    return { isEnd: code === "Z_BUF_ERROR", text: errorText(error) };
  }
  return undefined;
}

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;

/** The end of a frame. See RFC 8878, section 3.1. */
async function frameAt(
  file: FoundFile,
  start: number,
): Promise<{ readonly end: number; readonly skip: boolean }> {
  const head = Buffer.from(await bytesAt(file, start, start + 18));
  const cut = { end: Number.MAX_SAFE_INTEGER, skip: false };
  if (head.length < 5) return cut;
  const magic = head.readUInt32LE(0);
  if ((magic ^ SKIPPABLE) >>> 4 === 0) {
    return head.length < 8 ? cut : { end: start + 8 + head.readUInt32LE(4), skip: true };
  }
  // The decompressor reports its fault.
  if (magic !== MAGIC) return { end: file.size, skip: false };
  const flags = head[4] ?? 0;
  const isSingle = (flags & 0x20) !== 0;
  const contentSize = flags >> 6 === 0 ? Number(isSingle) : 1 << (flags >> 6);
  const dictionaryId = [0, 1, 2, 4][flags & 3] ?? 0;
  let at = start + 5 + (isSingle ? 0 : 1) + dictionaryId + contentSize;
  for (;;) {
    const block = await bytesAt(file, at, at + 3);
    if (block.length < 3) return cut;
    const bits = Buffer.from(block).readUIntLE(0, 3);
    const isRepeated = ((bits >> 1) & 3) === 1;
    at += 3 + (isRepeated ? 1 : bits >> 3);
    if (bits & 1) return { end: at + (flags & 4 ? 4 : 0), skip: false };
  }
}
