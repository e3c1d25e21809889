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
