import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { contentWords } from "../../data/vocabulary.ts";
import { LIMIT, load, type OpenAdapter } from "../peer.ts";

interface Index {
  addAll(documents: readonly object[]): void;
  search(query: string): readonly object[];
  toJSON(): object;
}

interface Module {
  readonly default: (new (
    options: object,
  ) => Index) & {
    loadJSON(json: string, options: object): Index;
  };
}

const OPTIONS = {
  fields: ["content"],
  storeFields: ["content", "sessionId", "turn", "speaker", "time"],
};

/** A full text index in memory, written as JSON when it is closed. */
export const minisearch: OpenAdapter = async (folder) => {
  const { default: MiniSearch } = await load<Module>("minisearch");
  const file = join(folder, "minisearch.json");
  const index = existsSync(file)
    ? MiniSearch.loadJSON(readFileSync(file, "utf8"), OPTIONS)
    : new MiniSearch(OPTIONS);
  let changed = false;
  return {
    async add(entries) {
      index.addAll(entries);
      changed = true;
    },
    words: async (question) =>
      index.search(contentWords(question).join(" ")).slice(0, LIMIT).length,
    async close() {
      if (changed) writeFileSync(file, JSON.stringify(index));
    },
  };
};
