import { addMemories } from "./memory-add.ts";
import { deleteMemories, deleteSessionMemories } from "./memory-delete.ts";
import { searchMemories } from "./memory-search.ts";
import { memoryStats } from "./memory-session.ts";

/** What the memory store asks of the database. */
export const memoryCommands = {
  addMemories,
  searchMemories,
  memoryStats,
  deleteMemories,
  deleteSessionMemories,
};
