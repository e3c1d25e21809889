import { parseArgs } from "node:util";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { say } from "./say.ts";

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
    say([...ids, shared].join("\n"));
    if (batch % 7 === 6) {
      const gone = ids.slice(0, 3);
      say(gone.map((id) => `?${id}`).join("\n"));
      await store.delete({ ids: gone });
      say(gone.map((id) => `-${id}`).join("\n"));
    }
    if (batch % 23 === 22) await store.reindex();
  }
}

async function search(): Promise<void> {
  say("searching");
  for (let round = 0; ; round += 1) {
    const query = `word${round % 50} note`;
    const hits = await store.search({ query, limit: 20, minScore: 0, neighbours: round % 2 });
    const ids = hits.map(({ id }) => id);
    if (new Set(ids).size < ids.length) say(`!${query} finds an entry twice`);
    for (const { id, content } of hits) {
      if (!content.includes(id.replaceAll("-", "x"))) say(`!${id} has another's text`);
    }
  }
}
