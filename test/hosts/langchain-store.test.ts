import { join } from "node:path";
import { tool } from "@langchain/core/tools";
import {
  type BaseStore,
  InMemoryStore,
  MessagesAnnotation,
  StateGraph,
} from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import fc from "fast-check";
import { createAgent, HumanMessage, type ToolRuntime } from "langchain";
import { rkatStore } from "rkat/langchain";
import { sqliteStores } from "rkat/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startLocalProvider } from "../../examples/hosts/local-provider.ts";
import { testFolder } from "./test-folder.ts";

function openStore() {
  const stores = sqliteStores({ path: ":memory:" });
  const store = rkatStore({ stores });
  onTestFinished(async () => {
    await store.close();
    await stores.close();
  });
  return store;
}

const namespace = fc.constantFrom<string[][]>(
  ["a"],
  ["a", "b"],
  ["a", "b", "c"],
  ["b"],
  ["b", "a"],
);
const key = fc.constantFrom("one", "two", "three");
const value = fc.record(
  {
    size: fc.integer({ min: 0, max: 3 }),
    color: fc.constantFrom("red", "blue"),
    more: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: [] },
);
const comparison = fc.dictionary(
  fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte"),
  fc.integer({ min: 0, max: 3 }),
  { minKeys: 1, maxKeys: 2 },
);
const filter = fc.record(
  { size: fc.oneof(fc.integer({ min: 0, max: 3 }), comparison), color: fc.constantFrom("red") },
  { requiredKeys: [] },
);
const page = { limit: fc.integer({ min: 1, max: 4 }), offset: fc.integer({ min: 0, max: 2 }) };
const wildcard = fc.constantFrom<string[][]>(["a"], ["*"], ["a", "*"], ["*", "b"]);

/** An operation, and what a store makes of it. */
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("put" as const), namespace, key, value }) },
  fc.record({ do: fc.constant("delete" as const), namespace, key }),
  fc.record({ do: fc.constant("get" as const), namespace, key }),
  fc.record({ do: fc.constant("search" as const), namespace, filter, ...page }),
  fc.record({
    do: fc.constant("list" as const),
    prefix: wildcard,
    suffix: fc.option(wildcard),
    depth: fc.integer({ min: 1, max: 3 }),
  }),
);

type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

type Listing = Extract<Operation, { do: "list" }>;

/** The listed namespaces. LangGraph's own store also lists those whose items were all deleted. */
async function listed(store: BaseStore, { prefix, suffix, depth }: Listing) {
  const conditions = { prefix, ...(suffix ? { suffix } : {}) };
  const withItems: string[] = [];
  for (const each of await store.listNamespaces(conditions)) {
    const items = await store.search(each, { limit: 100 });
    if (items.some(({ namespace }) => namespace.length === each.length)) {
      withItems.push(each.slice(0, depth).join());
    }
  }
  const found = await store.listNamespaces({ ...conditions, maxDepth: depth });
  return found.filter((each) => withItems.includes(each.join()));
}

async function done(store: BaseStore, each: Operation): Promise<unknown> {
  switch (each.do) {
    case "put":
      return await store.put(each.namespace, each.key, each.value);
    case "delete":
      return await store.delete(each.namespace, each.key);
    case "get": {
      const item = await store.get(each.namespace, each.key);
      return item && [item.namespace, item.key, item.value];
    }
    case "search": {
      const all = await store.search(each.namespace, { filter: each.filter, limit: 100 });
      const items = all.sort((one, other) =>
        one.namespace.join() < other.namespace.join() ? -1 : 1,
      );
      return items
        .slice(each.offset, each.offset + each.limit)
        .map((item) => [item.namespace, item.key, item.value, item.score]);
    }
    case "list":
      return await listed(store, each);
  }
}

test("it answers as LangGraph's own store does, whatever is done", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
      const stores = sqliteStores({ path: ":memory:" });
      const ours: BaseStore = rkatStore({ stores });
      const theirs = new InMemoryStore();
      for (const each of operations) {
        const json = <T>(found: T) => JSON.parse(JSON.stringify(found ?? null));
        expect(json(await done(ours, each))).toEqual(json(await done(theirs, each)));
      }
      await ours.stop();
      await stores.close();
    }),
    { numRuns: 40 },
  );
});

test("an item comes back as it was given, in another process too", async () => {
  const path = join(testFolder(), "rkat.db");
  const given = {
    text: "a\u0000b \ud83d\ude00",
    deep: [{ n: -1.5, none: null, list: [[]] }],
    "": "",
  };
  const stores = sqliteStores({ path });
  const first = rkatStore({ stores });
  await first.put(["users", "ada"], "it", given);
  await first.close();
  await stores.close();

  const again = sqliteStores({ path });
  const second = rkatStore({ stores: again });
  const item = await second.get(["users", "ada"], "it");
  expect(item?.value).toEqual(given);
  expect(item?.createdAt).toEqual(item?.updatedAt);
  await second.put(["users", "ada"], "it", { text: "new" });
  const changed = await second.get(["users", "ada"], "it");
  expect(changed?.createdAt).toEqual(item?.createdAt);
  await second.close();
  await again.close();
});

test("a query finds what the items say now, and nothing else", async () => {
  const store = openStore();
  const ada = ["users", "ada"];
  await store.put(ada, "drink", { text: "She drinks green tea.", kind: "taste" });
  await store.put(ada, "town", { text: "She lives in Bergen.", kind: "place" });
  await store.put(ada, "hidden", { text: "Green tea in secret." }, false);
  await store.put(["users", "bo"], "drink", { text: "He drinks green tea.", kind: "taste" });
  const query = "green tea";
  const [best, ...others] = await store.search(ada, { query });
  expect(best?.key).toBe("drink");
  expect(best?.score).toBeGreaterThan(0.2);
  expect(best?.score).toBeLessThanOrEqual(1);
  expect(others).toEqual([]);
  expect(await store.search(["users"], { query })).toHaveLength(2);
  expect(await store.search(["users"], { query, filter: { kind: { $ne: "taste" } } })).toEqual([]);

  for (const year of Array(30).keys())
    await store.put(ada, "drink", { text: `Green tea, ${year}.` });
  const found = await store.search(["users"], { query, limit: 5 });
  expect(found.map(({ value }) => value.text)).toContain("Green tea, 29.");
  expect(found).toHaveLength(2);
  await store.delete(ada, "drink");
  expect(await store.search(ada, { query })).toEqual([]);
});

test("a credential in an item stays in the item, and the item is found", async () => {
  const store = openStore();
  const text = "The key of the lighthouse is ghp_0123456789abcdefghijABCDEFGHIJ012345.";
  await store.put(["keys"], "one", { text });
  const [found] = await store.search(["keys"], { query: "key of the lighthouse" });
  expect(found?.value).toEqual({ text });
});

test("two stores over one file write one after the other", async () => {
  const path = join(testFolder(), "rkat.db");
  const opened = [0, 1].map(() => {
    const stores = sqliteStores({ path });
    return { stores, store: rkatStore({ stores }) };
  });
  const puts = opened.flatMap(({ store }, owner) =>
    [...Array(10).keys()].map((index) => store.put(["n"], `${owner}-${index}`, { index })),
  );
  await Promise.all(puts);
  for (const { store, stores } of opened) {
    expect(await store.search(["n"], { limit: 100 })).toHaveLength(20);
    await store.close();
    await stores.close();
  }
});

test("bad input is named", async () => {
  const store = openStore();
  await expect(store.put([], "k", {})).rejects.toThrow("The namespace [] is empty.");
  await expect(store.put(["a.b"], "k", {})).rejects.toThrow(
    'The namespace ["a.b"] has a label with',
  );
  await expect(store.put(["a"], "k", "text" as never)).rejects.toThrow(
    'The value of "k" is not an object.',
  );
  await expect(store.put(["a"], "k", { big: 1n })).rejects.toThrow("cannot be stored as JSON");
  await expect(store.search(["a"], { filter: { n: { $near: 1 } } })).rejects.toThrow(
    'The filter of search() has the operator "$near" for "n", which does not exist.',
  );
  expect(() => rkatStore({} as never)).toThrow("rkatStore has no stores with a memory.");
});

test("tools of an agent and nodes of a graph reach it", async () => {
  const store = openStore();
  const server = await startLocalProvider({
    call: (step) =>
      step === 0 ? { name: "note", args: { text: "The tide turns at noon." } } : undefined,
  });
  onTestFinished(() => server.close());
  const note = tool(
    async ({ text }, runtime: ToolRuntime) => {
      const own = runtime.store as unknown as BaseStore;
      await own.put(["notes"], "tide", { text });
      return "Noted.";
    },
    { name: "note", description: "Notes a text.", schema: z.object({ text: z.string() }) },
  );
  const configuration = { baseURL: server.urls.openai };
  const model = new ChatOpenAI({ model: "gpt", apiKey: "local", maxRetries: 0, configuration });
  const agent = createAgent({ model, tools: [note], store });
  await agent.invoke({ messages: [new HumanMessage("Note it.")] });

  const graph = new StateGraph(MessagesAnnotation)
    .addNode("recall", async (_, config) => {
      const [found] =
        (await config.store?.search(["notes"], { query: "When does the tide turn?" })) ?? [];
      return { messages: [new HumanMessage(String(found?.value.text))] };
    })
    .addEdge("__start__", "recall")
    .compile({ store });
  const { messages } = await graph.invoke({ messages: [] });
  expect(messages.at(-1)?.text).toBe("The tide turns at noon.");
});
