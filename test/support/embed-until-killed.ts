import { parseArgs } from "node:util";
import { VectorQueue } from "../../src/indexing/vectors/embedded-memory.ts";
import { vectorWork } from "../../src/stores/indexed-memory.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemory } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { ConceptEmbedder } from "./concept-embedder.ts";
import { say } from "./say.ts";

/** A program that embeds what a store lacks, a few passages at a time. It prints each text that it was asked for. */
const { values } = parseArgs({ options: { path: { type: "string" } } });
const embedder = new ConceptEmbedder({
  spoil: (vectors, texts) => {
    for (const text of texts) say(text);
    return vectors;
  },
});
const database = openDatabase({ path: values.path ?? "" });
const queue = new VectorQueue(vectorWork(new SqliteMemory(database), embedder.id), {
  embedder,
  batchSize: 4,
  retryMs: 2,
});
await queue.done();
await queue.close();
await database.close();
