import { ToolSet } from "../agent/tool-set.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import {
  type OpenMemory,
  searchHistory as searchHistoryRequest,
} from "../core/operations/memory.ts";
import { parseRequest } from "../core/operations/parse-request.ts";
import { datetimeTool } from "../tools/datetime.ts";
import {
  memorySearchTool,
  type SearchForModel,
  searchProjectHistoryTool,
} from "../tools/memory-search.ts";
import { updateTaskTool } from "../tools/update-task.ts";
import { searchHistory } from "./log-operations.ts";
import { searchFor } from "./memory-operations.ts";
import type { ServiceCore, ToolsOf } from "./service-core.ts";
import { changeTask } from "./working-memory-operations.ts";

/**
 * The tools of each session: the caller's and rkat's own. `memory_search` needs a memory, and
 * `search_project_history` needs logs that are kept.
 */
export function sessionTools(core: ServiceCore, memory: Pick<OpenMemory, "searchMemory">): ToolsOf {
  const { tools = [], builtinTools = true, memoryScope } = core.options;
  const history = core.capabilities.includes("session-store")
    ? [
        searchProjectHistoryTool((request) =>
          searchHistory(core, parseRequest(searchHistoryRequest, request)),
        ),
      ]
    : [];
  const task = updateTaskTool((sessionId, change) => changeTask(core, sessionId, change, "agent"));
  const builtin = builtinTools ? [...history, task, datetimeTool()] : [];
  const search =
    builtinTools && core.searchesMemory
      ? [memorySearchTool(searchUnseen(core, memory), memoryScope)]
      : [];
  const withMemory = [...search, ...builtin];
  const sets = {
    withMemory: new ToolSet([...tools, ...withMemory], withMemory),
    withoutMemory: new ToolSet([...tools, ...builtin], builtin),
  };
  return ({ memory }) => (memory ? sets.withMemory : sets.withoutMemory);
}

/** The ids of a message in memory. A fork's may be there twice. */
function namesOf(sessionId: string) {
  return ({ id, inherited: said }: Pick<HistoryEntry, "id" | "inherited">): readonly string[] => [
    `${sessionId}:${id}`,
    ...(said ? [`${said.session}:${said.message}`] : []),
  ];
}

/** Searches memory for what the model does not see in its history. */
function searchUnseen(
  { live }: ServiceCore,
  { searchMemory }: Pick<OpenMemory, "searchMemory">,
): SearchForModel {
  return ({ queries, limit: count }, sessionId) => {
    const shown = new Set(live.historyOf(sessionId).flatMap(namesOf(sessionId)));
    const unseen = (hits: readonly MemoryHit[]) => hits.filter(({ id }) => !shown.has(id));
    return searchFor(count, unseen, (limit) => searchMemory({ query: [...queries], limit }));
  };
}
