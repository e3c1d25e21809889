import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { importTranscripts } from "../src/app/import-transcripts.ts";
import { createSessionService, defineTool, type SessionService } from "../src/index.ts";
import { moveStores } from "../src/moving/move-stores.ts";
import { postgresStores } from "../src/postgres.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { ephemeralStores } from "../src/stores/ephemeral/ephemeral-stores.ts";
import { scriptedModel } from "../src/testing.ts";
import { ClaudeLines } from "./support/claude-lines.ts";
import { temporaryFolder } from "./support/obey.ts";
import { hasPostgres, postgresAccess } from "./support/postgres.ts";
import { trials } from "./support/trials.ts";

const LONG_TEXT = "The quick brown fox considers the merits of jumping. ".repeat(60);
const SECRET = "The vault opens with tangerine-9417, says Ottilie.";

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

const shell = defineTool({
  name: "shell",
  description: "Runs a command.",
  input: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command}: 42 files are in the folder named alpha`,
});

function serviceOn(stores: Stores): SessionService {
  return createSessionService({
    model: scriptedModel(({ messages }) => {
      const said = JSON.stringify(messages.at(-1));
      if (said.includes("tool_results")) return "done";
      if (said.includes("run it")) {
        return { toolCalls: [{ id: crypto.randomUUID(), name: "shell", args: { command: "ls" } }] };
      }
      return said.includes("be long") ? LONG_TEXT : "Noted.";
    }),
    stores,
    tools: [shell],
    approvals: { policies: { shell: "ask" }, timeoutMs: 1 },
    compaction: { autoCompactThreshold: 1500, minTurnsBetweenCompactions: 1, maxSummaryTokens: 64 },
  });
}

/** One thing that a user does. */
const STEPS = {
  async talk(service: SessionService, sessionId: string, number: number) {
    await service.startTurn({ sessionId, prompt: `Remember that box ${number} has a lantern.` });
  },
  async compact(service: SessionService, sessionId: string) {
    for (const prompt of ["be long", "be long again", "be long at last"]) {
      await service.startTurn({ sessionId, prompt });
    }
  },
  async wait(service: SessionService, sessionId: string) {
    await service.startTurn({ sessionId, prompt: "run it" });
  },
  async prefer(service: SessionService, sessionId: string, number: number) {
    await service.startTurn({ sessionId, prompt: `I always prefer ${number} spaces in my code.` });
  },
  async forget(service: SessionService, sessionId: string) {
    await service.startTurn({ sessionId, prompt: SECRET });
    const found = await service.searchMemory({ query: "tangerine-9417" });
    if (found.length > 0) await service.forgetMemory({ ids: found.map(({ id }) => id) });
  },
  async remember(service: SessionService, _: string, number: number) {
    await service.addMemory({ content: `Door ${number} is green.` });
  },
  async teach(service: SessionService, _: string, number: number) {
    const { id } = await service.addKnowledge({ kind: "fact", content: `Port ${number} is free.` });
    if (number % 3 === 0) await service.forgetKnowledge({ knowledgeId: id });
  },
  async archive(service: SessionService, sessionId: string) {
    await service.archive({ sessionId });
  },
  async delete(service: SessionService, sessionId: string) {
    await service.delete({ sessionId });
  },
} as const;

type Step = keyof typeof STEPS;

const ALL = Object.keys(STEPS) as Step[];
const anyLife = fc.array(
  fc.record({
    step: fc.constantFrom(...ALL),
    session: fc.nat({ max: 2 }),
    user: fc.constantFrom(undefined, undefined, "ada"),
    number: fc.nat({ max: 9 }),
  }),
  { maxLength: 12 },
);
type Life = typeof anyLife extends fc.Arbitrary<infer Value> ? Value : never;

async function live(stores: Stores, life: Life): Promise<void> {
  const services = new Map<string | undefined, SessionService>();
  const sessions = new Map<string, string>();
  for (const { step, session, user, number } of life) {
    const service =
      services.get(user) ?? serviceOn(user === undefined ? stores : stores.forUser(user));
    services.set(user, service);
    const key = `${user} ${session}`;
    const sessionId = sessions.get(key) ?? (await service.createSession({})).sessionId;
    sessions.set(key, sessionId);
    await STEPS[step](service, sessionId, number);
    if (step === "delete" || step === "archive") sessions.delete(key);
  }
  for (const service of services.values()) await service.close();
}

/** All that can be seen of stores, after the projections have caught up. */
async function account(stores: Stores): Promise<unknown> {
  const users = [...(await stores.users())].sort();
  const all = [stores, ...users.map((user) => stores.forUser(user))];
  return { users, all: await Promise.all(all.map(accountOf)) };
}

async function accountOf(stores: Stores): Promise<unknown> {
  const service = serviceOn(stores);
  await service.listKnowledge({});
  await service.listMemory({ limit: 1 });
  await service.close();
  const logs = async ({ events, sessions }: Pick<Stores, "events" | "sessions">) => {
    const snapshots = [...(await sessions.list({ includeArchived: true }))];
    snapshots.sort((one, other) => (one.id < other.id ? -1 : 1));
    return await Promise.all(
      snapshots.map(async (snapshot) => ({
        snapshot,
        log: await Array.fromAsync(events.read(snapshot.id, 0)),
      })),
    );
  };
  const { entries, forgotten } = await stores.knowledge.copy();
  const memories = await stores.memory.list({ limit: 10_000 });
  const approvals = [...(await stores.approvals.list({}))];
  return {
    live: await logs(stores),
    trash: stores.trash && (await logs(stores.trash)),
    // What is heard again keeps its time in memory, until memory is told of another change.
    memories: [...memories]
      .map((entry) => (entry.kind === "message" ? entry : { ...entry, time: "when it was told" }))
      .sort((one, other) => (one.id < other.id ? -1 : 1)),
    knowledge: entries.map(({ entry, keys }) => ({ entry, keys: [...keys].sort() })),
    forgotten: [...forgotten].sort(),
    approvals: approvals.sort((one, other) => (one.approvalId < other.approvalId ? -1 : 1)),
    imports: await stores.imports.keys("", 1000),
    files: [...(await stores.imports.files())],
  };
}

const EVERYTHING: Life = [
  ...ALL.filter((step) => step !== "delete" && step !== "archive").map((step, number) => ({
    step,
    session: 0,
    user: undefined,
    number,
  })),
  { step: "archive", session: 0, user: undefined, number: 0 },
  { step: "talk", session: 1, user: undefined, number: 1 },
  { step: "delete", session: 1, user: undefined, number: 1 },
  { step: "talk", session: 0, user: "ada", number: 2 },
  { step: "prefer", session: 0, user: "ada", number: 4 },
];

async function importInto(stores: Stores): Promise<void> {
  const folder = await temporaryFolder();
  const lines = new ClaudeLines("0f0e0d0c-0000-4000-8000-000000000001");
  const file = String(lines.user("Where is the harbour?").text("msg_1", "By the sea."));
  await mkdir(join(folder, "transcripts"));
  await writeFile(join(folder, "transcripts", "one.jsonl"), file);
  await importTranscripts({ stores, path: join(folder, "transcripts") });
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
      { numRuns: trials(2, 100) },
    );
  }, 60_000);

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
