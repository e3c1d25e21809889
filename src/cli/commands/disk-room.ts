import { statfsSync } from "node:fs";
import { fileSize } from "../render/render-import.ts";

/** Bytes. A turn and what memory makes of it need less. */
const ROOM_MIN = 16 * 1024 * 1024;

interface Disk {
  readonly bsize: number;
  readonly blocks: number;
  readonly bavail: number;
}

/** Says in one sentence that the disk of a folder is full, or nearly; undefined when it has room, or does not tell. */
export function roomProblem(
  folder: string,
  diskOf: (folder: string) => Disk = statfsSync,
): string | undefined {
  const { bsize, blocks, bavail } = diskOf(folder);
  const free = bsize * bavail;
  // File systems that are no disk say that they have no blocks.
  if (blocks === 0 || free >= ROOM_MIN) return undefined;
  return `the disk has ${fileSize(free)} left: on a full one every change fails. Free some space`;
}
