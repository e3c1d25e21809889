import { join } from "node:path";
import { Fts5Store } from "../../fts5-store.ts";
import { LIMIT, type OpenAdapter } from "../peer.ts";

/** SQLite's own full text, with Node's own SQLite: nothing to install. */
export const fts5: OpenAdapter = async (folder) => {
  const store = new Fts5Store(join(folder, "fts5.db"));
  return {
    add: async (entries) => store.add(entries),
    words: async (question) => store.search(question, LIMIT).length,
    close: async () => store.close(),
  };
};
