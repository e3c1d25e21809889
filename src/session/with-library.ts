import { SessionError } from "../core/errors.ts";
import { sumCleaned } from "../core/event.ts";
import type { HistoryHit } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import type { MemoryHits, MemoryLag, MemoryStats, ShownEntry } from "../core/memory-store.ts";
import type {
  ForgetMemory,
  ListMemory,
  MemoryForgotten,
  OpenMemory,
  SearchMemory,
} from "../core/operations/memory.ts";
import type { Given } from "../core/operations/operation.ts";
import type { SessionSummary } from "../core/operations/sessions.ts";
import { group, requireArgument, requireOptions, service, text, whole } from "../core/options.ts";
import type { SessionService } from "../core/session-service.ts";
import { withinTokens } from "../core/tokens.ts";
import { warn, warnedOutages } from "../core/warn.ts";
import { withLag } from "./memory-search.ts";

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
 * A service that also reads what is in another one, the library: a person's sessions of all projects.
 *
 *     searchMemory           the results of both, best first
 *     searchHistory          the results of both in turn, because their ranks cannot be compared
 *     list                   the sessions of both, last used first
 *     listMemory             the first one's entries, then the library's
 *     memoryStats            of both
 *     read, context, pins,
 *     readLog, readMessage,
 *     readCompaction, readSources,
 *     sessionCost, allowedCalls,
 *     subscribe              a session of either
 *     editMemory             an entry of either
 *     keepBoth               two entries of either
 *     forgetMemory           in both
 *
 * Everything else works with the first one's sessions only. What is the library's says `store: "user"`.
 * What both have is shown once, as the first one's. The services of users do not see the library.
 */
export function withLibrary(
  own: SessionService,
  library: SessionService,
  options: LibraryOptions = {},
): SessionService {
  requireArgument("the service of withLibrary", service, own);
  requireArgument("the library of withLibrary", service, library);
  requireOptions("withLibrary", group({ project: text, memoryResults: whole(1) }), options);
  const memory = memoryReads(own, library, options);
  const ofEither = async <Result>(
    sessionId: string,
    read: (service: SessionService) => Promise<Result>,
  ): Promise<{ readonly found: Result; readonly isLibrarys: boolean }> => {
    try {
      return { found: await read(own), isLibrarys: false };
    } catch (error) {
      if (!isNotFound(error) || !(await isShown(sessionId, library, options))) throw error;
      return { found: await read(library), isLibrarys: true };
    }
  };
  const methods: Partial<SessionService> = {
    searchMemory: (request) => memory.searchMemory(given(request) as Given<SearchMemory>),
    listMemory: (request) => memory.listMemory(given(request)),
    memoryStats: (request) => memory.memoryStats(given(request)),
    async searchHistory(request) {
      const first = await own.searchHistory(request);
      const narrowed = narrow(request, options);
      const second = narrowed
        ? await ifSearched(library, () => library.searchHistory(narrowed))
        : [];
      const known = new Set(first.map(eventOf));
      const marked = ofUser(second).filter((hit) => !known.has(eventOf(hit)));
      return inTurn(first, marked).slice(0, request.limit ?? SEARCH_LIMIT_DEFAULT);
    },
    async list(request) {
      const narrowed = narrow(request, options);
      if (request.deleted || !narrowed) return await own.list(request);
      const { offset = 0, limit = LIST_LIMIT_DEFAULT } = request;
      const page = { offset: 0, limit: Math.min(offset + limit, LIST_LIMIT_MAX) };
      const first = await own.list({ ...request, ...page });
      const second = await ifSearched(library, () => library.list({ ...narrowed, ...page }));
      return mergeSessions(first, second).slice(offset, offset + limit);
    },
    async read(request) {
      const { found, isLibrarys } = await ofEither(request.sessionId, (one) => one.read(request));
      return isLibrarys ? { ...found, store: "user" } : found;
    },
    async context(request) {
      return (await ofEither(request.sessionId, (one) => one.context(request))).found;
    },
    async pins(request) {
      return (await ofEither(request.sessionId, (one) => one.pins(request))).found;
    },
    async readSources(request) {
      try {
        return await own.readSources(request);
      } catch (error) {
        const session = request.sessionId ?? sessionIn(request.id ?? "");
        const isElsewhere = isNotFound(error) || isUnknown(error);
        if (!isElsewhere || !(await isShown(session, library, options))) throw error;
        return await library.readSources(request);
      }
    },
    async editMemory(request) {
      try {
        return await own.editMemory(request);
      } catch (error) {
        if (!isUnknown(error)) throw error;
        return { ...(await library.editMemory(request)), store: "user" };
      }
    },
    async keepBoth(request) {
      try {
        return await own.keepBoth(request);
      } catch (error) {
        if (!isUnknown(error)) throw error;
        await requireOneStore(request.ids, memory);
        return { ...(await library.keepBoth(request)), store: "user" };
      }
    },
    async readLog(request) {
      return (await ofEither(request.sessionId, (one) => one.readLog(request))).found;
    },
    async readMessage(request) {
      return (await ofEither(request.sessionId, (one) => one.readMessage(request))).found;
    },
    async allowedCalls(request) {
      return (await ofEither(request.sessionId, (one) => one.allowedCalls(request))).found;
    },
    async sessionCost(request) {
      return (await ofEither(request.sessionId, (one) => one.sessionCost(request))).found;
    },
    async readCompaction(request) {
      return (await ofEither(request.sessionId, (one) => one.readCompaction(request))).found;
    },
    async *subscribe(request, { onOpen, ...rest } = {}) {
      let isOpen = false;
      const opened = (afterSeq: number) => {
        isOpen = true;
        onOpen?.(afterSeq);
      };
      try {
        yield* own.subscribe(request, { ...rest, onOpen: opened });
      } catch (error) {
        const isElsewhere = !isOpen && isNotFound(error);
        if (!isElsewhere || !(await isShown(request.sessionId, library, options))) throw error;
        yield* library.subscribe(request, { ...rest, onOpen: opened });
      }
    },
    async forgetMemory(request) {
      const first = await own.forgetMemory(request);
      try {
        const narrowed = await narrowForgetting(request, library, options);
        return narrowed
          ? bothForgotten(first, await library.forgetMemory(narrowed), narrowed)
          : first;
      } catch (error) {
        // A removal from the project is worth its receipt.
        if (first.forgotten === 0) throw error;
        warn(SessionError.from(error), LIBRARY_KEPT);
        const why = `${LIBRARY_KEPT} ${SessionError.from(error).message}`;
        return { ...first, notCleaned: [...first.notCleaned, { place: "user_store", why }] };
      }
    },
  };
  return new Proxy(own, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof method === "function" ? method.bind(target) : method;
    },
  });
}

type MemoryReads = Pick<OpenMemory, "searchMemory" | "listMemory" | "memoryStats">;

/** The same for memory without a service. */
export function memoryWithLibrary<Own extends MemoryReads>(
  own: Own,
  library: MemoryReads,
  options: LibraryOptions = {},
): Own {
  return { ...own, ...memoryReads(own, library, options) };
}

function memoryReads(own: MemoryReads, library: MemoryReads, options: LibraryOptions): MemoryReads {
  return {
    async searchMemory(request) {
      const first = await own.searchMemory(request);
      const narrowed = narrow(request, options);
      const second = narrowed
        ? await ifSearched(library, () => library.searchMemory(narrowed))
        : [];
      return bestOf(first, second, request, options);
    },
    async listMemory(request) {
      const first = await own.listMemory(request);
      const narrowed = narrow(request, options);
      if (!narrowed) return first;
      const { after: _, ...filters } = narrowed;
      return await listBoth(first, request, own, (page) =>
        ifSearched(library, () => library.listMemory({ ...filters, ...page })),
      );
    },
    async memoryStats(request) {
      const first = await own.memoryStats(request);
      const narrowed = narrow(request, options);
      const [second] = narrowed
        ? await ifSearched(library, async () => [await library.memoryStats(narrowed)])
        : [];
      return second ? bothStats(first, second) : first;
    },
  };
}

/** @throws SessionError `NOT_POSSIBLE` when one entry is the project's, and the other the library's */
async function requireOneStore(ids: readonly string[], memory: MemoryReads): Promise<void> {
  const found = await memory.listMemory({ id: [...ids], limit: ids.length });
  const inLibrary = found.find(({ store }) => store === "user");
  const inProject = found.find(({ store }) => store !== "user");
  if (!inLibrary || !inProject) return;
  throw new SessionError("NOT_POSSIBLE", {
    message: `"${inLibrary.id}" is in the user-wide store, and "${inProject.id}" in the project's. Neither replaces the other: what is in one store replaces nothing in another, so both hold.`,
    hint: "To decide between them, say one of them again in the other's store with `rkat memory add`, and name the two that are there.",
  });
}

/** The entries of the first, and after its last one those of the library. */
async function listBoth(
  first: readonly ShownEntry[],
  { id, after, limit = LIST_LIMIT_DEFAULT }: Given<ListMemory>,
  own: MemoryReads,
  library: (page: Pick<Given<ListMemory>, "after" | "limit">) => Promise<readonly ShownEntry[]>,
): Promise<readonly ShownEntry[]> {
  const ofOwn = async (ids: readonly string[]) =>
    new Set(
      (ids.length > 0 ? await own.listMemory({ id: [...ids], limit: ids.length }) : []).map(idOf),
    );
  const missing = async (entries: readonly ShownEntry[]) => {
    const known = await ofOwn(entries.map(idOf));
    return ofUser(entries).filter((entry) => !known.has(entry.id));
  };
  if (id !== undefined) {
    const order = [id].flat();
    const both = [...first, ...(await missing(await library({ limit: order.length })))];
    return both
      .sort((one, other) => order.indexOf(one.id) - order.indexOf(other.id))
      .slice(0, limit);
  }
  const isOwn = after === undefined || (await ofOwn([after])).has(after);
  const page = isOwn ? [...first] : [];
  for (let last = isOwn ? undefined : after; page.length < limit; ) {
    const more = await library({ limit: limit - page.length, ...given({ after: last }) });
    if (more.length === 0) break;
    page.push(...(await missing(more)));
    last = more.at(-1)?.id;
  }
  return page;
}

function bothStats(own: MemoryStats, library: MemoryStats): MemoryStats {
  return {
    ...own,
    entries: own.entries + library.entries,
    sessions: own.sessions + library.sessions,
    textBytes: own.textBytes + library.textBytes,
    ...given({ behind: bothLags(own.behind, library.behind) }),
  };
}

const LIBRARY_KEPT = "Nothing was forgotten in the user-wide store.";

/** The receipt of both. `asked` is what the library was asked for. */
function bothForgotten(
  own: MemoryForgotten,
  library: MemoryForgotten,
  { ids = [], sessionId = "" }: ForgetMemory,
): MemoryForgotten {
  const foundThere = new Set([...ids, sessionId]);
  for (const name of library.notFound) foundThere.delete(name);
  const notCleaned = library.forgotten > 0 ? library.notCleaned : [];
  return {
    forgotten: own.forgotten + library.forgotten,
    remaining: [...new Set([...own.remaining, ...library.remaining])],
    remainingCount: own.remainingCount + library.remainingCount,
    cleaned: sumCleaned([...own.cleaned, ...library.cleaned]),
    notCleaned: own.notCleaned.length > 0 ? own.notCleaned : notCleaned,
    notFound: own.notFound.filter((name) => !foundThere.has(name)),
  };
}

/** Sessions of both, last used first. */
function mergeSessions(
  own: readonly SessionSummary[],
  library: readonly SessionSummary[],
): readonly SessionSummary[] {
  const known = new Set(own.map(({ sessionId }) => sessionId));
  const others = ofUser(library).filter(({ sessionId }) => !known.has(sessionId));
  return [...own, ...others].sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1));
}

function bestOf(
  own: MemoryHits,
  library: MemoryHits,
  { limit, maxTokens }: Given<SearchMemory>,
  { memoryResults = SEARCH_LIMIT_DEFAULT }: LibraryOptions,
): MemoryHits {
  const known = new Set(own.map(idOf));
  const others = ofUser(library).filter(({ id }) => !known.has(id));
  // Scores mean the same in every store. Of equal ones, the project's come first.
  const hits = [...own, ...others].sort((one, other) => other.score - one.score);
  const best = hits.slice(0, limit ?? memoryResults);
  const kept = maxTokens === undefined ? best : withinTokens(best, maxTokens);
  return withLag(kept, bothLags(own.behind, library.behind));
}

function bothLags(own: MemoryLag | undefined, other: MemoryLag | undefined) {
  if (!own || !other) return own ?? other;
  return { events: own.events + other.events, seconds: Math.max(own.seconds, other.seconds) };
}

/** The first of each, the second of each, and so on. */
function inTurn<Hit>(own: readonly Hit[], library: readonly Hit[]): readonly Hit[] {
  const longer = own.length > library.length ? own : library;
  return longer.flatMap((_, index) =>
    [own.slice(index, index + 1), library.slice(index, index + 1)].flat(),
  );
}

function ofUser<Found>(found: readonly Found[]): readonly (Found & { readonly store: "user" })[] {
  return found.map((one) => ({ ...one, store: "user" as const }));
}

function idOf({ id }: Pick<ShownEntry, "id">): string {
  return id;
}

function eventOf({ sessionId, seq }: HistoryHit): string {
  return `${sessionId}:${seq}`;
}

function isUnknown(error: unknown): boolean {
  return error instanceof SessionError && error.code === "KNOWLEDGE_NOT_FOUND";
}

function isNotFound(error: unknown): boolean {
  return error instanceof SessionError && error.code === "SESSION_NOT_FOUND";
}

/** The library's results. The project's are worth something without them. */
async function ifSearched<Found extends readonly unknown[]>(
  library: object,
  search: () => Promise<Found>,
): Promise<Found | readonly []> {
  const told = "The user-wide store was not searched.";
  return (await warnedOutages.attempt(library, search, told)) ?? [];
}

/** The request for the library; undefined when none of its sessions can pass. */
function narrow<Request extends { readonly project?: string | undefined }>(
  request: Request,
  { project }: LibraryOptions,
): Request | undefined {
  if (project === undefined) return request;
  const asked = request.project;
  return asked === undefined || asked === project ? { ...request, project } : undefined;
}

/** The entries that the library may forget: only those that its searches show. */
async function narrowForgetting(
  request: ForgetMemory,
  library: SessionService,
  options: LibraryOptions,
): Promise<ForgetMemory | undefined> {
  if (options.project === undefined) return request;
  const { ids, sessionId } = request;
  if (sessionId !== undefined)
    return (await readsShown(sessionId, library, options)) ? request : undefined;
  const shown: string[] = [];
  for (const id of ids ?? []) {
    if (await readsShown(sessionIn(id), library, options)) shown.push(id);
  }
  return shown.length > 0 ? { ids: shown } : undefined;
}

/** The session in the id of a message, which is `<session id>:<message id>`. */
function sessionIn(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf(":")));
}

/** Whether the library shows a session: it has it, and it is of the project, if there is one. */
async function readsShown(
  sessionId: string,
  library: SessionService,
  { project }: LibraryOptions,
): Promise<boolean> {
  if (sessionId === "") return false;
  try {
    const { source } = await library.read({ sessionId });
    return project === undefined || source.project === project;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The same for what only reads. A library that fails shows nothing. */
function isShown(...of: Parameters<typeof readsShown>): Promise<boolean> {
  return readsShown(...of).catch(() => false);
}
