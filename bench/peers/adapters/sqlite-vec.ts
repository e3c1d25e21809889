import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { clusteredEmbedder } from "../../clustered-embedder.ts";
import { CANDIDATES, fuse } from "../fuse.ts";
import { load, type OpenAdapter } from "../peer.ts";
import { WordsTable } from "../words-table.ts";

interface SqliteVec {
  load(db: DatabaseSync): void;
}

/** An exact scan of vectors in SQLite, and FTS5, fused. */
export const sqliteVec: OpenAdapter = async (folder) => {
  const db = new DatabaseSync(join(folder, "vec.db"), { allowExtension: true });
  (await load<SqliteVec>("sqlite-vec")).load(db);
  const words = new WordsTable(db);
  const { dimensions, embed } = clusteredEmbedder();
  db.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0(vector float[${dimensions}] distance_metric=cosine)`,
  );
  const insert = db.prepare("INSERT INTO vectors (rowid, vector) VALUES (?, ?)");
  const nearest = db.prepare("SELECT rowid AS row FROM vectors WHERE vector MATCH ? AND k = ?");
  return {
    async add(entries) {
      const vectors = await embed(entries.map(({ content }) => content));
      let next = 0;
      words.add(entries, (row) => insert.run(row, bytesOf(vectors[next++])));
    },
    async hybrid(question) {
      const [vector] = await embed([question]);
      const near = nearest.all(bytesOf(vector), CANDIDATES).map(({ row }) => Number(row));
      return words.read(fuse([near, words.search(question)]));
    },
    close: async () => db.close(),
  };
};

function bytesOf(vector: Float32Array | undefined): Uint8Array {
  return vector
    ? new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)
    : new Uint8Array();
}
