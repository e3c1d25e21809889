import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Embedder } from "../../src/core/embedder.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import type { Conversation } from "../data/conversation.ts";
import { type Dataset, readDatasets } from "../data/dataset.ts";

// What the studies of recall share: their sets, their stores, and their tables.

/** Ids of the results, best first. */
export type Search = (query: string) => Promise<readonly string[]>;

/** How many results a search returns. */
export const LIMIT = 10;
const BATCH = 100;

export const STUDY_OPTIONS = {
  data: { type: "string", default: "../shared/bench/data" },
  set: { type: "string", default: "locomo,realtalk,beam128k" },
} as const;

/** The named sets in the folder. Ends the process when there is no such folder. */
export function readSets({ data, set }: { readonly data: string; readonly set: string }) {
  if (!existsSync(data)) {
    console.log(`Skipped: there is no folder ${data}; name one with --data.`);
    process.exit();
  }
  const names = set.split(",");
  return readDatasets(data).filter(({ name }) => names.includes(name));
}

/** All conversations of a set as one, for a store that has the whole set. */
export function pooled({ name, conversations }: Dataset): Conversation {
  return {
    id: name,
    entries: conversations.flatMap(({ entries }) => entries),
    questions: conversations.flatMap(({ questions }) => questions),
  };
}

/** Fills a store, searches it, and removes it. */
export async function withStore(
  entries: Conversation["entries"],
  embedder: Embedder | undefined,
  use: (search: Search) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-recall-"));
  const database = openDatabase({ path: join(folder, "rkat.db") });
  const memory = new SqliteMemoryStore(database, embedder ? { embedder } : {});
  try {
    for (let start = 0; start < entries.length; start += BATCH) {
      await memory.add(entries.slice(start, start + BATCH));
    }
    await memory.finishEmbedding();
    await use(async (query) => (await memory.search({ query, limit: LIMIT })).map(({ id }) => id));
  } finally {
    await memory.close();
    rmSync(folder, { recursive: true });
  }
}

/** A line of a table. */
export function row(name: string, cells: readonly string[], width = 13): string {
  return [name.padEnd(24), ...cells.map((cell) => cell.padStart(width))].join("");
}

export function percent(share: number): string {
  return (100 * share).toFixed(1);
}
