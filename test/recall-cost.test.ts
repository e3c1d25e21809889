import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createSessionService } from "../src/index.ts";
import { sqliteStores } from "../src/sqlite.ts";
import { scriptedModel } from "../src/testing.ts";
import { temporaryFolder } from "./support/obey.ts";

const FILLER = "The harbour was quiet, and the tide came in as it does each evening. ".repeat(30);
const TOWNS = ["Constanta", "Mangalia", "Navodari", "Medgidia", "Eforie", "Sulina", "Tulcea"];

/** A session with a compaction, whose prompts recall at most 300 tokens each, and what each turn asked of its stores. */
async function openCounted() {
  const stores = sqliteStores({ path: join(await temporaryFolder(), "rkat.db") });
  const service = createSessionService({
    model: scriptedModel(() => "Noted. The tide came in as it does each evening."),
    stores,
    knowledge: false,
    recallTokens: 300,
    compaction: {
      autoCompactThreshold: 4_000,
      minTurnsBetweenCompactions: 1,
      userWordsTokens: 0,
      keepAnchors: false,
      summarizer: scriptedModel(
        () => "The harbour was quiet in the evening, and the tide came in.",
      ),
    },
  });
  onTestFinished(async () => {
    await service.close();
    await stores.close();
  });
  const { sessionId } = await service.createSession({});
  const turn = async (prompt: string) => {
    const types = new Set<string>();
    const append = vi.spyOn(stores.events, "append");
    const search = vi.spyOn(stores.memory, "search");
    const list = vi.spyOn(stores.memory, "list");
    const onEvent = ({ payload }: { readonly payload: { readonly type: string } }) =>
      void types.add(payload.type);
    await service.startTurn({ sessionId, prompt }, { onEvent });
    const counted = { batches: append.mock.calls.length, searches: search.mock.calls.length };
    const lists = list.mock.calls.length;
    for (const spy of [append, search, list]) spy.mockRestore();
    const isRecalling = types.has("memory_recalled");
    return { ...counted, lists, isRecalling, isCompacting: types.has("compaction_started") };
  };
  for (const town of TOWNS) {
    await turn(
      `My sister Mirela keeps bees in hives near ${town}. ${`Vines grow around ${town}. `.repeat(12)}`,
    );
  }
  for (let nth = 0; nth < 4; nth += 1) await turn(FILLER);
  await service.compact({ sessionId });
  return { turn };
}

test("a prompt is looked for with one search, and its turn is written as one without recall is", async () => {
  const { turn } = await openCounted();
  // What a person pinned, and how sure a record has to be, is looked for once.
  await turn("Does my sister Mirela keep bees in hives near Sulina?");
  for (const town of ["Tulcea", "Eforie", "Bucharest"]) {
    const { batches, searches, lists } = await turn(
      `Does my sister Mirela keep bees in hives near ${town}?`,
    );
    expect({ batches, searches, lists }, town).toEqual({ batches: 2, searches: 1, lists: 0 });
  }
});

test("where records beside the history reach the threshold, no turn looks for what a compaction could take away", async () => {
  const { turn } = await openCounted();
  let recalling = 0;
  for (const town of TOWNS) {
    const { isRecalling } = await turn(`Does my sister Mirela keep bees in hives near ${town}?`);
    recalling += Number(isRecalling);
  }
  expect(recalling).toBeGreaterThan(2);
  const written: number[] = [];
  for (let nth = 0; nth < 200; nth += 1) {
    const { isCompacting, batches } = await turn("And then?");
    if (isCompacting) break;
    written.push(batches);
  }
  expect(written.length).toBeLessThan(200);
  // Of the prompt before the compaction it is in doubt, because a prompt counts twice.
  expect(new Set(written.slice(0, -1))).toEqual(new Set([2]));
});
