import assert from "node:assert/strict";
import { ToolSet } from "../agent/tool-set.ts";
import { SessionError, serviceClosed } from "../core/errors.ts";
import type { HistoryEntry } from "../core/history-entry.ts";
import type { HostRecord, ReadHostItem } from "../core/host-record.ts";
import type { MemoryHit } from "../core/memory-store.ts";
import {
  type OpenMemory,
  searchHistory as searchHistoryRequest,
} from "../core/operations/memory.ts";
import { parseRequest } from "../core/operations/operation.ts";
import { type CreateSession, userRequest } from "../core/operations/sessions.ts";
import type { SessionService } from "../core/session-service.ts";
import { Retention } from "../forgetting/retention.ts";
import type { ProjectionRunner } from "../projections/projection-runner.ts";
import { datetimeTool } from "../tools/datetime.ts";
import {
  memorySearchTool,
  type SearchForModel,
  searchProjectHistoryTool,
} from "../tools/memory-search.ts";
import { updateTaskTool } from "../tools/update-task.ts";
import { approvalOperations } from "./approval-operations.ts";
import { historyOperations } from "./history-operations.ts";
import { importOperations } from "./import-operations.ts";
import { knowledgeOperations } from "./knowledge-operations.ts";
import { logOperations, searchHistory } from "./log-operations.ts";
import { memoryOperations } from "./memory-operations.ts";
import { searchFor } from "./memory-search.ts";
import {
  checkedOperations,
  checkedRequest,
  type ServedUser,
  type ServiceCore,
  serviceCore,
  type ToolsOf,
} from "./service-core.ts";
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
  core.projections.catchUp();
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

/** How often a service looks for what is older than the settings allow. */
const CLEAN_UP_MS = 3_600_000;

interface Deps {
  /** Deletes a session for good. */
  readonly remove: (sessionId: string) => Promise<void>;
  /** Ends the imports that run. */
  readonly endImports: () => Promise<void>;
  /** Opens the service of a user. */
  readonly openFor: (user: string) => ServiceLife;
}

/** The life of a service besides its operations: it finds the services of users, deletes what is old, and ends. */
class ServiceLife {
  readonly #core: ServiceCore;
  readonly #deps: Deps;
  readonly #retention: Retention;
  readonly #cleaning: NodeJS.Timeout | undefined;
  /** The services of users that are in use: a caller has one, or a turn runs in it. */
  readonly #users = new Map<string, WeakRef<ServiceLife>>();
  readonly #unused = new FinalizationRegistry<string>((user) => {
    if (!this.#users.get(user)?.deref()) this.#users.delete(user);
  });
  /** The projections of users. One may still work when nothing holds the user's service any more. */
  readonly #following = new Set<WeakRef<ProjectionRunner>>();
  readonly #idle = new FinalizationRegistry<WeakRef<ProjectionRunner>>((runner) => {
    this.#following.delete(runner);
  });
  #closing: Promise<void> | undefined;

  constructor(core: ServiceCore, deps: Deps) {
    this.#core = core;
    this.#deps = deps;
    const { options, outages, work, live, user } = core;
    const { events, sessions } = options.stores;
    this.#retention = new Retention(options.keepDays ?? {}, {
      events,
      sessions,
      delete: deps.remove,
      withSession: (id, empty) =>
        work.alone(id, async () => await empty((await live.open(id)).state)),
    });
    if (user !== undefined) return;
    this.#cleaning = hourly(this, (life) =>
      outages.attempt(life.#retention, () => life.#cleanUpAll()),
    );
  }

  forUser(name: string): SessionService {
    const { user } = parseRequest(userRequest, { user: name });
    if (this.#core.user !== undefined) {
      if (this.#core.user === user) return this.#service;
      throw new SessionError("USER_NOT_ALLOWED");
    }
    if (this.#closing) throw serviceClosed();
    const known = this.#users.get(user)?.deref();
    if (known && !known.#closing) return known.#service;
    const life = this.#openFor(user);
    this.#users.set(user, new WeakRef(life));
    this.#unused.register(life, user);
    return life.#service;
  }

  /** Interrupts running turns and brings the projections up to date. The stores stay open: they are the caller's. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  get #service(): SessionService {
    assert(this.#core.service);
    return this.#core.service;
  }

  async #end(): Promise<void> {
    const { work, outages, projections } = this.#core;
    await Promise.all([...this.#users.values()].map((life) => life.deref()?.close()));
    await Promise.all([...this.#following].map((runner) => runner.deref()?.close()));
    await this.#deps.endImports();
    await work.close();
    clearInterval(this.#cleaning);
    // A file that stays for lack of a store is deleted by the next service that closes.
    await outages.attempt(this.#retention, () => this.#cleanUp());
    await projections.close();
  }

  #openFor(user: string): ServiceLife {
    const life = this.#deps.openFor(user);
    const { projections } = life.#core;
    const runner = new WeakRef(projections);
    this.#following.add(runner);
    this.#idle.register(projections, runner);
    return life;
  }

  /** Deletes what is older than the settings allow. */
  async #cleanUp(): Promise<void> {
    await this.#core.trash?.deleteOld();
    await this.#retention.deleteOld();
    this.#core.projections.catchUp();
  }

  /** The same for all users who have something old, also for those that no service is open for. */
  async #cleanUpAll(): Promise<void> {
    await this.#cleanUp();
    const { trash, options } = this.#core;
    const { stores } = options;
    const limits = { ...trash?.limits, ...this.#retention.limits };
    const users = stores.usersWithOld ? stores.usersWithOld(limits) : stores.users?.();
    for (const name of (await users) ?? []) {
      const life = this.#users.get(name)?.deref() ?? this.#openFor(name);
      await life.#cleanUp();
      await life.#core.projected();
    }
  }
}

/** A timer that keeps neither the process nor the service alive. */
function hourly(life: ServiceLife, work: (life: ServiceLife) => Promise<unknown>): NodeJS.Timeout {
  const known = new WeakRef(life);
  const timer = setInterval(() => {
    const alive = known.deref();
    if (alive) void work(alive);
    else clearInterval(timer);
  }, CLEAN_UP_MS);
  return timer.unref();
}
