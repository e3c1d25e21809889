import { isObject } from "../core/fields.ts";
import type { FoundFile } from "../transcripts/found-file.ts";
import type { FileHead, ImportFormat } from "../transcripts/imported.ts";
import { plainBytes } from "../transcripts/plain-bytes.ts";

/** The first of the formats that recognises a file by its path and its first bytes. */
export async function recogniseFile(
  file: FoundFile,
  formats: readonly ImportFormat[],
): Promise<ImportFormat | undefined> {
  const head = await headOf(file);
  return formats.find((format) => format.recognises(head));
}

const HEAD_BYTES = 64 * 1024;
/** Some editors and shells write it before UTF-8. */
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** The beginning of a file, by which it is recognised. */
async function headOf(file: FoundFile): Promise<FileHead> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  let damage: string | undefined;
  for await (const chunk of plainBytes(file, 0, (reason) => (damage = reason))) {
    chunks.push(Uint8Array.from(chunk.subarray(0, HEAD_BYTES - size)));
    size += chunk.length;
    if (size >= HEAD_BYTES) break;
  }
  if (damage !== undefined && size === 0) throw new Error(damage);
  const bytes = Buffer.concat(chunks);
  const head = BYTE_ORDER_MARK.equals(bytes.subarray(0, 3)) ? bytes.subarray(3) : bytes;
  const text = head.toString("utf8");
  return { path: file.path, head, first: objectIn(text.split("\n", 1)[0]) ?? objectIn(text) };
}

function objectIn(text: string | undefined): FileHead["first"] {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
