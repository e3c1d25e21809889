import { join } from "node:path";
import type { MemoryEntry } from "rkat";
import { clusteredEmbedder } from "../../clustered-embedder.ts";
import { contentWords } from "../../data/vocabulary.ts";
import { LIMIT, load, type OpenAdapter } from "../peer.ts";

interface Query {
  nearestTo(vector: Float32Array): Query;
  fullTextSearch(words: string): Query;
  rerank(reranker: unknown): Query;
  limit(count: number): Query;
  toArray(): Promise<readonly unknown[]>;
}

interface Table {
  add(rows: readonly object[]): Promise<unknown>;
  createIndex(column: string, options: object): Promise<void>;
  optimize(): Promise<unknown>;
  query(): Query;
  close(): void;
}

interface Database {
  tableNames(): Promise<string[]>;
  openTable(name: string): Promise<Table>;
  createTable(name: string, rows: readonly object[]): Promise<Table>;
  close(): void;
}

interface LanceDb {
  connect(folder: string): Promise<Database>;
  readonly Index: { fts(): unknown; hnswSq(options: object): unknown };
  readonly rerankers: { readonly RRFReranker: { create(): Promise<unknown> } };
}

/** Words and vectors in one columnar store. */
export const lancedb: OpenAdapter = async (folder) => {
  // With fewer than two cores left for it, it waits for itself for ever while it builds an index.
  process.env.LANCE_CPU_THREADS ??= "4";
  const { connect, Index, rerankers } = await load<LanceDb>("@lancedb/lancedb");
  const database = await connect(join(folder, "lance"));
  const { embed } = clusteredEmbedder();
  const names = await database.tableNames();
  let table = names.includes("entry") ? await database.openTable("entry") : undefined;
  const reranker = await rerankers.RRFReranker.create();
  const rowsOf = async (entries: readonly MemoryEntry[]) => {
    const vectors = await embed(entries.map(({ content }) => content));
    return entries.map(({ id, sessionId, turn, speaker, time, content }, at) => ({
      ...{ id, session: sessionId, turn, speaker, time, content },
      vector: Array.from(vectors[at] ?? []),
    }));
  };
  return {
    async add(entries) {
      const rows = await rowsOf(entries);
      if (table) await table.add(rows);
      else table = await database.createTable("entry", rows);
    },
    async build() {
      await table?.optimize();
      await table?.createIndex("content", { config: Index.fts() });
      const config = Index.hnswSq({ distanceType: "cosine" });
      await table?.createIndex("vector", { config });
    },
    async words(question) {
      const words = contentWords(question).join(" ");
      const found = await table?.query().fullTextSearch(words).limit(LIMIT).toArray();
      return found?.length ?? 0;
    },
    async hybrid(question) {
      const [vector = new Float32Array()] = await embed([question]);
      const query = table?.query().nearestTo(vector);
      const both = query?.fullTextSearch(contentWords(question).join(" ")).rerank(reranker);
      return (await both?.limit(LIMIT).toArray())?.length ?? 0;
    },
    async close() {
      table?.close();
      database.close();
    },
  };
};
