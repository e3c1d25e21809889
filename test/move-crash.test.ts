import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { postgresStores } from "../src/postgres.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { postgresAddress } from "../src/stores/postgres/server-address.ts";
import { scriptedModel } from "../src/testing.ts";
import { freshSchema, hasPostgres, postgresUrl } from "./support/postgres.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { LONG, trials } from "./support/trials.ts";

const TRIALS = trials(1, 40, "crash points");
const KILLS = LONG ? 4 : 1;
const SESSIONS = LONG ? 200 : 25;
const USER = "ada";

type Engine = "SQLite" | "PostgreSQL";
const WAYS: readonly (readonly [Engine, Engine])[] = [
  ["SQLite", "SQLite"],
  ...(hasPostgres
    ? ([
        ["SQLite", "PostgreSQL"],
        ["PostgreSQL", "SQLite"],
      ] as const)
    : []),
];

// Each takes over two seconds: it starts processes, and kills most of them. The short form has each engine as what is
// moved from, and as what is moved to.
describe.each(LONG || !hasPostgres ? WAYS : WAYS.slice(1))(
  "a move from %s to %s",
  (source, target) => {
    test(
      `arrives whole after ${KILLS} kills, ${TRIALS} times`,
      async () => {
        const project = await Project.open({ provider: await providerForTest() });
        const from = await addressOf(source, project.folder, "from");
        const stores = openAt(from);
        await fill(stores);
        await fill(stores.forUser(USER));
        const expected = await contentOf(stores);
        for (let trial = 0; trial < TRIALS; trial += 1) {
          const to = await addressOf(target, project.folder, `to-${trial}`);
          const args = ["move", "--from", from, "--to", to];
          for (let kill = 0; kill < KILLS; kill += 1) {
            const { child, ended } = project.start(args);
            await sleep(150 + Math.random() * 500);
            child.kill("SIGKILL");
            await ended;
          }
          expect(await project.rkat(args)).toMatchObject({ code: 0 });
          const copy = openAt(to);
          await learn(copy);
          await learn(copy.forUser(USER));
          expect(await contentOf(copy)).toEqual(expected);
          await copy.close();
        }
        await stores.close();
      },
      120_000 + 120_000 * TRIALS,
    );
  },
);

/** An unused store: a file, or a namespace of a schema. */
async function addressOf(engine: Engine, folder: string, name: string): Promise<string> {
  if (engine === "SQLite") return join(folder, `${name}.db`);
  const url = new URL(await postgresUrl());
  url.searchParams.set("schema", await freshSchema());
  url.searchParams.set("namespace", "shop");
  return url.href;
}

function openAt(address: string): Stores {
  return address.startsWith("postgres:")
    ? postgresStores(postgresAddress(address))
    : sqliteStores({ path: address });
}

async function fill(stores: Stores): Promise<void> {
  const service = createSessionService({ model: scriptedModel([]), stores });
  for (let number = 0; number < SESSIONS; number += 1) {
    const { sessionId } = await service.createSession({});
    await service.startTurn({ sessionId, prompt: `I always prefer ${number % 20} cups of tea.` });
  }
  await service.close();
}

/** Whatever a store has not yet learned from its log, it learns now. */
async function learn(stores: Stores): Promise<void> {
  const service = createSessionService({ model: scriptedModel([]), stores });
  await service.listKnowledge({});
  await service.close();
}

async function contentOf(stores: Stores): Promise<unknown> {
  return {
    users: await stores.users(),
    own: await contentOfOne(stores),
    ofUser: await contentOfOne(stores.forUser(USER)),
  };
}

/** Logs, memory and knowledge. The count of an entry grows when it is learned a second time. */
async function contentOfOne({
  events,
  memory,
  knowledge,
}: Pick<Stores, "events" | "memory" | "knowledge">): Promise<unknown> {
  const logged = await events.readAll(0, 100_000);
  const entries = await memory.list({ limit: 100_000 });
  return {
    logged: logged.map(({ sessionId, stored }) => ({ sessionId, stored })),
    entries: [...entries]
      .map((entry) => (entry.kind === "message" ? entry : { ...entry, time: "when it was told" }))
      .sort((one, other) => (one.id < other.id ? -1 : 1)),
    knowledge: (await knowledge.copy()).entries.map(({ entry }) => entry),
  };
}
