import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import type { CreateSession } from "../core/operations/sessions.ts";
import type { SessionService } from "../core/session-service.ts";
import { approvalOperations } from "./approval-operations.ts";
import { checkedOperations, checkedRequest } from "./checked-operations.ts";
import { historyOperations } from "./history-operations.ts";
import { importOperations } from "./import-operations.ts";
import { knowledgeOperations } from "./knowledge-operations.ts";
import { logOperations } from "./log-operations.ts";
import { memoryOperations } from "./memory-operations.ts";
import { type ServedUser, serviceCore } from "./service-core.ts";
import { ServiceLife } from "./service-life.ts";
import { optionsForUser, type SessionOptions } from "./service-options.ts";
import { SessionHostRecord } from "./session-host-record.ts";
import { sessionOperations } from "./session-operations.ts";
import { sessionTools } from "./session-tools.ts";
import { turnOperations } from "./turn-operations.ts";
import { workingMemoryOperations } from "./working-memory-operations.ts";

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
  const memory = memoryOperations(core.options, core.projected, core.outages);
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
