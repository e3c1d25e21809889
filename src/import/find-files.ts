import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { type DiskFile, diskFile, type LastRead } from "./disk-file.ts";

/** No agent nests its transcripts deeper than this. */
const DEPTH_MAX = 12;

/**
 * The files below a folder whose paths may be those of transcripts, the oldest first. So of two files
 * that begin with the same messages, the one that was written first has them.
 *
 * Links are not followed: they may lead out of the folder, or in a circle.
 */
export function findFiles(
  folder: string,
  mayBe: (path: string) => boolean,
  onUnreadable: (folder: string, error: unknown) => void,
): readonly DiskFile[] {
  const found: DiskFile[] = [];
  const last: LastRead = {};
  const visit = (below: string, depth: number): void => {
    for (const entry of entriesOf(join(folder, below), onUnreadable)) {
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory() && depth < DEPTH_MAX) visit(path, depth + 1);
      if (!entry.isFile() || !mayBe(path)) continue;
      const file = diskFile(join(folder, path), () => found, last);
      if (file) found.push(file);
    }
  };
  visit("", 0);
  return found.sort(
    (one, other) => one.mtimeMs - other.mtimeMs || (one.path < other.path ? -1 : 1),
  );
}

function entriesOf(
  folder: string,
  onUnreadable: (folder: string, error: unknown) => void,
): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onUnreadable(folder, error);
    return [];
  }
}
