import { ToolSet } from "../agent/tool-set.ts";
import type { SessionSettings } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import type { SearchHistory } from "../core/requests.ts";
import type { TaskChange, TaskRecord } from "../core/task.ts";
import { datetimeTool } from "../tools/datetime.ts";
import { memorySearchTool, type SearchForModel } from "../tools/memory-search.ts";
import { searchProjectHistoryTool } from "../tools/search-project-history.ts";
import { updateTaskTool } from "../tools/update-task.ts";
import type { ServiceOptions } from "./service-options.ts";

/** What the built-in tools call. */
interface BuiltinWork {
  /** Left out where models cannot search memory. */
  readonly searchMemory: SearchForModel | undefined;
  /** Left out where logs are not kept. */
  readonly searchHistory: ((request: SearchHistory) => Promise<readonly HistoryHit[]>) | undefined;
  updateTask(sessionId: string, change: TaskChange): Promise<TaskRecord>;
}

/**
 * The tools of each session: the caller's and rkat's own. `memory_search` needs a memory, and
 * `search_project_history` needs logs that are kept.
 */
export function sessionTools(
  {
    tools = [],
    builtinTools = true,
    memoryScope,
  }: Pick<ServiceOptions, "tools" | "builtinTools" | "memoryScope">,
  { searchMemory, searchHistory, updateTask }: BuiltinWork,
): (settings: SessionSettings) => ToolSet {
  const history = searchHistory ? [searchProjectHistoryTool(searchHistory)] : [];
  const builtin = builtinTools ? [...history, updateTaskTool(updateTask), datetimeTool()] : [];
  const search = builtinTools && searchMemory ? [memorySearchTool(searchMemory, memoryScope)] : [];
  const withMemory = [...search, ...builtin];
  const sets = {
    withMemory: new ToolSet([...tools, ...withMemory], withMemory),
    withoutMemory: new ToolSet([...tools, ...builtin], builtin),
  };
  return ({ memory }) => (memory ? sets.withMemory : sets.withoutMemory);
}
