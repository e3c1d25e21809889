import type { MemoryStore } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { clusteredEmbedder } from "../clustered-embedder.ts";
import { storePath } from "./places.ts";

/** A store that also says when its work in the background is done. */
interface Settling extends MemoryStore {
  finishMerging?(): Promise<unknown>;
  finishEmbedding?(): Promise<unknown>;
}

/** The store that is measured; with vectors it has an embedder. */
export function openMemory(folder: string, vectors: boolean): Settling {
  return sqliteStores({
    path: storePath(folder),
    thread: "main",
    ...(vectors ? { embedder: clusteredEmbedder() } : {}),
  }).memory;
}
