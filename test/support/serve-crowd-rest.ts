import { join } from "node:path";
import type { LanguageModel } from "../../src/index.ts";
import { createSessionService } from "../../src/index.ts";
import { serveRest } from "../../src/rest.ts";
import { sqliteStores } from "../../src/sqlite.ts";
import { answerMemory } from "./answer-memory.ts";

/**
 * A server as `rkat serve` makes it, with a slow model that answers nobody
 * before `crowd` turns wait for it: if a turn waited for another, none would end.
 */
const [place = ".", crowdText = "1", deltasText = "1"] = process.argv.slice(2);
const [crowd, deltas] = [Number(crowdText), Number(deltasText)];

let waiting: (() => void)[] = [];
const model: LanguageModel = {
  id: "crowd/model",
  async *stream() {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length < crowd) return;
      for (const go of waiting) go();
      waiting = [];
    });
    let text = "";
    for (let index = 0; index < deltas; index++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const delta = `word${index} `;
      text += delta;
      yield { type: "text_delta", delta };
    }
    yield { type: "block", block: { block_type: "text", data: { text } } };
    const usage = { input_tokens: 1, output_tokens: deltas };
    yield {
      type: "finish",
      stopReason: "end_turn",
      usage: { ...usage, cache_creation_tokens: null, cache_read_tokens: null },
    };
  },
};

const stores = sqliteStores({ path: join(place, ".rkat", "rkat.db"), thread: "worker" });
const service = createSessionService({ model, stores, knowledge: false, compaction: {} });
const server = await serveRest({ service, port: 0 });
process.stdout.write(`${server.url}\n`);
answerMemory();
