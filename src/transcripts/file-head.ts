import { type FoundFile, plainBytes } from "./found-file.ts";
import type { FileHead } from "./imported.ts";
import { firstObjects } from "./read-objects.ts";

const HEAD_BYTES = 64 * 1024;
/** A first message may have a pasted file in it. */
const FIRST_OBJECT_BYTES_MAX = 4 * 1024 * 1024;
/** Some editors and shells write it before UTF-8. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The beginning of a file, by which it is recognised. */
export async function headOf(file: FoundFile): Promise<FileHead> {
  const { path } = file;
  const head = await beginningOf(file, HEAD_BYTES);
  const found = firstObjects(head);
  if (found.first || found.listed || !/^\s*[[{]/.test(head.toString("latin1", 0, HEAD_BYTES)))
    return { path, head, ...found };
  return { path, head, ...firstObjects(await beginningOf(file, FIRST_OBJECT_BYTES_MAX)) };
}

/**
 * Whether a file of JSON ends in the middle of its first object. It is still being written, so it may be of any format: what
 * it was taken for now, it would stay when it has grown.
 */
export function isBegun({ first, listed, head, path }: FileHead, size: number): boolean {
  const isJson = /^\s*[[{]/.test(Buffer.from(head.subarray(0, 100)).toString("latin1"));
  const isShort =
    head.length < HEAD_BYTES || (/\.jsonl$/.test(path) && size < FIRST_OBJECT_BYTES_MAX);
  return isJson && !first && !listed && isShort;
}

async function beginningOf(file: FoundFile, bytesMax: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let damage: string | undefined;
  for await (const chunk of plainBytes(file, 0, (reason) => (damage = reason))) {
    chunks.push(Uint8Array.from(chunk.subarray(0, bytesMax - size)));
    size += chunk.length;
    if (size >= bytesMax) break;
  }
  if (damage !== undefined && size === 0) throw new Error(damage);
  const bytes = Buffer.concat(chunks);
  return BYTE_ORDER_MARK.equals(bytes.subarray(0, 3)) ? bytes.subarray(3) : bytes;
}
