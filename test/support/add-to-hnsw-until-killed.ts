import { randomUUID } from "node:crypto";
import type { MemoryEntry } from "../../src/core/memory-store.ts";
import { HnswMemoryStore } from "../../src/hnsw.ts";
import { sqliteStores } from "../../src/sqlite.ts";

/**
 * Adds batch after batch to the store in argv, writing the index after each, and
 * says the last entry of each when all of it is done; ends when it is killed.
 */
const [path = "", file = ""] = process.argv.slice(2);

for (;;) {
  const store = new HnswMemoryStore({ entries: sqliteStores({ path }).memory, file });
  const entries = [1, 2, 3, 4].map((): MemoryEntry => {
    const content = randomUUID().replaceAll("-", " ");
    return { id: content, content, sessionId: "s", turn: null, kind: "message" };
  });
  await store.add(entries);
  await store.close();
  process.stdout.write(`${entries.at(-1)?.id}\n`);
}
