import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { MemoryStore } from "../src/core/memory-store.ts";
import { moveStores } from "../src/moving/move-stores.ts";
import { postgresStores } from "../src/postgres.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import {
  account,
  anyLife,
  EVERYTHING,
  importInto,
  live,
  SECRET,
  serviceOn,
} from "./support/lived-stores.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, postgresAccess } from "./support/postgres.ts";
import { trials } from "./support/trials.ts";

type Open = () => Promise<Stores>;

const sqlite: Open = async () => closedLater(sqliteStores({ path: await newFile() }));
const postgres: Open = async () =>
  closedLater(postgresStores({ ...(await postgresAccess()), namespace: crypto.randomUUID() }));
const KINDS: readonly (readonly [string, Open])[] = [
  ["ephemeral", async () => ephemeralStores()],
  ["sqlite", sqlite],
  ...(hasPostgres ? [["postgres", postgres] as const] : []),
];

async function newFile(): Promise<string> {
  return join(await temporaryFolder(), "rkat.db");
}

function closedLater(stores: Stores): Stores {
  onTestFinished(() => stores.close());
  return stores;
}

describe.each(KINDS)("moving to and from %s stores", (_, open) => {
  test("everything arrives, and comes back the same", async () => {
    const from = await sqlite();
    await live(from, EVERYTHING);
    await importInto(from);
    const before = await account(from);
    const there = await open();
    const report = await moveStores(from, there);
    expect(report).toMatchObject({ users: 1, sessions: 3, deleted: 1, imported: 3 });
    expect(await account(there)).toEqual(before);
    const back = await sqlite();
    await moveStores(there, back);
    expect(await account(back)).toEqual(before);
  });

  test("any life arrives whole, however often the move is stopped", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyLife,
        fc.array(fc.nat({ max: 40 }), { maxLength: 4 }),
        async (life, stops) => {
          const from = await sqlite();
          await live(from, life);
          const before = await account(from);
          const there = await open();
          for (const stop of stops)
            await moveStores(from, stoppingAfter(stop, there)).catch(() => {});
          await moveStores(from, there);
          expect(await account(there)).toEqual(before);
        },
      ),
      { numRuns: trials(1, 100) },
    );
  });

  test("moving again brings what was said, forgotten and deleted since", async () => {
    const from = await sqlite();
    const there = await open();
    const service = serviceOn(from);
    const first = await service.createSession({});
    const second = await service.createSession({});
    await service.startTurn({ ...first, prompt: SECRET });
    await service.startTurn({ ...second, prompt: "Lunch is at noon." });
    await moveStores(from, there);
    const [hit] = await service.searchMemory({ query: "vault" });
    await service.forgetMemory({ ids: [hit?.id ?? ""] });
    await service.startTurn({ ...first, prompt: "I always prefer tea." });
    await service.delete(second);
    await service.close();
    await moveStores(from, there);
    const moved = await account(there);
    expect(JSON.stringify(moved)).not.toContain("tangerine");
    expect(moved).toEqual(await account(from));
  });

  test("a session that was continued in both stores is not moved, and the store says which", async () => {
    const from = await sqlite();
    const there = await open();
    const service = serviceOn(from);
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: "one" });
    await moveStores(from, there);
    for (const stores of [from, there]) {
      const own = serviceOn(stores);
      await own.startTurn({ sessionId, prompt: "two" });
      await own.close();
    }
    await service.close();
    await expect(moveStores(from, there)).rejects.toMatchObject({
      code: "SESSION_CONFLICT",
      message: `The session "${sessionId}" has other events in the other store: it was continued in both.`,
    });
  });

  test("several stores become one", async () => {
    const there = await open();
    const stores = [await sqlite(), await sqlite()];
    for (const [index, from] of stores.entries()) {
      const service = serviceOn(from);
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: `I always prefer option ${index}.` });
      await service.startTurn({ sessionId, prompt: "I always prefer tabs." });
      const [hit] = await service.searchMemory({ query: "option" });
      if (index === 0) await service.forgetMemory({ ids: [hit?.id ?? ""] });
      await service.close();
      await moveStores(from, there);
    }
    const service = serviceOn(there);
    const learned = await service.listKnowledge({ kind: "preference" });
    expect(learned.map(({ content }) => content).sort()).toEqual([
      "I always prefer option 1.",
      "I always prefer tabs.",
    ]);
    expect(await service.list({})).toHaveLength(2);
    await service.close();
    expect(await there.forgotten?.has("s", ["I always prefer option 0."])).toEqual([true]);
    expect(await there.forgotten?.has("s", ["I always prefer option 1."])).toEqual([false]);
  });

  test("the source can be written to meanwhile", async () => {
    const from = await sqlite();
    const there = await open();
    const service = serviceOn(from);
    const { sessionId } = await service.createSession({});
    let isDone = false;
    const writing = (async () => {
      for (let turn = 0; !isDone && turn < 50; turn += 1) {
        await service.startTurn({ sessionId, prompt: `I always prefer ${turn} cups.` });
      }
    })();
    await moveStores(from, there);
    isDone = true;
    await writing;
    await service.close();
    await moveStores(from, there);
    expect(await account(there)).toEqual(await account(from));
  });
});

/** Stores that fail after so many changes, as if the process had been killed. */
function stoppingAfter(changes: number, stores: Stores): Stores {
  let left = changes;
  const failing = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(_, name) {
        const value = Reflect.get(store, name);
        if (typeof value !== "function") return failing(value as object);
        return (...args: unknown[]) => {
          if (CHANGING.has(String(name)) && left-- <= 0)
            return Promise.reject(new Error("stopped"));
          const given = value.apply(store, args);
          return name === "forUser" ? failing(given) : given;
        };
      },
    });
  return failing(stores);
}

const CHANGING = new Set(
  "append redact saveCheckpoint save add delete remove replace answer restore commit".split(" "),
);

test("memory arrives whole, also when entries are deleted between two pages", async () => {
  const [from, to] = [sqliteStores({ path: ":memory:" }), sqliteStores({ path: ":memory:" })];
  onTestFinished(async () => {
    await from.close();
    await to.close();
  });
  const ids = Array.from({ length: 450 }, (_, at) => `${at}`);
  const entry = (id: string) =>
    ({
      id,
      content: `Berth ${id} is free.`,
      sessionId: "added",
      turn: null,
      kind: "message",
    }) as const;
  await from.memory.add(ids.map(entry));
  // As if an earlier move had come so far, this one finds nothing new on its first page.
  await to.memory.add(ids.slice(0, 200).map(entry));
  let isDeleted = false;
  const list: MemoryStore["list"] = async (page) => {
    const found = await from.memory.list(page);
    if (!isDeleted) await from.memory.delete({ ids: found.slice(-1).map(({ id }) => id) });
    isDeleted = true;
    return found;
  };
  const memory = new Proxy(from.memory, {
    get: (store, name) => (name === "list" ? list : Reflect.get(store, name).bind(store)),
  });
  await moveStores({ ...from, memory }, to);
  const there = new Set((await to.memory.list({ limit: 1000 })).map(({ id }) => id));
  for (const { id } of await from.memory.list({ limit: 1000 })) expect(there).toContain(id);
});
