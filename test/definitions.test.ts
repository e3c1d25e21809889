import { describe, expect, test } from "vitest";
import { type MemoryEntry, type MemoryStore, SimpleMemoryStore } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";

const entry = (id: string, content: string, more: Partial<MemoryEntry> = {}): MemoryEntry => ({
  id,
  sessionId: id,
  turn: 0,
  kind: "message",
  role: "user",
  content,
  ...more,
});

const NOTES = [
  entry("upgrade", "Kubernetes was upgraded on Sunday night."),
  entry("lunch", "Lunch is at noon."),
];
const DEFINITION = entry("definition", "k8s = Kubernetes");

const STORES: readonly (readonly [string, () => MemoryStore])[] = [
  ["SQLite", () => sqliteStores({ path: ":memory:" }).memory],
  ["Simple", () => new SimpleMemoryStore()],
];

async function found(store: MemoryStore, query = "k8s maintenance", limit = 5) {
  const hits = await store.search({ query, limit, explain: true });
  return hits.map(({ id }) => id);
}

describe.each(STORES)("what a person defined finds entries in other words: %s", (_, open) => {
  test("and the score says why", async () => {
    const store = open();
    await store.add([...NOTES, DEFINITION]);
    expect(await found(store)).toEqual(["definition", "upgrade"]);
    expect(await found(store, "Kubernetes nodes")).toContain("definition");
    const hits = await store.search({ query: "k8s maintenance", limit: 5, explain: true });
    const hit = hits.find(({ id }) => id === "upgrade");
    expect(hit?.explanation?.parts).toContainEqual({
      name: "defined",
      of: "k8s = Kubernetes",
      times: 0.9,
    });
    // One that has to be sure is no guess, and a floor is one.
    expect(await store.search({ query: "k8s maintenance", limit: 5, minScore: 0.9 })).toEqual([]);
    await store.close();
  });

  test("until the definition is forgotten, and not for others", async () => {
    const store = open();
    await store.add([...NOTES, DEFINITION]);
    await store.delete({ ids: ["definition"] });
    expect(await found(store)).toEqual([]);
    await store.add([entry("file", DEFINITION.content, { speaker: "file" })]);
    expect(await found(store)).toEqual(["file"]);
    const hits = await store.search({ query: "k8s maintenance", limit: 5, sessionId: "upgrade" });
    expect(hits).toEqual([]);
    await store.close();
  });
});

test("a user learns nothing of what another one defined", async () => {
  const stores = sqliteStores({ path: ":memory:" });
  await stores.forUser("ada").memory.add(NOTES);
  await stores.forUser("ben").memory.add([DEFINITION]);
  expect(await found(stores.forUser("ada").memory)).toEqual([]);
  await stores.close();
});
