import { openMemory } from "../../memory/open-memory.ts";
import { LIMIT, type OpenAdapter, type OpenPeer } from "../peer.ts";

/** The default store, by words alone. */
export const rkat: OpenAdapter = async (folder) => {
  const { search, ...store } = openStore(folder, false);
  return { ...store, words: search };
};

/** The default store with an embedder. */
export const rkatVectors: OpenAdapter = async (folder) => {
  const { search, ...store } = openStore(folder, true);
  return { ...store, hybrid: search };
};

function openStore(folder: string, vectors: boolean) {
  const memory = openMemory(folder, vectors);
  return {
    add: async (entries: Parameters<OpenPeer["add"]>[0]) => void (await memory.add(entries)),
    /** All that works in the background is done. */
    async build() {
      await memory.finishEmbedding?.();
      await memory.finishMerging?.();
    },
    search: async (query: string) => (await memory.search({ query, limit: LIMIT })).length,
    close: () => memory.close(),
  };
}
