import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { HnswMemoryStore } from "../src/hnsw.ts";
import { ephemeralStores, type Stores } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { asOfLaws } from "../src/testing/service/as-of-laws.ts";
import { EVERYTHING } from "../src/testing/service/service-scenes.ts";
import type { OpenService } from "../src/testing.ts";
import { filesWithTraces } from "./support/files-with-traces.ts";
import { obey, temporaryFolder } from "./support/obey.ts";
import { hasPostgres, postgresAccess } from "./support/postgres.ts";
import { Project } from "./support/rkat-process.ts";
import { scriptedService } from "./support/scripted-service.ts";

function withGraph(place: string): Stores {
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const memory = new HnswMemoryStore({ entries: stores.memory, file: join(place, "memory.hnsw") });
  return new Proxy(stores, {
    get: (target, name) => (name === "memory" ? memory : Reflect.get(target, name)),
  });
}

const on = (name: string, open: (place: string) => Stores | Promise<Stores>) => ({
  name,
  durable: false,
  open: async (place: string): Promise<OpenService> => {
    const stores = await open(place);
    // For the files of sessions.
    mkdirSync(join(place, ".rkat"), { recursive: true });
    return async (setup) => {
      const { service, close } = scriptedService(place, setup, stores);
      onTestFinished(close);
      return service;
    };
  },
});

describe("as it was, in other stores", () => {
  obey<OpenService>(asOfLaws, [
    on("ephemeral", () => ephemeralStores()),
    on("HNSW", withGraph),
    ...(hasPostgres
      ? [
          on("postgres", async (namespace) =>
            postgresStores({ ...(await postgresAccess()), namespace }),
          ),
        ]
      : []),
  ]);
});

test("the command takes words for the time, and texts that came with a time of their own count from it", async () => {
  const project = await Project.open();
  const line = (content: string, time: string) =>
    `${JSON.stringify({ content, time, session_id: "notes", role: "user" })}\n`;
  project.write(
    "notes.jsonl",
    line("The production port is 4310.", "2026-03-02T10:00:00Z") +
      line("The production port is now 5000.", "2026-11-12T10:00:00Z"),
  );
  await project.json(["memory", "add", "--jsonl", "notes.jsonl", "--json"]);
  const at = "2026-11-26T10:00:00+01:00[Europe/Berlin]";
  const search = ["memory", "search", "production port", "--json", "--at", at];
  const asked = async (...flags: string[]) => {
    const found = (await project.json([...search, ...flags])) as {
      content: string;
      replaced_by?: { said: string };
    }[];
    return found.map(({ content, replaced_by }) => [/\d+/.exec(content)?.[0], replaced_by?.said]);
  };
  const both = [
    ["5000", undefined],
    ["4310", "5000"],
  ];
  expect(await asked()).toEqual(both);
  expect(await asked("--as-of", "yesterday")).toEqual(both);
  expect(await asked("--as-of", "three weeks ago")).toEqual([["4310", undefined]]);
  expect(await asked("--as-of", "in spring")).toEqual([["4310", undefined]]);
  expect(await asked("--as-of", "2026-11-12")).toEqual(both);
  const listed = await project.rkat(["memory", "list", "--as-of", "2026-06-01"]);
  expect(listed.stdout).toContain("4310");
  expect(listed.stdout).not.toContain("now 5000");
  const wrong = await project.rkat(["memory", "list", "--as-of", "nonsense"]);
  expect([wrong.code, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).toContain("ISO 8601");
  expect(wrong.stderr).toContain("--as-of nonsense is no time");
  expect(wrong.stderr).toContain("two weeks ago");
});

test("a text that an entry of knowledge had before it was edited is forgotten with the entry, and with what says the same", async () => {
  const place = await temporaryFolder();
  const stores = sqliteStores({ path: join(place, "rkat.db") });
  const { service, close } = scriptedService(place, { capabilities: EVERYTHING }, stores);
  const secret = "Always call the marzipan ledger Quillonbrax.";
  const one = await service.addKnowledge({ content: secret });
  const other = await service.addKnowledge({ content: "Write short commits." });
  await service.editKnowledge({ knowledgeId: one.id, content: "Always be brief in reviews." });
  await service.editKnowledge({ knowledgeId: other.id, content: secret });
  await service.editKnowledge({ knowledgeId: other.id, content: "Write long commits." });
  expect((await service.readKnowledge({ knowledgeId: one.id })).earlier).toMatchObject([
    { content: secret },
  ]);
  await service.forgetKnowledge({ knowledgeId: one.id });
  const [left, ...more] = await service.listKnowledge({ kind: "preference" });
  expect([left?.content, left?.earlier?.map(({ content }) => content), more]).toEqual([
    "Write long commits.",
    ["Write short commits."],
    [],
  ]);
  await close();
  expect(await filesWithTraces(place, ["Quillonbrax"])).toEqual([]);
});
