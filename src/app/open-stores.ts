import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type Config, embedderSettings, knowledgeSettings } from "../config/config.ts";
import { shortPath } from "../config/config-places.ts";
import type { SearchScope } from "../config/settings.ts";
import { makeStore, useOtherStore } from "../config/store-file.ts";
import { hasCapability, hasStore, type Workspace } from "../config/workspace.ts";
import type { Embedder } from "../core/embedder.ts";
import { SessionError, shownAddress } from "../core/errors.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { OpenMemory } from "../core/operations/memory.ts";
import type { Stores } from "../core/stores.ts";
import { warn } from "../core/warn.ts";
import type { EmbedderSettings } from "../embedders/open-embedder.ts";
import type { MoveOptions, MoveReport } from "../moving/move-stores.ts";
import { MEMORY_INDEX } from "../projections/log-projection.ts";
import { type MemoryOptions, openMemoryOperations } from "../session/memory-operations.ts";
import type { PostgresStores } from "../stores/postgres/postgres-stores.ts";
import type { SqliteStores } from "../stores/sqlite/sqlite-stores.ts";
import { MEMORY_STORES } from "./memory-stores.ts";
import {
  actingFor,
  closeAll,
  type Opened,
  onlyReads,
  openScope,
  type StoreAccess,
  warnOfStore,
} from "./opened.ts";

/** The stores at an address of PostgreSQL, or in a SQLite file. They make no vectors. */
async function storesAt(
  place: string,
  workspace: Workspace,
  access: "existing" | "create",
  isTrusted: boolean,
): Promise<Stores> {
  if (/^postgres(?:ql)?:/.test(place)) {
    const { postgresAddress } = await import("../stores/postgres/server-address.ts");
    return (await import("../stores/postgres/postgres-stores.ts")).postgresStores(
      postgresAddress(place),
    );
  }
  const path = resolve(place);
  if (access === "existing" && !existsSync(path)) {
    throw new SessionError("INVALID_PARAMS", {
      message: `There is no store at ${path}.`,
      hint: "Name a project with --dir, or a store with --from.",
    });
  }
  if (path === workspace.storeFile) makeStore(workspace, process.env);
  else useOtherStore(path, isTrusted, process.env);
  return (await import("../stores/sqlite/sqlite-stores.ts")).sqliteStores({ path });
}

export async function openStores(workspace: Workspace, access: StoreAccess): Promise<Stores> {
  const { config } = workspace;
  warnOfStore(workspace, access);
  const hasMemory = hasCapability(config, "memory-store");
  const isKept = hasMemory || hasCapability(config, "session-store");
  if (!isKept || (onlyReads(access) && !hasStore(workspace))) {
    return (await import("../stores/ephemeral/ephemeral-stores.ts")).ephemeralStores();
  }
  const embedder = hasMemory ? await usableEmbedder(config) : undefined;
  const cacheMegabytes = config.get("memory.cache_mb");
  const cache = cacheMegabytes === undefined ? {} : { cacheBytes: cacheMegabytes * 1_000_000 };
  // Without the embedder that the settings name, only the index of words finds anything.
  const { open } = MEMORY_STORES[embedder === null ? "sqlite" : config.get("memory.store")];
  const stores = await open({
    workspace,
    access,
    embedder: embedder ?? undefined,
    async openEngine(options) {
      const engine = await openEngine(workspace, access, { ...cache, ...options });
      // A server that cannot use its store says so, and does not say that it serves.
      if (access === "serve" || access === "show") await useFirst(engine);
      return engine;
    },
  });
  const minScore = config.get("memory.min_score");
  return minScore === undefined ? stores : flooredStores(stores, minScore);
}

/** The database of the settings, or the project's file. */
async function openEngine(
  workspace: Workspace,
  access: StoreAccess,
  options: { readonly embedder?: Embedder; readonly cacheBytes?: number },
): Promise<SqliteStores | PostgresStores> {
  const { storeAddress, storeFile } = workspace;
  if (storeAddress !== undefined) {
    const { postgresStores } = await import("../stores/postgres/postgres-stores.ts");
    const { postgresAddress } = await import("../stores/postgres/server-address.ts");
    return postgresStores({ ...postgresAddress(storeAddress), ...options });
  }
  makeStore(workspace, process.env);
  const { sqliteStores } = await import("../stores/sqlite/sqlite-stores.ts");
  const thread = access === "serve" ? "worker" : "main";
  return sqliteStores({ path: storeFile, thread, ...options });
}

/** Opens the parts that open at the first use: a connection, a file, tables of this version, a log. */
async function useFirst(stores: Stores): Promise<void> {
  try {
    await stores.events.checkpoint(MEMORY_INDEX.all);
    // The log of no session: its table is looked at, and nothing is read.
    await Array.fromAsync(stores.events.read("", 0, 1));
  } catch (error) {
    await stores.close();
    throw error;
  }
}

/** The store that the project uses. If `other` names it, the project's own file. */
function storeBesides(other: string, { storeAddress, storeFile }: Workspace): string {
  return storeAddress === undefined || storeAddress === other ? storeFile : storeAddress;
}

/** The name of a store in a sentence. */
export function storeName({ storeAddress, storePlace }: Workspace): string {
  return storeAddress === undefined
    ? shortPath(storePlace.dataFolder, process.env)
    : shownAddress(storeAddress);
}

/** The embedder of the settings; undefined when they name none, null when it does not work here. */
async function usableEmbedder(config: Config): Promise<Embedder | undefined | null> {
  try {
    return await openEmbedderOf(config);
  } catch (error) {
    warn(SessionError.from(error), "Memory uses words only.");
    return null;
  }
}

export async function openEmbedderOf(
  config: Config,
  options: Pick<EmbedderSettings, "maxRetries"> = {},
): Promise<Embedder | undefined> {
  const settings = embedderSettings(config, process.env);
  if (settings === undefined) return undefined;
  const { openEmbedder } = await import("../embedders/open-embedder.ts");
  return await openEmbedder({ ...settings, ...options });
}

/** The same stores, with a floor for the memory of the project and of each user. */
function flooredStores(stores: Stores, minScore: number): Stores {
  return {
    ...stores,
    memory: flooredMemory(stores.memory, minScore),
    forUser: (user) => flooredStores(stores.forUser(user), minScore),
    close: () => stores.close(),
  };
}

/** The same memory; results of queries that name no floor score at least `minScore`. */
function flooredMemory(memory: MemoryStore, minScore: number): MemoryStore {
  return {
    add: (entries, log) => memory.add(entries, log),
    search: (query) => memory.search({ minScore, ...query }),
    read: (ids) => memory.read(ids),
    list: (page) => memory.list(page),
    stats: (of) => memory.stats(of),
    mark: async (id, marks) => (await memory.mark?.(id, marks)) ?? false,
    delete: (which) => memory.delete(which),
    verify: (watch) => memory.verify(watch),
    reindex: (watch) => memory.reindex(watch),
    close: () => memory.close(),
  };
}

/**
 * Copies everything of a store, by default the project's, into another one. A store is an address of
 * PostgreSQL or a SQLite file.
 *
 * @throws SessionError `STORE_NOT_TRUSTED` for a file that you did not make here, unless it `isTrusted`
 */
export async function moveStore(
  workspace: Workspace,
  {
    to,
    from = storeBesides(to, workspace),
    isTrusted = false,
    ...options
  }: MoveOptions & { readonly to: string; readonly from?: string; readonly isTrusted?: boolean },
): Promise<MoveReport> {
  if (isSameStore(from, to)) {
    throw new SessionError("INVALID_PARAMS", {
      message: "Both stores are the same.",
      hint: "Name another one with --to.",
    });
  }
  const { moveStores } = await import("../moving/move-stores.ts");
  const source = await storesAt(from, workspace, "existing", isTrusted);
  try {
    const target = await storesAt(to, workspace, "create", isTrusted);
    try {
      return await moveStores(source, target, options);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Whether both name one store. A path may lead to the other one through a link. */
function isSameStore(one: string, other: string): boolean {
  if (resolve(one) === resolve(other)) return true;
  const [found, there] = [one, other].map((place) =>
    statSync(resolve(place), { bigint: true, throwIfNoEntry: false }),
  );
  return found !== undefined && found.dev === there?.dev && found.ino === there.ino;
}

/** Opens the memory of a project without loading the agent. */
export async function openMemory(
  workspace: Workspace,
  access: StoreAccess,
): Promise<Opened<OpenMemory>> {
  const stores = await openStores(workspace, access);
  const operations = openMemoryOperations(memoryOptions(workspace, actingFor(workspace, stores)));
  return { value: operations, close: () => closeAll([operations, stores]) };
}

/** Like `openMemory`, for searches within a scope. */
export function openMemoryOf(
  scope: SearchScope,
  workspace: Workspace,
): Promise<Opened<OpenMemory>> {
  const open = (one: Workspace) => openMemory(one, "existing");
  return openScope(scope, workspace, open, async (...both) => {
    const { memoryWithLibrary } = await import("../session/with-library.ts");
    return memoryWithLibrary(...both);
  });
}

/** The options of a service that its memory depends on, with the capabilities that are on. */
export function memoryOptions(
  { config, storePlace: { folder } }: Workspace,
  stores: Stores,
): MemoryOptions {
  const hasMemory = hasCapability(config, "memory-store");
  return {
    ...(hasCapability(config, "session-store") ? { stores } : {}),
    project: folder,
    memory: hasMemory && stores.memory,
    knowledge: hasMemory &&
      config.get("knowledge.enabled") && { store: stores.knowledge, ...knowledgeSettings(config) },
    ...(hasMemory
      ? {
          memoryScope: config.get("memory.index"),
          searchableMemory: config.get("search.enabled"),
          memoryResults: config.get("search.max_results"),
          recallTokens: config.get("memory.recall_tokens"),
          recallFrom: config.get("memory.recall_from"),
        }
      : {}),
  };
}
