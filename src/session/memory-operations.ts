import { SessionError } from "../core/errors.ts";
import type { SessionChoice } from "../core/event-store.ts";
import { given } from "../core/fields.ts";
import {
  type MemoryEntry,
  type MemoryHit,
  type MemoryHits,
  type MemoryPage,
  type MemoryStats,
  type MemoryStore,
  memoryFilter,
  NO_SESSION,
  sessionTest,
} from "../core/memory-store.ts";
import type { ListMemory, OpenMemory } from "../core/operations/memory.ts";
import { withinTokens } from "../core/tokens.ts";
import { NO_TRACES } from "../core/traces.ts";
import type { Outages } from "../core/warn.ts";
import { isMemoryBehind, memoryLag } from "../projections/log-projection.ts";
import type { ProjectionRunner } from "../projections/projection-runner.ts";
import { newestFirst } from "../recall/newer-statements.ts";
import { madeOnce } from "../text/made-once.ts";
import { nowByOffset, timeSpan } from "../text/time/calendar.ts";
import type { MemoryAudit } from "./memory-audit.ts";
import {
  asItIsNow,
  askedAt,
  askedPastEnd,
  MemoryWait,
  NEWER_AMONG,
  ofSource,
  SEARCH_LIMIT_MAX,
  searchFor,
  withLag,
  withoutCopies,
  withoutInherited,
  withSources,
} from "./memory-search.ts";
import {
  learningOf,
  memoryOf,
  outagesOf,
  requireSearchableMemory,
  type ServiceOptions,
  type SessionOptions,
} from "./service-options.ts";

const LIST_LIMIT_DEFAULT = 20;
const SEARCH_LIMIT_DEFAULT = 10;

/** The options of a service that its memory depends on. */
export type MemoryOptions = Pick<
  ServiceOptions,
  | "stores"
  | "memory"
  | "memoryScope"
  | "knowledge"
  | "searchableMemory"
  | "memoryResults"
  | "recallTokens"
  | "recallFrom"
  | "project"
  | "onBackgroundError"
> &
  Pick<SessionOptions, "tracer">;

type MemoryRead = Pick<MemoryStore, "search" | "list" | "read">;

interface Filled {
  /** Resolves when memory has everything that the log has for it. */
  projected(): Promise<void>;
  readonly wait: MemoryWait;
  readonly outages: Outages;
}

/** The operations of memory. */
export function memoryOperations(
  options: MemoryOptions,
  { projected, wait, outages }: Filled,
): OpenMemory {
  const { tracer = NO_TRACES } = options;
  const store = memoryOf(options);
  const knowledge = learningOf(options)?.store;

  /** The knowledge of the project. */
  async function project() {
    const { ProjectKnowledge } = await import("../knowledge/project-knowledge.ts");
    const learning = learningOf(options);
    return learning && new ProjectKnowledge(learning.store, learning, { memory: opened() });
  }

  /** Memory as it is, or as it was at a time. */
  async function asOf<Memory extends MemoryRead>(
    time: string | undefined,
    memory: Memory,
  ): Promise<Memory | MemoryRead> {
    if (time === undefined) return memory;
    const { memoryAsOf } = await import("./memory-as-of.ts");
    return await memoryAsOf(timeSpan({ until: time }).until, opened(), await project());
  }

  /** On a full disk, for example, memory answers with what it has. */
  const projectedIfPossible = () => outages.attempt(projected, projected);
  const markUsed = {};

  function opened(): MemoryStore {
    if (!store) throw new SessionError("SESSION_MEMORY_DISABLED");
    return store;
  }

  async function upToDate(): Promise<MemoryStore> {
    const memory = opened();
    await projectedIfPossible();
    return memory;
  }

  /** Soon, with what is there. */
  async function soon(): Promise<MemoryStore> {
    const memory = opened();
    await wait.isDone();
    return memory;
  }

  const sessions = options.stores?.sessions;

  async function search({
    maxTokens,
    asOf: then,
    ...request
  }: Parameters<OpenMemory["searchMemory"]>[0]): Promise<MemoryHits> {
    const now = requireSearchableMemory(options);
    const behind = await wait.lag();
    const memory = await asOf(then, now);
    const query = await ofSource(request, sessions, options);
    const { limit = options.memoryResults ?? SEARCH_LIMIT_DEFAULT } = query;
    // "Yesterday" is the day before it.
    const asked = [request.query].flat().join("\n");
    const at =
      request.at ??
      askedAt(asked, then === undefined ? undefined : new Date(timeSpan({ until: then }).until));
    const past = madeOnce(() => ({ end: askedPastEnd(asked, at) }));
    const inOrder = (found: readonly MemoryHit[]) =>
      newestFirst(withoutCopies(found), asked, () => past().end);
    const hits = await searchFor(limit, inOrder, (wider) =>
      memory.search({ ...query, at, limit: Math.min(wider + NEWER_AMONG, SEARCH_LIMIT_MAX) }),
    );
    const learned = hits.flatMap(({ id, kind }) => (kind === "message" ? [] : [id]));
    // Found entries are evicted last. A failure to note that must not fail the search.
    if (learned.length > 0) {
      const now = new Date().toISOString();
      await outages.attempt(markUsed, async () => await knowledge?.markUsed(learned, now));
    }
    const kept = maxTokens === undefined ? hits : withinTokens(hits, maxTokens);
    const found = await withSources(kept.map(asItIsNow), sessions, options);
    return withLag(found, behind);
  }

  return {
    async searchMemory(request) {
      const { query, sessionId } = request;
      const contents = () => ({ query });
      return await tracer.span(
        { operation: "search_memory", sessionId, contents },
        async (span) => {
          const hits = await search(request);
          span.set({ "rkat.search.results": hits.length });
          return hits;
        },
      );
    },
    async listMemory({ id, asOf: then, ...request }) {
      const memory = await asOf(then, await soon());
      const page = await ofSource(request, sessions, options);
      const entries =
        id === undefined
          ? await listOnce(memory, { limit: LIST_LIMIT_DEFAULT, ...page }, options)
          : pageOf((await memory.read([id].flat())).filter(memoryFilter(page)), page);
      // A list can leave the project, and an older version may have stored credentials.
      const { redactEntries } = await import("../secrets/redact-secrets.ts");
      return redactEntries(entries);
    },
    async memoryStats(request) {
      const memory = opened();
      const behind = await wait.lag();
      const { sessionId, sessions: choice } = await ofSource(request, sessions, options);
      return { ...(await countedBy(memory, sessionId, choice)), ...given({ behind }) };
    },
    async addEntries(entries) {
      // It needs nothing of the log.
      const added = await opened().add(entries);
      // A search does not need it, and starts sooner without.
      const { countSecrets } = await import("../secrets/redact-secrets.ts");
      return { added, redacted: countSecrets(entries.map(({ content }) => content)) };
    },
    async addMemory(request) {
      const store = opened();
      const { addedEntry } = await import("./edit-note.ts");
      const entry = addedEntry(request);
      return { id: entry.id, added: (await store.add([entry])) > 0 };
    },
    async editMemory(request) {
      const memory = await soon();
      const { editNote } = await import("./edit-note.ts");
      return await editNote(request, memory);
    },
    async keepBoth(request) {
      const memory = await soon();
      const { keepBoth } = await import("./edit-note.ts");
      return await keepBoth(request, memory, await project());
    },
    async verify(watch) {
      const memory = await upToDate();
      const { entries, problems } = await memory.verify(watch);
      const compared = await (await auditOf(options, memory))?.check(watch);
      return { entries, problems: [...problems, ...(compared?.problems ?? [])].slice(0, 100) };
    },
    async reindex(watch) {
      const memory = await upToDate();
      await memory.reindex(watch);
      const compared = await (await auditOf(options, memory))?.mend(watch);
      return { mended: compared?.problems ?? [] };
    },
  };
}

/** Compares memory with the log, where there is one. */
async function auditOf(
  { stores, memoryScope }: Pick<MemoryOptions, "stores" | "memoryScope">,
  memory: MemoryStore,
): Promise<MemoryAudit | undefined> {
  if (!stores) return undefined;
  const { MemoryAudit: Audit } = await import("./memory-audit.ts");
  const { events, trash } = stores;
  return new Audit({ events, memory, trash }, memoryScope);
}

async function countedBy(
  memory: MemoryStore,
  sessionId: string | undefined,
  choice: SessionChoice | undefined,
): Promise<MemoryStats> {
  if (sessionId === undefined) {
    const stats = await (choice === undefined ? memory.stats() : statsOf(choice, memory));
    return { ...stats, sessions: stats.sessions - (await countNoSessions(choice, memory)) };
  }
  if (choice === undefined) return await memory.stats({ sessionId });
  return await statsOf({ only: [sessionId].filter(sessionTest(choice)) }, memory);
}

/** How many that are no sessions were counted as some. */
async function countNoSessions(
  choice: SessionChoice | undefined,
  memory: MemoryStore,
): Promise<number> {
  const counted = Object.values(NO_SESSION).filter((id) => !choice || sessionTest(choice)(id));
  const stats = await Promise.all(counted.map((sessionId) => memory.stats({ sessionId })));
  return stats.filter(({ entries }) => entries > 0).length;
}

/** The sums of the chosen sessions. */
async function statsOf(choice: SessionChoice, memory: MemoryStore): Promise<MemoryStats> {
  const isOnly = "only" in choice;
  const sum = { entries: 0, sessions: 0, textBytes: 0 };
  const add = (stats: MemoryStats, times: number) => {
    for (const name of ["entries", "sessions", "textBytes"] as const)
      sum[name] += times * stats[name];
  };
  if (!isOnly) add(await memory.stats(), 1);
  for (const sessionId of isOnly ? choice.only : choice.except) {
    add(await memory.stats({ sessionId }), isOnly ? 1 : -1);
  }
  return { ...sum, index: "words" };
}

/** A page of entries. Those of one session come with what it inherited; of all sessions, nothing comes twice. */
async function listOnce(
  memory: MemoryRead,
  page: MemoryPage,
  { stores }: Pick<MemoryOptions, "stores">,
): Promise<readonly MemoryEntry[]> {
  if (!stores || page.sessionId !== undefined) return await memory.list(page);
  const found: MemoryEntry[] = [];
  for (let { after } = page; found.length < page.limit; ) {
    const more = await memory.list({ ...page, ...given({ after }) });
    found.push(...(await withoutInherited(more, memory, stores)));
    after = more.at(-1)?.id;
    if (more.length < page.limit) break;
  }
  return found.slice(0, page.limit);
}

function pageOf(
  entries: readonly MemoryEntry[],
  { after, limit }: Pick<ListMemory, "after" | "limit">,
): readonly MemoryEntry[] {
  const start = entries.findIndex(({ id }) => id === after) + 1;
  return entries.slice(start, limit === undefined ? undefined : start + limit);
}

interface AskedForRecall {
  readonly query: string;
  /** The match that the best one needs. */
  readonly bar: number;
  /** Only sessions of this folder. */
  readonly project: string | undefined;
}

/** Memory without a service. Close it before its stores: it may still fill memory. */
export type MemoryAlone = OpenMemory & {
  /** What memory has for a prompt, in its own order: as in rkat's own sessions, only records that are chosen are put in order. */
  searchForRecall(asked: AskedForRecall): Promise<readonly MemoryHit[]>;
  close(): Promise<void>;
};

/**
 * The same operations without a service, for a command that only works with memory. It loads
 * neither the agent nor the projections, unless the log has something that memory lacks.
 */
export function openMemoryOperations(options: MemoryOptions): MemoryAlone {
  let runner: Promise<ProjectionRunner | undefined> | undefined;
  let caughtUp: Promise<void> | undefined;
  const outages = outagesOf(options);
  const { stores, memoryScope: scope = "all" } = options;
  const projected = () => {
    runner ??= runnerFor(options, outages);
    caughtUp ??= runner.then((found) => found?.flush());
    return caughtUp;
  };
  const lag = async () => (stores ? await memoryLag(stores.events, scope) : undefined);
  const wait = new MemoryWait({ projected, lag, holdsBack: stores?.events.holdsBack, outages });
  return {
    ...memoryOperations(options, { projected, wait, outages }),
    async searchForRecall({ query, bar, project }) {
      const memory = requireSearchableMemory(options);
      await wait.isDone();
      const among = await ofSource(given({ project }), stores?.sessions, options);
      const { recallSearch } = await import("../recall/choose-records.ts");
      return await memory.search({ ...recallSearch(bar), ...among, query, at: nowByOffset() });
    },
    close: async () => await (await runner?.catch(() => undefined))?.stop(),
  };
}

/** The work that fills memory; undefined when memory has everything. */
async function runnerFor(
  options: MemoryOptions,
  outages: Outages,
): Promise<ProjectionRunner | undefined> {
  const { stores, memoryScope: scope = "all" } = options;
  const memory = memoryOf(options);
  const learning = learningOf(options);
  if (!stores || !memory || !(await isMemoryBehind(stores.events, scope, learning?.store))) {
    return undefined;
  }
  const [
    { ProjectionRunner: Runner },
    { MemoryIndex },
    { KnowledgeRecorder },
    { ProjectKnowledge },
  ] = await Promise.all([
    import("../projections/projection-runner.ts"),
    import("../projections/memory-index.ts"),
    import("../projections/knowledge-recorder.ts"),
    import("../knowledge/project-knowledge.ts"),
  ]);
  const { events } = stores;
  const projections = [
    new MemoryIndex(events, memory, { scope }),
    ...(learning
      ? [new KnowledgeRecorder(events, new ProjectKnowledge(learning.store, learning, { memory }))]
      : []),
  ];
  return new Runner(events, projections, outages);
}
