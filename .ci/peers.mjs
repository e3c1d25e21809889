// Talks to each provider through the packages that are installed here: a turn with a picture and a tool call, and vectors.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { createSessionService, defineTool } from "rkat";
import { aiSdkModels, embedderFromAiSdk } from "rkat/ai-sdk";
import { z } from "zod";

const { REPOSITORY: repository } = process.env;
const support = `${repository}/test/support`;
const { startProviderServer } = await import(`${support}/provider-server/provider-server.ts`);

const key = "sk-test-0123456789abcdef";
const keys = { anthropic: key, openai: key, google: key, "openai-compatible": key };
const models = {
  anthropic: "anthropic/claude-opus-4-8",
  openai: "openai/gpt-5.2",
  google: "google/gemini-3-pro-preview",
  "openai-compatible": "openai-compatible/local",
};
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

for (const [name, model] of Object.entries(models)) {
  const call = { id: "call_1", name: "look", args: { path: "a" } };
  const server = await startProviderServer([
    { reasoning: "I should look.", text: "Looking.", toolCalls: [call] },
    "A green pixel.",
  ]);
  const look = defineTool({
    name: "look",
    description: "Looks at a file.",
    input: z.object({ path: z.string() }),
    execute: ({ path }) => `the text of ${path}`,
  });
  const service = createSessionService({
    model,
    models: aiSdkModels({ keys, env: {}, baseUrls: server.urls }),
    tools: [look],
    builtinTools: false,
  });
  const { sessionId } = await service.createSession({});
  const picture = { type: "image", media_type: "image/png", data: PIXEL };
  const prompt = [{ type: "text", text: "What is this?" }, picture];
  const { text, usage } = await service.startTurn({ sessionId, prompt });
  assert.equal(text, "A green pixel.", name);
  assert.ok(usage.inputTokens > 0, `${name} counts no tokens: ${JSON.stringify(usage)}`);
  assert.ok(JSON.stringify(server.requests[0].body).includes(PIXEL), `${name} gets no picture`);
  assert.deepEqual(server.problems, [], name);
  await service.close();
  await server.close();
}

const server = await startProviderServer();
const openai = createOpenAI({ apiKey: key, baseURL: server.urls.openai });
const embedder = embedderFromAiSdk(openai.embeddingModel("text-embedding-3-small"));
const [vector] = await embedder.embed(["some words"]);
assert.equal(vector.length, 1536);
await server.close();

const version = (name) =>
  JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
console.log(`works beside ai ${version("ai")} and @ai-sdk/openai ${version("@ai-sdk/openai")}`);
