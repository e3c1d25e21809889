import { ToolSet } from "../agent/tool-set.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import {
  type OpenMemory,
  searchHistory as searchHistoryRequest,
} from "../core/operations/memory.ts";
import { parseRequest } from "../core/operations/parse-request.ts";
import type { CreateSession } from "../core/operations/sessions.ts";
import type { SessionService } from "../core/session-service.ts";
import { datetimeTool } from "../tools/datetime.ts";
import {
  memorySearchTool,
  type SearchForModel,
  searchProjectHistoryTool,
} from "../tools/memory-search.ts";
import { updateTaskTool } from "../tools/update-task.ts";
import { approvalOperations } from "./approval-operations.ts";
import { checkedOperations, checkedRequest } from "./checked-operations.ts";
import { historyOperations } from "./history-operations.ts";
import { importOperations } from "./import-operations.ts";
import { knowledgeOperations } from "./knowledge-operations.ts";
import { logOperations, searchHistory } from "./log-operations.ts";
import { memoryOperations, searchFor } from "./memory-operations.ts";
import { type ServedUser, type ServiceCore, serviceCore, type ToolsOf } from "./service-core.ts";
import { ServiceLife } from "./service-life.ts";
import { optionsForUser, type SessionOptions } from "./service-options.ts";
import { SessionHostRecord } from "./session-host-record.ts";
import { sessionOperations } from "./session-operations.ts";
import { turnOperations } from "./turn-operations.ts";
import { changeTask, workingMemoryOperations } from "./working-memory-operations.ts";

export interface OpenedService {
  readonly service: SessionService;
  /**
   * The list of items that the agent loop of another package keeps in a session. The session is
   * created with the id and the request when the list first changes.
   */
  recordOf(id: string, request: CreateSession, read: ReadHostItem): HostRecord;
}

/**
 * The one implementation of `SessionService`, put together from its parts. (The clients of the surfaces are the
 * others: they send each request to one of these.)
 *
 * Several services, in one process or in many, may share the stores. The service of a user works on
 * the user's own stores, so nothing here compares users.
 */
export function openService(options: SessionOptions): OpenedService {
  return compose(options);
}

function compose(options: SessionOptions, user?: ServedUser) {
  const core = serviceCore(options, user);
  const memory = memoryOperations(core.options, core);
  const toolsOf = sessionTools(core, memory);
  const knowledge = knowledgeOperations(core);
  const sessions = sessionOperations(core, knowledge);
  const imports = importOperations(core);
  const life = new ServiceLife(core, {
    remove: (id) => sessions.remove(id, { now: true }),
    endImports: () => imports.close(),
    openFor: (name) => {
      const { project, outages } = core;
      return compose(optionsForUser(options, name), { name, project, outages }).life;
    },
  });
  const service: SessionService = {
    ...checkedOperations(core, {
      ...sessions,
      ...turnOperations(core, toolsOf),
      ...imports,
      ...historyOperations(core, toolsOf),
      ...workingMemoryOperations(core, toolsOf),
      ...memory,
      ...approvalOperations(core),
      ...knowledge,
      ...logOperations(core, knowledge),
    }),
    capabilities: async () => core.capabilities,
    subscribe: sessions.subscribe,
    forUser: (name) => life.forUser(name),
    close: () => life.close(),
  };
  core.service = service;
  // An earlier process may have left the projections behind the log.
  core.projections.wake();
  const recordOf: OpenedService["recordOf"] = (id, request, read) =>
    new SessionHostRecord(id, read, {
      events: core.options.stores.events,
      work: core.work,
      create: async () => sessions.create(id, checkedRequest(core, "createSession", request)),
    });
  return { service, recordOf, life };
}

/**
 * The tools of each session: the caller's and rkat's own. `memory_search` needs a memory, and
 * `search_project_history` needs logs that are kept.
 */
function sessionTools(core: ServiceCore, memory: Pick<OpenMemory, "searchMemory">): ToolsOf {
  const { tools = [], moreTools, builtinTools = true, memoryScope } = core.options;
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
    withMemory: new ToolSet([...tools, ...withMemory], withMemory, moreTools),
    withoutMemory: new ToolSet([...tools, ...builtin], builtin, moreTools),
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
