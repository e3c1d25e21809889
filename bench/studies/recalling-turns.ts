import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSessionService, type ServiceOptions } from "../../src/index.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { scriptedModel } from "../../src/testing.ts";

/**
 * What a turn costs whose prompt is looked for in memory, beside the same turn without recall.
 *
 *     node bench/studies/recalling-turns.ts [ENTRIES]
 *
 * A memory of 100 000 entries in 1 000 sessions, and two compacted sessions, one with recall. They take turns, with a
 * model that answers at once. Half of the prompts are about something that left, half about nothing. Each figure is
 * a median of what rkat itself takes. On a busy machine only the processor time says something.
 */

const ENTRIES = Number(process.argv[2] ?? 100_000);
const ROUNDS = 150;
const WARM_UP = 10;
const SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo wu za".split(" ");

let seed = 7;
const below = (count: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return seed % count;
};
/** One of 4 096 words. As in a language, a few are much more frequent than most. */
const word = () => {
  const number = below(below(4_096) + 1);
  return [number >> 8, (number >> 4) & 15, number & 15].map((at) => SYLLABLES[at]).join("");
};
const sentence = (length: number) => Array.from({ length }, word).join(" ");

const folder = mkdtempSync(join(tmpdir(), "rkat-recalling-"));
const stores = sqliteStores({ path: join(folder, "rkat.db"), thread: "main" });
for (let from = 0; from < ENTRIES; from += 2_000) {
  await stores.memory.add(
    Array.from({ length: Math.min(2_000, ENTRIES - from) }, (_, index) => ({
      id: `entry ${from + index}`,
      content: sentence(14),
      sessionId: `session ${(from + index) % 1_000}`,
      turn: Math.floor((from + index) / 1_000),
      kind: "message" as const,
      role: index % 2 === 0 ? "user" : "assistant",
    })),
  );
}

async function opened(recallTokens: number) {
  const options: ServiceOptions = {
    // It does not count the tokens of a request, which would take longer with records in it.
    model: scriptedModel(() => ({
      text: sentence(30),
      usage: { input_tokens: 1, output_tokens: 1 },
    })),
    stores,
    knowledge: false,
    recallTokens,
    compaction: {
      autoCompactThreshold: 20_000,
      minTurnsBetweenCompactions: 1,
      userWordsTokens: 0,
      summarizer: scriptedModel(() => "They talked of the harbour, its ships and its cargo."),
    },
  };
  const service = createSessionService(options);
  const { sessionId } = await service.createSession({});
  const left: string[] = [];
  for (let turn = 0; turn < 40; turn += 1) {
    const prompt = sentence(300);
    left.push(prompt);
    await service.startTurn({ sessionId, prompt });
  }
  await service.compact({ sessionId });
  let recalls = 0;
  const turn = async (round: number) => {
    const from = (8 * round) % 290;
    const about =
      left[round % 20]
        ?.split(" ")
        .slice(from, from + 8)
        .join(" ") ?? "";
    const prompt = round % 2 === 0 ? `What was it about ${about}?` : `Tell me of ${sentence(6)}.`;
    const recallsBefore = recalls;
    const start = performance.now();
    const before = process.cpuUsage();
    await service.startTurn(
      { sessionId, prompt },
      {
        onEvent: ({ payload }) => {
          if (payload.type === "memory_recalled") recalls += 1;
        },
      },
    );
    const { user, system } = process.cpuUsage(before);
    return {
      ms: performance.now() - start,
      processorMs: (user + system) / 1_000,
      isRecalling: recalls > recallsBefore,
    };
  };
  return { service, turn };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

const ways = { without: await opened(0), with: await opened(1_500) };
type Taken = Awaited<ReturnType<(typeof ways)["with"]["turn"]>>;
const taken: Record<keyof typeof ways, Taken[]> = { without: [], with: [] };
for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
  for (const name of ["without", "with"] as const) {
    const one = await ways[name].turn(round);
    if (round >= WARM_UP) taken[name].push(one);
  }
}
for (const [unit, of] of [
  ["ms", ({ ms }: Taken) => ms],
  ["ms of processor time", ({ processorMs }: Taken) => processorMs],
] as const) {
  const without = median(taken.without.map(of));
  const say = (what: string, some: readonly Taken[]) => {
    const ms = median(some.map(of));
    console.log(`  ${what} (${some.length}): ${ms.toFixed(1)}, ${(ms / without).toFixed(2)} ×`);
  };
  console.log(`${ENTRIES} entries, ${unit}: a turn without recall takes ${without.toFixed(1)}`);
  say("with recall", taken.with);
  say(
    "of these, memory was sure",
    taken.with.filter(({ isRecalling }) => isRecalling),
  );
  say(
    "of these, it was not",
    taken.with.filter(({ isRecalling }) => !isRecalling),
  );
}
await ways.with.service.close();
await ways.without.service.close();
await stores.close();
rmSync(folder, { recursive: true });
