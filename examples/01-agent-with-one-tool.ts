// An agent of your own with one tool, that remembers across runs.
//
//   export ANTHROPIC_API_KEY=…            (or OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, or run Ollama)
//   node examples/01-agent-with-one-tool.ts anthropic/claude-sonnet-4-5 "Is parcel 42 late?"
import assert from "node:assert/strict";
import { createSessionService, defineTool } from "rkat";
import { aiSdkModels } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { z } from "zod";

const [model, prompt = "Is parcel 42 late?"] = process.argv.slice(2);
assert(model, "Name a model: node examples/01-agent-with-one-tool.ts provider/model [question]");

const parcelStatus = defineTool({
  name: "parcel_status",
  description: "Where a parcel is, and when it was due.",
  input: z.object({ number: z.int().describe("The parcel's number.") }),
  execute: ({ number }) => ({
    number,
    place: "Leipzig hub",
    due: "2026-03-02",
    today: "2026-03-04",
  }),
});

const stores = sqliteStores({ path: process.env.RKAT_STORE ?? ".rkat/rkat.db" });
const sessions = createSessionService({
  model,
  models: aiSdkModels(),
  stores,
  compaction: {},
  tools: [parcelStatus],
  systemPrompt: "You help people find their parcels. Answer in one sentence.",
});

// Continues the last session, if there is one.
const [last] = await sessions.list({ limit: 1 });
const { sessionId } = last ?? (await sessions.createSession({}));

const answer = await sessions.startTurn(
  { sessionId, prompt },
  {
    onEvent({ payload }) {
      if (payload.type === "text_delta") process.stdout.write(payload.delta);
      if (payload.type === "tool_call_requested") console.error(`→ ${payload.name}`, payload.args);
    },
  },
);
console.log();
assert.equal(answer.stopReason, "end_turn");

await sessions.close();
await stores.close();
