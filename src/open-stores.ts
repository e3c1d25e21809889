import { existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { shortPath } from "./config/config-places.ts";
import { embedderSettings } from "./config/service-settings.ts";
import { ownKey } from "./config/trust.ts";
import { hasCapability, hasStore, makeStore, type Workspace } from "./config/workspace.ts";
import type { Embedder } from "./core/embedder.ts";
import { SessionError, shownAddress } from "./core/errors.ts";
import type { MemoryStore } from "./core/memory-store.ts";
import type { Stores } from "./core/stores.ts";
import { warn } from "./core/warn.ts";
import type { EmbedderSettings } from "./embedders/open-embedder.ts";
import type { PostgresStores } from "./postgres.ts";
import type { SqliteStores } from "./sqlite.ts";
import type { StoreAccess } from "./surfaces/cli/cli-context.ts";

/** The stores at an address of PostgreSQL, or in a SQLite file. They make no vectors. */
export async function storesAt(
  place: string,
  workspace: Workspace,
  access: "existing" | "create",
): Promise<Stores> {
  if (/^postgres(?:ql)?:/.test(place)) {
    const { postgresAddress } = await import("./stores/postgres/server-address.ts");
    return (await import("./postgres.ts")).postgresStores(postgresAddress(place));
  }
  const path = resolve(place);
  if (access === "existing" && !existsSync(path)) {
    throw new SessionError("INVALID_PARAMS", {
      message: `There is no store at ${path}.`,
      hint: "Name a project with --dir, or a store with --from.",
    });
  }
  if (path === workspace.storeFile) makeStore(workspace, process.env);
  return (await import("./sqlite.ts")).sqliteStores({ path });
}

export async function openStores(workspace: Workspace, access: StoreAccess): Promise<Stores> {
  const { config } = workspace;
  const hasMemory = hasCapability(config, "memory-store");
  const isKept = hasMemory || hasCapability(config, "session-store");
  if (!isKept || (access === "existing" && !hasStore(workspace))) {
    return (await import("./stores/ephemeral/ephemeral-stores.ts")).ephemeralStores();
  }
  const embedder = hasMemory ? await usableEmbedder(config) : undefined;
  const isHnsw = config.get("memory.store") === "hnsw" && embedder !== null;
  const cacheMegabytes = config.get("memory.cache_mb");
  const stores = await openEngine(workspace, access, {
    ...(embedder && !isHnsw ? { embedder } : {}),
    ...(cacheMegabytes === undefined ? {} : { cacheBytes: cacheMegabytes * 1_000_000 }),
  });
  const embeds = embedder && !isHnsw;
  // A server makes missing vectors in the background. What fails is tried again later.
  if (embeds && access === "serve") stores.memory.finishEmbedding().catch(() => {});
  const memory = isHnsw ? await hnswMemory(workspace, stores.memory, embedder) : stores.memory;
  const minScore = config.get("memory.min_score");
  const floored = (found: MemoryStore) =>
    minScore === undefined ? found : flooredMemory(found, minScore);
  const memories = new Set([stores.memory]);
  return {
    ...stores,
    memory: floored(memory),
    forUser(user) {
      if (isHnsw) throw oneIndexForAll();
      const own = stores.forUser(user);
      memories.add(own.memory);
      return { ...own, memory: floored(own.memory) };
    },
    async close() {
      // A command that adds entries waits for their vectors, because its process ends here.
      if (embeds && access === "create") {
        const embedded = [...memories].map((each) => each.finishEmbedding());
        await withTimeout(Promise.all(embedded), VECTORS_TIMEOUT_MS);
      }
      await closeAll([memory, stores]);
    },
  };
}

/** The database of the settings, or the project's file. */
async function openEngine(
  workspace: Workspace,
  access: StoreAccess,
  options: { readonly embedder?: Embedder; readonly cacheBytes?: number },
): Promise<SqliteStores | PostgresStores> {
  const { storeAddress, storeFile } = workspace;
  if (storeAddress !== undefined) {
    const { postgresStores } = await import("./postgres.ts");
    const { postgresAddress } = await import("./stores/postgres/server-address.ts");
    return postgresStores({ ...postgresAddress(storeAddress), ...options });
  }
  makeStore(workspace, process.env);
  const { sqliteStores } = await import("./sqlite.ts");
  const thread = access === "serve" ? "worker" : "main";
  return sqliteStores({ path: storeFile, thread, ...options });
}

/** The store that the project uses. Who names it as the other one means the project's file. */
export function storeBesides(other: string, { storeAddress, storeFile }: Workspace): string {
  return storeAddress === undefined || storeAddress === other ? storeFile : storeAddress;
}

/** What a store is called in a sentence. */
export function storeName({ storeAddress, dataFolder }: Workspace): string {
  return storeAddress === undefined
    ? shortPath(dataFolder, process.env)
    : shownAddress(storeAddress);
}

function oneIndexForAll(): SessionError {
  return new SessionError("SESSION_USERS_DISABLED", {
    detail: "The memory store `hnsw` has one index for all.",
    hint: 'Set store = "sqlite" under [memory].',
  });
}

/** After this time the next command, or a server, makes the missing vectors. */
const VECTORS_TIMEOUT_MS = 15_000;

async function withTimeout(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, timeoutMs);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
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
  const { openEmbedder } = await import("./embedders/open-embedder.ts");
  return await openEmbedder({ ...settings, ...options });
}

/** @throws SessionError `SESSION_STORE_ERROR` when the package of the HNSW store is not installed. */
export async function requireUsearch(): Promise<void> {
  const { loadUsearch } = await import("./stores/hnsw/load-usearch.ts");
  await loadUsearch();
}

async function hnswMemory(
  { config, folder }: Workspace,
  entries: MemoryStore,
  embedder: Embedder | undefined,
): Promise<MemoryStore> {
  await requireUsearch();
  const { HnswMemoryStore } = await import("./hnsw.ts");
  const indexFolder = resolve(folder, config.get("search.index_dir"));
  const isBelow = !relative(folder, indexFolder).startsWith("..");
  const key = ownKey(process.env);
  return new HnswMemoryStore({
    entries,
    // Without your key, rkat cannot tell whose index it is, so it keeps none.
    ...(key ? { key, file: join(indexFolder, "memory.hnsw") } : {}),
    root: isBelow ? folder : indexFolder,
    ...(embedder ? { embedder } : {}),
  });
}

/** Closes one after the other: each may use those after it. */
export async function closeAll(things: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const thing of things) await thing.close();
}

/** The same memory; results of queries that name no floor score at least `minScore`. */
function flooredMemory(memory: MemoryStore, minScore: number): MemoryStore {
  return {
    add: (entries, log) => memory.add(entries, log),
    search: (query) => memory.search({ minScore, ...query }),
    read: (ids) => memory.read(ids),
    list: (page) => memory.list(page),
    stats: (of) => memory.stats(of),
    delete: (which) => memory.delete(which),
    verify: (watch) => memory.verify(watch),
    reindex: (watch) => memory.reindex(watch),
    close: () => memory.close(),
  };
}

/** The same service or stores, for the user that the command names. */
export function actingFor<Acting extends { forUser(user: string): Acting }>(
  { user }: Workspace,
  acting: Acting,
): Acting {
  return user === undefined ? acting : acting.forUser(user);
}
