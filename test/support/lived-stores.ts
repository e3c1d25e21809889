import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { z } from "zod";
import { importTranscripts } from "../../src/app/import-transcripts.ts";
import { createSessionService, defineTool, type SessionService } from "../../src/index.ts";
import type { Stores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";
import { ClaudeLines } from "./claude-lines.ts";
import { temporaryFolder } from "./obey.ts";

const LONG_TEXT = "The quick brown fox considers the merits of jumping. ".repeat(60);
export const SECRET = "The vault opens with tangerine-9417, says Ottilie.";

const shell = defineTool({
  name: "shell",
  description: "Runs a command.",
  input: z.object({ command: z.string() }),
  execute: ({ command }) => `ran ${command}: 42 files are in the folder named alpha`,
});

export function serviceOn(stores: Stores): SessionService {
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
  async edit(service: SessionService, _: string, number: number) {
    // No text is added twice.
    const pier = `${number} of ${crypto.randomUUID()}`;
    const note = await service.addMemory({ content: `Pier ${pier} is blue.` });
    const { id } = await service.editMemory({
      id: note.id,
      content: `Pier ${pier} is red.`,
      pinned: true,
    });
    const fact = await service.addKnowledge({ kind: "fact", content: `Pier ${pier} is long.` });
    const knowledgeId = fact.id;
    await service.editKnowledge({ knowledgeId, content: `Pier ${pier} is short.` });
    await service.keepBoth({ ids: [id, knowledgeId] });
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
export const anyLife = fc.array(
  fc.record({
    step: fc.constantFrom(...ALL),
    session: fc.nat({ max: 2 }),
    user: fc.constantFrom(undefined, undefined, "ada"),
    number: fc.nat({ max: 9 }),
  }),
  { maxLength: 12 },
);
export type Life = typeof anyLife extends fc.Arbitrary<infer Value> ? Value : never;

export async function live(stores: Stores, life: Life): Promise<void> {
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
export async function account(stores: Stores): Promise<unknown> {
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

export const EVERYTHING: Life = [
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

export async function importInto(stores: Stores): Promise<void> {
  const folder = await temporaryFolder();
  const lines = new ClaudeLines("0f0e0d0c-0000-4000-8000-000000000001");
  const file = String(lines.user("Where is the harbour?").text("msg_1", "By the sea."));
  await mkdir(join(folder, "transcripts"));
  await writeFile(join(folder, "transcripts", "one.jsonl"), file);
  await importTranscripts({ stores, path: join(folder, "transcripts") });
}
