import { join } from "node:path";
import type { MemoryStore } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { clusteredEmbedder } from "../clustered-embedder.ts";

/** A store that also says when its background work is done. */
interface Settling extends MemoryStore {
  finishMerging?(): Promise<unknown>;
  finishEmbedding?(): Promise<unknown>;
}

/** Opens the measured store. With vectors, it has an embedder. */
export function openMemory(folder: string, vectors: boolean): Settling {
  return sqliteStores({
    path: storePath(folder),
    thread: "main",
    ...(vectors ? { embedder: clusteredEmbedder() } : {}),
  }).memory;
}

/** Where the `rkat` command finds the store. */
export function storePath(folder: string): string {
  return join(folder, ".rkat", "rkat.db");
}

export function fts5Path(folder: string): string {
  return join(folder, "fts5", "fts5.db");
}
