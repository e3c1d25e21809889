import { SessionError } from "../core/errors.ts";
import { sumCleaned } from "../core/event.ts";
import type { MemoryHit, MemoryStats } from "../core/memory-store.ts";
import type { ForgetMemory, Given, ListSessions, SearchMemory } from "../core/requests.ts";
import type {
  MemoryForgotten,
  MemoryOperations,
  SessionService,
  SessionSummary,
  SessionView,
} from "../core/session-service.ts";
import type { SourceConditions } from "../core/session-source.ts";
import { warn } from "../core/warn.ts";
import { withinTokens } from "../core/within-tokens.ts";

export interface LibraryOptions {
  /** Only the library's sessions of this folder. Default: all of them. */
  readonly project?: string;
  /** Results of a search that names no limit. Default 10. */
  readonly memoryResults?: number;
}

const SEARCH_LIMIT_DEFAULT = 10;
const LIST_LIMIT_DEFAULT = 20;
const LIST_LIMIT_MAX = 1000;

/**
 * A service that also finds what is in another one, the library: a person's sessions of all projects.
 *
 *     searchMemory   the results of both, best first
 *     list           the sessions of both, last used first
 *     read           a session of either
 *     forgetMemory   in both
 *     memoryStats    of both
 *
 * Everything else works with the first one's sessions only. What is the library's says `store: "user"`.
 * The services of users do not see it.
 */
export function withLibrary(
  own: SessionService,
  library: SessionService,
  options: LibraryOptions = {},
): SessionService {
  const methods: Pick<
    SessionService,
    "searchMemory" | "list" | "read" | "forgetMemory" | "memoryStats"
  > = {
    searchMemory: (request) =>
      searchBoth(
        request,
        () => own.searchMemory(request),
        (narrowed) => library.searchMemory(narrowed),
        options,
      ),
    async list(request) {
      const narrowed = narrow(request, options);
      if (request.deleted || !narrowed) return await own.list(request);
      const { offset = 0, limit = LIST_LIMIT_DEFAULT } = request;
      const page = { offset: 0, limit: Math.min(offset + limit, LIST_LIMIT_MAX) };
      const first = await own.list({ ...request, ...page });
      const second = await library.list({ ...narrowed, ...page }).catch(notSearched);
      return mergeSessions(first, second).slice(offset, offset + limit);
    },
    async read(request) {
      try {
        return await own.read(request);
      } catch (error) {
        if (!(error instanceof SessionError) || error.code !== "SESSION_NOT_FOUND") throw error;
        const found = await library.read(request).catch(() => undefined);
        if (!found || !isOf(found, options)) throw error;
        return { ...found, store: "user" };
      }
    },
    async forgetMemory(request) {
      const first = await own.forgetMemory(request);
      try {
        const narrowed = await narrowForgetting(request, library, options);
        return narrowed ? bothForgotten(first, await library.forgetMemory(narrowed)) : first;
      } catch (error) {
        // What is gone from the project is worth its receipt.
        if (first.forgotten === 0) throw error;
        warn(SessionError.from(error), "Nothing was forgotten in the user-wide store.");
        return first;
      }
    },
    async memoryStats(request) {
      const first = await own.memoryStats(request);
      const second = await library.memoryStats(request).catch((error) => {
        notSearched(error);
        return undefined;
      });
      return second ? bothStats(first, second) : first;
    },
  };
  return new Proxy(own, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

/** The same for memory without a service. */
export function memoryWithLibrary(
  own: MemoryOperations,
  library: MemoryOperations,
  options: LibraryOptions = {},
): MemoryOperations {
  return {
    ...own,
    search: (request) =>
      searchBoth(
        request,
        () => own.search(request),
        (narrowed) => library.search(narrowed),
        options,
      ),
    async stats(request) {
      return bothStats(await own.stats(request), await library.stats(request));
    },
  };
}

function bothStats(own: MemoryStats, library: MemoryStats): MemoryStats {
  return {
    ...own,
    entries: own.entries + library.entries,
    sessions: own.sessions + library.sessions,
    textBytes: own.textBytes + library.textBytes,
  };
}

function bothForgotten(own: MemoryForgotten, library: MemoryForgotten): MemoryForgotten {
  const notCleaned = library.forgotten > 0 ? library.notCleaned : [];
  return {
    forgotten: own.forgotten + library.forgotten,
    remaining: [...new Set([...own.remaining, ...library.remaining])],
    cleaned: sumCleaned([...own.cleaned, ...library.cleaned]),
    notCleaned: own.notCleaned.length > 0 ? own.notCleaned : notCleaned,
  };
}

/** Sessions of both, last used first. */
function mergeSessions(
  own: readonly SessionSummary[],
  library: readonly SessionSummary[],
): readonly SessionSummary[] {
  const marked = library.map((session) => ({ ...session, store: "user" as const }));
  return [...own, ...marked].sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
}

async function searchBoth<Request extends Given<SearchMemory> | SearchMemory>(
  request: Request,
  own: () => Promise<readonly MemoryHit[]>,
  library: (request: Request) => Promise<readonly MemoryHit[]>,
  options: LibraryOptions,
): Promise<readonly MemoryHit[]> {
  const narrowed = narrow(request, options);
  const first = await own();
  const second = narrowed ? await library(narrowed).catch(notSearched) : [];
  const marked = second.map((hit) => ({ ...hit, store: "user" as const }));
  // Scores mean the same in every store. Of equal ones, the project's come first.
  const hits = [...first, ...marked].sort((one, other) => other.score - one.score);
  const { limit = options.memoryResults ?? SEARCH_LIMIT_DEFAULT, maxTokens } = request;
  const best = hits.slice(0, limit);
  return maxTokens === undefined ? best : withinTokens(best, maxTokens);
}

/** The project's results are worth something without the others. */
function notSearched(error: unknown): readonly [] {
  warn(SessionError.from(error), "The user-wide store was not searched.");
  return [];
}

/** The request for the library; undefined when none of its sessions can pass. */
function narrow<Request extends SourceConditions | ListSessions | SearchMemory>(
  request: Request,
  { project }: LibraryOptions,
): Request | undefined {
  if (project === undefined) return request;
  const asked = request.project;
  return asked === undefined || asked === project ? { ...request, project } : undefined;
}

/** What of it the library may forget: only what its searches show. */
async function narrowForgetting(
  request: ForgetMemory,
  library: SessionService,
  options: LibraryOptions,
): Promise<ForgetMemory | undefined> {
  if (options.project === undefined) return request;
  const isShown = async (sessionId: string) => {
    const found = await library.read({ sessionId }).catch(() => undefined);
    return found !== undefined && isOf(found, options);
  };
  const { ids, sessionId } = request;
  if (sessionId !== undefined) return (await isShown(sessionId)) ? request : undefined;
  const shown: string[] = [];
  for (const id of ids ?? []) {
    // The id of a message is `<session id>:<message id>`.
    if (await isShown(id.slice(0, Math.max(0, id.lastIndexOf(":"))))) shown.push(id);
  }
  return shown.length > 0 ? { ids: shown } : undefined;
}

function isOf({ source }: SessionView, { project }: LibraryOptions): boolean {
  return project === undefined || source.project === project;
}
