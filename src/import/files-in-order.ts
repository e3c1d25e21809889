import { bytesAt } from "../transcripts/found-file.ts";
import type { DiskFile } from "./disk-file.ts";

/**
 * Files in the order in which they were written, by what they say: a copy or a restore gives a file another time. So of
 * two files that begin with the same messages, the same one has them on every disk.
 */
export async function filesInOrder(files: readonly DiskFile[]): Promise<readonly DiskFile[]> {
  if (files.length < 2) return files;
  const ends: End[] = [];
  for (const file of files) ends.push(await endOf(file));
  return ends.sort(compared).map(({ file }) => file);
}

interface End {
  readonly file: DiskFile;
  /** Claude Code goes on in the background with a copy. */
  readonly isCopy: boolean;
  /** The last time that it names, in Unix milliseconds. */
  readonly timeMs: number;
}

const END_BYTES = 64 * 1024;

async function endOf(file: DiskFile): Promise<End> {
  let text = "";
  try {
    const bytes = await bytesAt(file, Math.max(0, file.size - END_BYTES), file.size);
    text = Buffer.from(bytes).toString("latin1");
  } catch {
    // The import says why it cannot be read.
  }
  const said = text.matchAll(/"timestamp":"(\d{4}-\d\d-\d\dT[\d:.]{8,20}Z)"/g);
  // Not the text of a time: it would keep all of the text that it is a part of.
  const times = Array.from(said, ([, at = ""]) => Date.parse(at)).filter(Number.isFinite);
  const timeMs = times.reduce((last, at) => Math.max(last, at), Number.NEGATIVE_INFINITY);
  return {
    file,
    isCopy: text.includes('"sessionKind":"bg"'),
    timeMs: times.length > 0 ? timeMs : file.mtimeMs,
  };
}

function compared(one: End, other: End): number {
  if (one.isCopy !== other.isCopy) return one.isCopy ? 1 : -1;
  if (one.timeMs !== other.timeMs) return one.timeMs - other.timeMs;
  return one.file.path < other.file.path ? -1 : 1;
}
