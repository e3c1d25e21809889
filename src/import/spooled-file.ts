import { createWriteStream } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { copiedChunks } from "../transcripts/found-file.ts";

/**
 * Writes a stream to a private file, works with the path, and deletes the file. Transcripts are not
 * read from the stream itself: an archive has its table of contents at the end.
 *
 * `name` is what a format is recognised by. Only its last part counts.
 */
export async function withSpooled<Result>(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
  signal: AbortSignal | undefined,
  work: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "rkat-import-")));
  try {
    const path = join(folder, fileNameOf(name));
    const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
    await pipeline(copiedChunks(bytes), file, signal ? { signal } : {});
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
