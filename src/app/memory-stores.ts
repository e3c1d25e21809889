import { join, relative, resolve } from "node:path";
import { ownKey } from "../config/trust.ts";
import type { Workspace } from "../config/workspace.ts";
import type { Embedder } from "../core/embedder.ts";
import { SessionError } from "../core/errors.ts";
import type { MemoryStore } from "../core/memory-store.ts";
import type { Stores } from "../core/stores.ts";
import type { IndexedMemory } from "../stores/indexed-memory.ts";
import { closeAll, type StoreAccess } from "./opened.ts";

/** The parts of a project that its memory is opened with. */
interface MemoryOpening {
  readonly workspace: Workspace;
  readonly access: StoreAccess;
  /** The embedder of the settings, if they name one. */
  readonly embedder: Embedder | undefined;
  /** Opens the database. With an embedder, its memory has vectors beside the words. */
  openEngine(options: { readonly embedder?: Embedder }): Promise<EngineStores>;
}

/** The stores of a database: their memory makes its vectors in the background. */
interface EngineStores extends Stores {
  readonly memory: IndexedMemory;
  forUser(user: string): EngineStores;
}

/** A value of the setting `memory.store`. */
interface MemoryKind {
  open(opening: MemoryOpening): Promise<Stores>;
  /** @throws SessionError `SESSION_STORE_ERROR` when a package that it needs is not installed. */
  requirePackages(): Promise<void>;
}

export const MEMORY_STORES: Readonly<Record<"sqlite" | "hnsw", MemoryKind>> = {
  sqlite: { open: indexedStores, requirePackages: async () => {} },
  hnsw: {
    open: hnswStores,
    async requirePackages() {
      const { loadUsearch } = await import("../stores/hnsw/hnsw-index.ts");
      await loadUsearch();
    },
  },
};

/** Memory is searched by the index in the database. */
async function indexedStores({ access, embedder, openEngine }: MemoryOpening): Promise<Stores> {
  const stores = await openEngine(embedder ? { embedder } : {});
  if (!embedder) return stores;
  // A server makes missing vectors in the background. What fails is tried again later.
  if (access === "serve") stores.memory.finishEmbedding().catch(() => {});
  const memories = new Set([stores.memory]);
  return {
    ...stores,
    forUser(user) {
      const own = stores.forUser(user);
      memories.add(own.memory);
      return own;
    },
    async close() {
      // A command that adds entries waits for their vectors, because its process ends here.
      if (access === "create") {
        const embedded = [...memories].map((each) => each.finishEmbedding());
        await withTimeout(Promise.all(embedded), VECTORS_TIMEOUT_MS);
      }
      await stores.close();
    },
  };
}

/** Memory is searched by nearest neighbours, over the entries of the database. */
async function hnswStores({ workspace, embedder, openEngine }: MemoryOpening): Promise<Stores> {
  const stores = await openEngine({});
  const memory = await hnswMemory(workspace, stores.memory, embedder);
  return {
    ...stores,
    memory,
    forUser() {
      throw new SessionError("SESSION_USERS_DISABLED", {
        detail: "The memory store `hnsw` has one index for all.",
        hint: 'Set store = "sqlite" under [memory].',
      });
    },
    close: () => closeAll([memory, stores]),
  };
}

async function hnswMemory(
  { config, storePlace: { folder } }: Workspace,
  entries: MemoryStore,
  embedder: Embedder | undefined,
): Promise<MemoryStore> {
  await MEMORY_STORES.hnsw.requirePackages();
  const { HnswMemoryStore } = await import("../stores/hnsw/hnsw-memory-store.ts");
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
