import { addEntries } from "../indexing/add.ts";
import { deleteEntries, deleteSession } from "../indexing/delete.ts";
import { listEntries, memoryStats, readEntries } from "../indexing/list.ts";
import type { Asking } from "../indexing/port/asking.ts";
import { mergeSegments } from "../indexing/upkeep/merge.ts";
import { prepareIndex, reindex } from "../indexing/upkeep/reindex.ts";
import { mendVectors } from "../indexing/upkeep/verify.ts";
import {
  deleteOtherSpaces,
  openSpace,
  pendingPassages,
  saveCalibration,
  storeVectors,
  vectorStats,
} from "../indexing/vectors/store-vectors.ts";

/** The tasks of a memory by name, so that a store can send them to the thread of its database. */
export const MEMORY_TASKS = {
  addMemories: addEntries,
  readMemories: readEntries,
  listMemories: listEntries,
  memoryStats,
  deleteMemories: deleteEntries,
  deleteSessionMemories: deleteSession,
  mergeMemories: mergeSegments,
  prepareMemories: prepareIndex,
  reindexMemories: reindex,
  mendVectors,
  openVectorSpace: openSpace,
  pendingPassages,
  storeVectors,
  saveCalibration,
  deleteOtherSpaces,
  vectorStats,
};

type MemoryTasks = typeof MEMORY_TASKS;
export type MemoryTask = keyof MemoryTasks;
export type TaskValues<Name extends MemoryTask> = Parameters<MemoryTasks[Name]>;
export type TaskResult<Name extends MemoryTask> =
  ReturnType<MemoryTasks[Name]> extends Asking<infer Result> ? Result : never;

/** The code of a task. */
export function askTask<Name extends MemoryTask>(
  name: Name,
  values: TaskValues<Name>,
): Asking<TaskResult<Name>> {
  const task = MEMORY_TASKS[name] as (...values: TaskValues<Name>) => Asking<TaskResult<Name>>;
  return task(...values);
}
