import { addMemories } from "./memory-add.ts";
import { deleteMemories, deleteSessionMemories } from "./memory-delete.ts";
import { listMemories, readMemories } from "./memory-list.ts";
import { mergeMemories } from "./memory-merge.ts";
import { prepareMemories, reindexMemories } from "./memory-reindex.ts";
import { searchMemories } from "./memory-search.ts";
import { memoryStats } from "./memory-stats.ts";
import { verifyMemories } from "./memory-verify.ts";

/** What the memory store asks of the database. */
export const memoryCommands = {
  prepareMemories,
  addMemories,
  searchMemories,
  readMemories,
  listMemories,
  memoryStats,
  deleteMemories,
  deleteSessionMemories,
  mergeMemories,
  reindexMemories,
  verifyMemories,
};
