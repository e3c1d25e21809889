import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import { embedderFromAiSdk } from "../src/ai-sdk.ts";
import { type EmbedderSettings, openEmbedder } from "../src/embedders/open-embedder.ts";
import { embedderLaws } from "../src/testing/embedder-laws.ts";
import { providerForTest } from "./support/provider-for-test.ts";
import type { ProviderScript } from "./support/provider-server/provider-server.ts";

const KEY = "sk-test-0123456789abcdef";

/** An embedder of a server that answers from the script. */
async function served(
  provider: "openai" | "ollama",
  script?: ProviderScript,
  settings: EmbedderSettings = {},
) {
  const server = await providerForTest(script);
  const env = provider === "openai" ? { OPENAI_API_KEY: KEY } : {};
  const embedder = await openEmbedder({
    provider,
    baseUrl: server.urls[provider],
    env,
    ...settings,
  });
  return { embedder, server };
}

/** The same without waits between retries, and with other limits. */
async function quick(
  script: ProviderScript,
  options: Parameters<typeof embedderFromAiSdk>[1] = {},
) {
  const server = await providerForTest(script);
  const openai = createOpenAI({ baseURL: server.urls.openai, apiKey: KEY });
  const model = openai.embedding("text-embedding-3-small");
  return { embedder: embedderFromAiSdk(model, { initialDelayMs: 1, ...options }), server };
}

describe.each(["openai", "ollama"] as const)("Embedder: %s", (provider) => {
  for (const law of embedderLaws) {
    test(law.name, () => law.holds(async () => (await served(provider)).embedder));
  }
});

test.each([
  ["openai", {}, "openai/text-embedding-3-small/1536"],
  ["openai", { model: "text-embedding-3-large" }, "openai/text-embedding-3-large/3072"],
  ["openai", { dimensions: 256 }, "openai/text-embedding-3-small/256"],
  ["ollama", {}, "ollama/nomic-embed-text/768"],
  ["ollama", { model: "mxbai-embed-large:latest" }, "ollama/mxbai-embed-large:latest/1024"],
  ["ollama", { model: "my-own", dimensions: 768 }, "ollama/my-own/768"],
] as const)("%s with %j is %s", async (provider, settings, id) => {
  const { embedder, server } = await served(provider, [], settings);
  const [vector] = await embedder.embed(["a text"]);
  expect([embedder.id, embedder.trained]).toEqual([id, true]);
  expect(vector?.length).toBe(embedder.dimensions);
  expect(server.problems).toEqual([]);
});

test("texts go in batches, blank ones not at all, and vectors come in their order", async () => {
  const { embedder, server } = await served("openai", [], { batchSize: 2 });
  const texts = ["one", " ", "two", "three", "", "four", "five"];
  const vectors = await embedder.embed(texts);
  expect(server.requests.map(({ body }) => body.input)).toEqual([
    ["one", "two"],
    ["three", "four"],
    ["five"],
  ]);
  for (const [index, text] of texts.entries()) {
    expect(vectors[index]).toEqual((await embedder.embed([text]))[0]);
  }
});

test("the number of dimensions is sent only when it is not the model's own", async () => {
  const usual = await served("openai", [], { dimensions: 1536 });
  await usual.embedder.embed(["text"]);
  expect(usual.server.requests[0]?.body).not.toHaveProperty("dimensions");
  const short = await served("openai", [], { dimensions: 256 });
  await short.embedder.embed(["text"]);
  expect(short.server.requests[0]?.body).toMatchObject({ dimensions: 256 });
});

test.each([
  [
    "a full server",
    { status: 429, message: "Rate limit reached", headers: { "retry-after-ms": "3" } },
  ],
  ["a broken server", { status: 500, message: "internal error" }],
  ["a gateway without its server", { status: 502, message: "", body: "<html>Bad gateway</html>" }],
])("%s is asked again", async (_, failure) => {
  const { embedder, server } = await quick([failure, failure, "ok"]);
  expect(await embedder.embed(["text"])).toHaveLength(1);
  expect(server.requests).toHaveLength(3);
});

test("a server that stays broken fails in its own words, after three more tries", async () => {
  const { embedder, server } = await quick(() => ({ status: 503, message: "Out of GPUs" }));
  await expect(embedder.embed(["text"])).rejects.toMatchObject({
    code: "PROVIDER_ERROR",
    message: expect.stringContaining("HTTP 503: Out of GPUs"),
  });
  expect(server.requests).toHaveLength(4);
});

test("what no patience cures is not tried again, and no message shows the key", async () => {
  const failure = {
    status: 401,
    message: `Incorrect API key provided: ${KEY}`,
    code: "invalid_api_key",
  };
  const { embedder, server } = await served("openai", () => failure);
  const error = await embedder.embed(["text"]).catch((error) => error);
  expect(error).toMatchObject({
    code: "PROVIDER_ERROR",
    hint: expect.stringContaining("OPENAI_API_KEY"),
  });
  expect(
    JSON.stringify([error.message, error.hint, String(error.cause), error.stack]),
  ).not.toContain(KEY);
  expect(server.requests).toHaveLength(1);
});

const VECTOR = Array<number>(1536).fill(0.5);

test.each<[string, readonly unknown[], RegExp]>([
  ["too few vectors", [VECTOR], /returned 1 vectors for 2 texts/],
  ["too many vectors", [VECTOR, VECTOR, VECTOR], /returned 3 vectors for 2 texts/],
  ["vectors of another size", [VECTOR, VECTOR.slice(1)], /a vector with 1535 dimensions, not 1536/],
  ["zeros", [VECTOR, VECTOR.map(() => 0)], /a vector of zeros for a text with words/],
  [
    "numbers beyond all bounds",
    [VECTOR, VECTOR.map(() => 1e308)],
    /a vector with numbers that are not finite/,
  ],
  ["what is no number", [VECTOR, [null, ...VECTOR.slice(1)]], /openai\/text-embedding-3-small/],
  ["what is no vector", ["AAAA", VECTOR], /openai\/text-embedding-3-small/],
])("%s are refused", async (_, embeddings, message) => {
  const { embedder } = await quick(() => ({ embeddings }));
  await expect(embedder.embed(["one", "two"])).rejects.toMatchObject({
    code: "PROVIDER_ERROR",
    message: expect.stringMatching(message),
  });
});

test("a text that is too long for the model is cut until it fits", async () => {
  const { embedder, server } = await quick([]);
  const [vector] = await embedder.embed(["word ".repeat(100_000)]);
  expect(vector?.some((number) => number > 0)).toBe(true);
  const lengths = server.requests.map(({ body }) => String((body.input as string[])[0]).length);
  expect(lengths).toEqual([24_000, 12_000]);
});

test("a server that says nothing is left after a time, and asked again", async () => {
  const { embedder, server } = await quick(
    async ({ closed }, call) => {
      if (call < 2) await closed;
      return "ok";
    },
    { timeoutMs: 100 },
  );
  expect(await embedder.embed(["text"])).toHaveLength(1);
  // On a slow machine the one that is answered may be late too.
  expect(server.requests.length).toBeGreaterThanOrEqual(3);
});

test("an abort ends the request, and the wait for the next try", async () => {
  const hanging = await quick(async ({ closed }) => {
    await closed;
    return "ok";
  });
  const reason = new Error("enough");
  const abort = (after: number) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), after);
    return { signal: controller.signal };
  };
  await expect(hanging.embedder.embed(["text"], abort(50))).rejects.toBe(reason);
  await hanging.server.requests[0]?.closed;
  const broken = await quick(() => ({ status: 500, message: "no" }), { initialDelayMs: 20_000 });
  await expect(broken.embedder.embed(["text"], abort(50))).rejects.toBe(reason);
  expect(broken.server.requests).toHaveLength(1);
});

test("a model whose size nobody knows is refused with what to say", async () => {
  await expect(openEmbedder({ provider: "ollama", model: "my-own" })).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    message: expect.stringContaining("ollama/my-own"),
    hint: expect.stringContaining("dimensions under [embeddings]"),
  });
});

test("a key that is missing is named", async () => {
  await expect(openEmbedder({ provider: "openai", env: {} })).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    hint: "Set OPENAI_API_KEY in the environment.",
  });
});
