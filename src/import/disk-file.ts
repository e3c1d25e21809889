import {
  closeSync,
  constants,
  createWriteStream,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
} from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { temporaryFolder } from "../files/make-folders.ts";
import { copiedChunks, type FoundFile } from "../transcripts/found-file.ts";

/** A file on this machine, with the facts that show whether it has changed. */
export interface DiskFile extends FoundFile {
  /** Its size, time and place on the disk. A file with the same stamp has the same bytes. */
  readonly stamp: string;
  /** Whether this is the file that was found. */
  is(file: Pick<Stats, "dev" | "ino" | "isFile">): boolean;
  /** Whether it is shorter than it was when it was found. */
  hasShrunk(): boolean;
}

const CHUNK_BYTES = 256 * 1024;

// A link that took the file's place meanwhile could lead anywhere.
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

const REPLACED = "it was replaced while it was read";

/** The small file that was read last, for files that share it: an import reads one several times, and then the next. */
export interface LastRead {
  file?: DiskFile;
  bytes?: Uint8Array;
}

/**
 * The file at a path: a regular file, and no link. What is read later is that file, up to the size that it has now,
 * whatever stands at the path then. One that grows without end would be read without end.
 */
export function diskFile(
  path: string,
  others: () => Iterable<FoundFile>,
  last: LastRead = {},
): DiskFile | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) return undefined;
  // A pipe that took the place of a removed file can have its number.
  const is: DiskFile["is"] = (other) =>
    other.dev === found.dev && other.ino === found.ino && other.isFile();
  const file: DiskFile = {
    path,
    size: found.size,
    mtimeMs: Math.max(found.mtimeMs, logOf(path)?.mtimeMs ?? 0),
    stamp: stampOf(path, found),
    others,
    is,
    hasShrunk: () => (lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) < found.size,
    async *read(start = 0, to = found.size) {
      const end = Math.min(to, found.size);
      if (found.size <= CHUNK_BYTES) {
        // So that you can stop an import of many small files.
        await setImmediate();
        const bytes = (last.file === file ? last.bytes : undefined) ?? wholeFile(file);
        Object.assign(last, { file, bytes });
        yield bytes.subarray(start, end);
        return;
      }
      const handle = await open(path, FLAGS);
      try {
        if (!is(await handle.stat())) throw new Error(REPLACED);
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(0, end - start)));
        for (let at = start; at < end; ) {
          const wanted = Math.min(buffer.length, end - at);
          const { bytesRead } = await handle.read(buffer, 0, wanted, at);
          if (bytesRead === 0) return;
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
        }
      } finally {
        await handle.close();
      }
    },
  };
  return file;
}

/** Reads at once: the thread that Node reads in takes longer than a small file. */
function wholeFile({ path, size, is }: DiskFile): Uint8Array {
  const file = openSync(path, FLAGS);
  try {
    if (!is(fstatSync(file))) throw new Error(REPLACED);
    const bytes = Buffer.allocUnsafe(size);
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** SQLite writes into a file beside the database first. */
function logOf(path: string): Stats | undefined {
  return /\.(?:vsc)?db$/.test(path)
    ? lstatSync(`${path}-wal`, { throwIfNoEntry: false })
    : undefined;
}

function stampOf(path: string, { dev, ino, size, mtimeMs }: Stats): string {
  const log = logOf(path);
  return [dev, ino, size, mtimeMs, ...(log ? [log.size, log.mtimeMs] : [])].join(" ");
}

/**
 * Writes a stream to a private file, works with the path, and deletes the file. Transcripts are not
 * read from the stream itself: an archive has its table of contents at the end.
 *
 * Formats are recognised by `name`. Only its last part counts.
 */
export async function withSpooled<Result>(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  signal: AbortSignal | undefined,
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = await temporaryFolder("rkat-import-");
  try {
    const path = join(folder, fileNameOf(name));
    const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
    await pipeline(copiedChunks(bytes), file, signal ? { signal } : {}).catch((error) => {
      // A stream that fails as well is in Node's error too, in front of it.
      signal?.throwIfAborted();
      throw error;
    });
    return await work(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Formats look at how a name ends, and no file system takes a name of any length. */
const NAME_CHARACTERS_MAX = 100;

function fileNameOf(name: string): string {
  const plain = basename(name).replaceAll(/[^\w.-]/g, "_");
  return plain.slice(-NAME_CHARACTERS_MAX).replace(/^\.+/, "_") || "transcript";
}
