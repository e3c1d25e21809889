import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { clusteredEmbedder } from "../../clustered-embedder.ts";
import { CANDIDATES, fuse } from "../fuse.ts";
import { load, type OpenAdapter } from "../peer.ts";
import { WordsTable } from "../words-table.ts";

interface Usearch {
  readonly MetricKind: { readonly Cos: string };
  readonly ScalarKind: { readonly F16: string };
  readonly Index: new (
    options: object,
  ) => {
    add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
    search(vector: Float32Array, count: number, threads: number): { readonly keys: BigUint64Array };
    save(path: string): void;
    load(path: string): void;
  };
}

/** An HNSW index of vectors beside FTS5, fused; it is on disk when it is saved as a whole. */
export const usearch: OpenAdapter = async (folder) => {
  const { Index, MetricKind, ScalarKind } = await load<Usearch>("usearch");
  const { dimensions, embed } = clusteredEmbedder();
  const index = new Index({ dimensions, metric: MetricKind.Cos, quantization: ScalarKind.F16 });
  const file = join(folder, "vectors.usearch");
  if (existsSync(file)) index.load(file);
  const db = new DatabaseSync(join(folder, "words.db"));
  const words = new WordsTable(db);
  let changed = false;
  return {
    async add(entries) {
      const vectors = await embed(entries.map(({ content }) => content));
      const rows: bigint[] = [];
      words.add(entries, (row) => void rows.push(row));
      const all = new Float32Array(rows.length * dimensions);
      for (const [at, vector] of vectors.entries()) all.set(vector, at * dimensions);
      index.add(BigUint64Array.from(rows), all, 1);
      changed = true;
    },
    async hybrid(question) {
      const [vector = new Float32Array(dimensions)] = await embed([question]);
      const near = [...index.search(vector, CANDIDATES, 1).keys].map(Number);
      return words.read(fuse([near, words.search(question)]));
    },
    async close() {
      if (changed) index.save(file);
      db.close();
    },
  };
};
