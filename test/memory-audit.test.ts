import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { openMemoryOperations } from "../src/session/memory-operations.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, NEEDS_POSTGRES, postgresAccess } from "./support/postgres.ts";

async function openAt(engine: string): Promise<Stores> {
  const stores =
    engine === "SQLite"
      ? sqliteStores({ path: join(await temporaryFolder(), "rkat.db") })
      : postgresStores({ ...(await postgresAccess()), namespace: crypto.randomUUID() });
  onTestFinished(() => stores.close());
  return stores;
}

async function said(stores: Stores) {
  const service = createSessionService({ model: scriptedModel([]), stores });
  const sessions: string[] = [];
  for (const name of ["Ada", "Bob"]) {
    const { sessionId } = await service.createSession({});
    for (let turn = 0; turn < 3; turn += 1) {
      await service.startTurn({ sessionId, prompt: `${name} asks for otter ${turn}.` });
    }
    sessions.push(sessionId);
  }
  await service.close();
  return sessions;
}

const listed = async ({ memory }: Stores) =>
  (await memory.list({ limit: 1000 })).map(({ id, content, turn }) => ({ id, content, turn }));

const byId = (one: { readonly id: string }, other: { readonly id: string }) =>
  one.id < other.id ? -1 : 1;

describe.each(["SQLite", "PostgreSQL"])("on %s", (engine) => {
  test.skipIf(engine === "PostgreSQL" && !hasPostgres)(
    "`memory verify` names what the log has and memory lacks, and `memory reindex` brings it back",
    NEEDS_POSTGRES,
    async () => {
      const stores = await openAt(engine);
      const [ada = "", bob = ""] = await said(stores);
      const before = await listed(stores);
      const operations = openMemoryOperations({ stores });
      expect((await operations.verify()).problems).toEqual([]);
      const [first, , third] = before.filter(({ id }) => id.startsWith(ada));
      // Lost, changed, and of a message that the log does not have.
      await stores.memory.delete({ ids: [first?.id ?? ""] });
      await stores.memory.delete({ sessionId: bob });
      await stores.memory.delete({ ids: [third?.id ?? ""] });
      const wrong = { sessionId: ada, turn: 0, kind: "message", role: "user" } as const;
      await stores.memory.add([
        { ...wrong, id: third?.id ?? "", content: "Ada never said that." },
        { ...wrong, id: `${ada}:999`, content: "Nobody said that." },
        // By hand, and from another store.
        { ...wrong, id: "elsewhere:1", sessionId: "elsewhere", content: "Kept." },
      ]);
      const { problems } = await operations.verify();
      const ofBob = before.filter(({ id }) => id.startsWith(bob));
      expect(problems).toHaveLength(3 + ofBob.length);
      expect(problems).toContain(
        `Memory lacks message ${first?.id.split(":")[1]} of session ${ada}.`,
      );
      expect(problems).toContain(
        `The memory of message ${third?.id.split(":")[1]} of session ${ada} is not what its log says.`,
      );
      expect(problems).toContain(`Memory has message 999 of session ${ada}, and the log does not.`);
      expect((await operations.reindex()).mended).toHaveLength(problems.length);
      expect((await operations.verify()).problems).toEqual([]);
      const after = (await listed(stores)).filter(({ id }) => id !== "elsewhere:1");
      expect([...after].sort(byId)).toEqual([...before].sort(byId));
      expect(await listed(stores)).toHaveLength(before.length + 1);
    },
  );
});

test("what was forgotten, or is behind, is no problem; the rest of a deleted session is", async () => {
  const stores = await openAt("SQLite");
  const [ada = "", bob = ""] = await said(stores);
  const service = createSessionService({ model: scriptedModel([]), stores });
  const [hit] = await service.searchMemory({ query: "Ada asks for otter 1." });
  await service.forgetMemory({ ids: [hit?.id ?? ""] });
  const left = await stores.memory.list({ limit: 2, sessionId: bob });
  await service.delete({ sessionId: bob });
  await service.close();
  const operations = openMemoryOperations({ stores });
  expect((await operations.verify()).problems).toEqual([]);
  await stores.memory.add(left);
  expect((await operations.verify()).problems).toHaveLength(2);
  await operations.reindex();
  expect(new Set((await stores.memory.list({ limit: 100 })).map((one) => one.sessionId))).toEqual(
    new Set([ada]),
  );
});

test.each([
  ["time", { time: "1973-07-23T00:43:00.504Z" }],
  ["turn", { turn: 9 }],
])("another %s than the log's is a problem, and is mended", async (_, change) => {
  const stores = await openAt("SQLite");
  await said(stores);
  const [entry] = await stores.memory.list({ limit: 1, kind: "message" });
  if (!entry) throw new Error("Nothing was said.");
  await stores.memory.delete({ ids: [entry.id] });
  await stores.memory.add([{ ...entry, ...change }]);
  const operations = openMemoryOperations({ stores });
  expect((await operations.verify()).problems).toEqual([
    expect.stringMatching(/ is not what its log says\.$/),
  ]);
  await operations.reindex();
  expect((await operations.verify()).problems).toEqual([]);
  expect(await stores.memory.read([entry.id])).toEqual([entry]);
});
