import { afterEach, describe, expect, test } from "vitest";
import { createSessionService, ephemeralStores } from "../src/index.ts";
import { MODEL_NAMES, MODELS, modelsOf } from "./support/model-under-test.ts";
import {
  type ProviderServer,
  startProviderServer,
} from "./support/provider-server/provider-server.ts";

const opened: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

describe.each(MODEL_NAMES)("what a session with %s cost", (name) => {
  test("is the sum of what the provider counted, cached tokens too, and has its price", async () => {
    const answer = (text: string, input: number, cacheRead: number, cacheWrite = 0) => ({
      text,
      usage: { input, output: 20, cacheRead, cacheWrite: name === "anthropic" ? cacheWrite : 0 },
    });
    const long = "A long answer about the herons of Emden. ".repeat(60);
    const replies = [
      answer(long, 1000, 0, 900),
      answer(long, 1900, 900, 950),
      answer("The user asked about herons of Emden, one and two.", 2600, 700),
      answer("Done.", 1200, 100, 1000),
    ];
    const server = await startProviderServer(replies);
    opened.push(server);
    const stores = ephemeralStores();
    const service = createSessionService({
      model: MODELS[name],
      models: modelsOf(server),
      stores,
      builtinTools: false,
      compaction: { autoCompactThreshold: 1800, minTurnsBetweenCompactions: 1 },
      prices: { "openai-compatible/": { input: 2, output: 8, cacheRead: 0.2 } },
    });
    const { sessionId } = await service.createSession({});
    for (const prompt of ["one", "two", "three"]) await service.startTurn({ sessionId, prompt });
    const cost = await service.sessionCost({ sessionId });
    const sums = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    for (const { usage } of replies) {
      for (const key of Object.keys(sums) as (keyof typeof sums)[]) sums[key] += usage[key];
    }
    expect(server.requests).toHaveLength(replies.length);
    expect(cost.usage).toMatchObject({
      inputTokens: sums.input,
      outputTokens: sums.output,
      cacheReadTokens: sums.cacheRead,
    });
    if (name === "anthropic") expect(cost.usage.cacheCreationTokens).toBe(sums.cacheWrite);
    expect(cost.unpricedModels).toEqual([]);
    const [input, output, read, write] = PRICES[name];
    const fresh = sums.input - sums.cacheRead - sums.cacheWrite;
    const paid =
      fresh * input + sums.output * output + sums.cacheRead * read + sums.cacheWrite * write;
    expect(cost.costUsd).toBeCloseTo(paid / 1e6, 9);
    expect(cost.compacting).toMatchObject({ compacted: 1 });
    expect(cost.compacting.summaries.usage.inputTokens).toBe(2600);
    await service.close();
    await stores.close();
  });
});

/** Input, output, read from the cache and written into it, for a million tokens. */
const PRICES = {
  anthropic: [5, 25, 0.5, 6.25],
  openai: [1.75, 14, 0.175, 1.75],
  google: [2, 12, 0.2, 2],
  "openai-compatible": [2, 8, 0.2, 2],
} as const;
