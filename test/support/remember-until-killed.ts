import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";

/**
 * A program that adds to one memory, together with others, or searches it, for as long as it
 * lives. A line that a writer prints names an entry that is stored, or, with a minus, one that
 * is deleted. A searcher prints what it finds that cannot be.
 */
const { values } = parseArgs({
  options: {
    path: { type: "string" },
    role: { type: "string" },
    name: { type: "string" },
    thread: { type: "string" },
  },
});
const { path = "", role, name = "", thread } = values;
const store = new SqliteMemoryStore(
  openDatabase({ path, thread: thread === "worker" ? "worker" : "main", busyTimeoutMs: 60_000 }),
);

if (role === "writer") await write();
else await search();

async function write(): Promise<void> {
  for (let batch = 0; ; batch += 1) {
    // Some add one message, some a whole conversation; two writers may add the same.
    const size = batch % 5 === 0 ? 300 : 1 + (batch % 30);
    const ids = Array.from({ length: size }, (_, index) => `${name}-${batch}-${index}`);
    const shared = `shared-${batch}`;
    await store.add(
      [...ids, shared].map((id, index) => ({
        id,
        content: `the note ${id.replaceAll("-", "x")} says word${index % 50} of batch${batch}`,
        sessionId: `session-${name}-${batch % 4}`,
        turn: index,
        kind: "message" as const,
        role: index % 2 === 0 ? "user" : "assistant",
      })),
    );
    writeSync(1, `${[...ids, shared].join("\n")}\n`);
    if (batch % 7 === 6) {
      const gone = ids.slice(0, 3);
      writeSync(1, `${gone.map((id) => `?${id}`).join("\n")}\n`);
      await store.delete({ ids: gone });
      writeSync(1, `${gone.map((id) => `-${id}`).join("\n")}\n`);
    }
    if (batch % 23 === 22) await store.reindex();
  }
}

async function search(): Promise<void> {
  writeSync(1, "searching\n");
  for (let round = 0; ; round += 1) {
    const query = `word${round % 50} note`;
    const hits = await store.search({ query, limit: 20, minScore: 0, neighbours: round % 2 });
    const ids = hits.map(({ id }) => id);
    if (new Set(ids).size < ids.length) writeSync(1, `!${query} finds an entry twice\n`);
    for (const { id, content } of hits) {
      if (!content.includes(id.replaceAll("-", "x"))) writeSync(1, `!${id} has another's text\n`);
    }
  }
}
