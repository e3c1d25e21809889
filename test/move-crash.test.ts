import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createSessionService } from "../src/index.ts";
import { type Stores, sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import { Project } from "./support/rkat-process.ts";
import { trials } from "./support/trials.ts";

const TRIALS = trials(2, 40);
const KILLS = 4;
const SESSIONS = trials(40, 200);

test(
  `a move arrives whole after ${KILLS} kills, ${TRIALS} times`,
  async () => {
    const project = await Project.open({ provider: await providerForTest() });
    const from = join(project.folder, "from.db");
    const source = sqliteStores({ path: from });
    const service = createSessionService({ model: scriptedModel([]), stores: source });
    for (let number = 0; number < SESSIONS; number += 1) {
      const { sessionId } = await service.createSession({});
      await service.startTurn({ sessionId, prompt: `I always prefer ${number % 20} cups of tea.` });
    }
    await service.close();
    const expected = await contentOf(source);
    for (let trial = 0; trial < TRIALS; trial += 1) {
      const to = join(project.folder, `to-${trial}.db`);
      const args = ["move", "--from", from, "--to", to];
      for (let kill = 0; kill < KILLS; kill += 1) {
        const { child, ended } = project.start(args);
        await sleep(150 + Math.random() * 500);
        child.kill("SIGKILL");
        await ended;
      }
      expect(await project.rkat(args)).toMatchObject({ code: 0 });
      const target = sqliteStores({ path: to });
      const own = createSessionService({ model: scriptedModel([]), stores: target });
      await own.listKnowledge({});
      await own.close();
      expect(await contentOf(target)).toEqual(expected);
      await target.close();
    }
    await source.close();
  },
  60_000 * TRIALS,
);

/** Logs, memory and knowledge. The count of an entry grows when it is learned a second time. */
async function contentOf({ events, memory, knowledge }: Stores): Promise<unknown> {
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
