import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type AiSdkModelsOptions, aiSdkModels, fromAiSdk } from "../src/ai-sdk.ts";
import type { ModelResolver } from "../src/core/language-model.ts";
import { ask, KEY, modelsOf, user } from "./support/model-under-test.ts";
import { startProviderServer } from "./support/provider-server/provider-server.ts";
import { execFile } from "./support/start-process.ts";

const env = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY };

const resolve = async (name: string, options: AiSdkModelsOptions = {}) =>
  aiSdkModels({ env, ...options })(name);

/** Where a model's request went, and with which key. */
async function requestTo(name: string, options: AiSdkModelsOptions) {
  const requests: { url: string; key: string | null }[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    const names = ["x-api-key", "authorization", "x-goog-api-key"];
    requests.push({
      url: String(input),
      key: names.map((name) => headers.get(name)).join("") || null,
    });
    return new Response("{}", { status: 500 });
  };
  const model = await aiSdkModels({ env: {}, ...options, fetch })(name);
  await ask(model, [user("hello")]).catch(() => {});
  return requests[0];
}

test("the resolver is one that sessions take", () => {
  const resolver: ModelResolver = aiSdkModels();
  expect(resolver).toBeTypeOf("function");
});

test.each([
  ["anthropic/claude-sonnet-5-5", "anthropic/claude-sonnet-5-5", 1_000_000],
  ["claude-haiku-4-5", "anthropic/claude-haiku-4-5", 200_000],
  ["gpt-5.2", "openai/gpt-5.2", 400_000],
  ["gpt-5.4-mini", "openai/gpt-5.4-mini", 400_000],
  ["o3", "openai/o3", 200_000],
  ["o4-mini", "openai/o4-mini", 200_000],
  ["gemini-2.5-pro", "google/gemini-2.5-pro", 1_048_576],
  ["ollama/qwen3:8b", "ollama/qwen3:8b", undefined],
  ["ollama/hf.co/unsloth/gemma:Q4", "ollama/hf.co/unsloth/gemma:Q4", undefined],
])("%s is %s, with a window of %s", async (name, id, contextWindow) => {
  const model = await resolve(name);
  expect({ id: model.id, contextWindow: model.contextWindow }).toEqual({ id, contextWindow });
});

test("context windows can be set, the longest beginning of a name first", async () => {
  const contextWindows = { "ollama/": 8192, "ollama/qwen3": 32_768, "claude-": 100_000 };
  expect((await resolve("ollama/qwen3:8b", { contextWindows })).contextWindow).toBe(32_768);
  expect((await resolve("ollama/gemma3", { contextWindows })).contextWindow).toBe(8192);
  expect((await resolve("claude-opus-5", { contextWindows })).contextWindow).toBe(100_000);
});

test.each([
  ...["llama-3", "", "/", "anthropic/", "/claude"].map((name) => [name, "INVALID_PARAMS"]),
  ...["mistral/large", "toString/x"].map((name) => [name, "MODEL_UNAVAILABLE"]),
])("%j is refused as %s, with the names that are allowed", async (name, code) => {
  await expect(resolve(name)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(
      "anthropic/<model>, openai/<model>, google/<model>, ollama/<model>, openai-compatible/<model>",
    ),
  });
});

test.each([
  ["anthropic/x", "ANTHROPIC_API_KEY"],
  ["openai/x", "OPENAI_API_KEY"],
  ["google/x", "GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY"],
])("%s without a key names %s", async (name, variable) => {
  const blank = { ANTHROPIC_API_KEY: " ", OPENAI_API_KEY: "" };
  await expect(resolve(name, { env: blank })).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    hint: `Set ${variable} in the environment.`,
  });
});

test("an OpenAI-compatible server needs its base URL, and no key", async () => {
  await expect(resolve("openai-compatible/x")).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    hint: expect.stringContaining("OPENAI_COMPATIBLE_BASE_URL"),
  });
  const baseUrls = { "openai-compatible": "http://localhost:8080/v1/" };
  expect(await requestTo("openai-compatible/a/b", { baseUrls })).toEqual({
    url: "http://localhost:8080/v1/chat/completions",
    key: null,
  });
});

test("any provider can be added by its base URL", async () => {
  const baseUrls = { groq: "https://api.groq.com/openai/v1" };
  expect(await requestTo("groq/llama", { baseUrls, env: { GROQ_API_KEY: KEY } })).toEqual({
    url: "https://api.groq.com/openai/v1/chat/completions",
    key: `Bearer ${KEY}`,
  });
});

describe("requests go", () => {
  const messages = "/v1/messages";
  test.each<[string, AiSdkModelsOptions, string]>([
    ["anthropic/x", {}, `https://api.anthropic.com${messages}`],
    ["openai/x", {}, "https://api.openai.com/v1/responses"],
    [
      "google/x",
      {},
      "https://generativelanguage.googleapis.com/v1beta/models/x:streamGenerateContent?alt=sse",
    ],
    ["ollama/x", {}, "http://localhost:11434/v1/chat/completions"],
    // As Anthropic's own programs read it: without the version.
    ["anthropic/x", { env: { ANTHROPIC_BASE_URL: "http://proxy" } }, `http://proxy${messages}`],
    ["anthropic/x", { env: { ANTHROPIC_BASE_URL: "http://proxy/v1" } }, `http://proxy${messages}`],
    ["openai/x", { env: { OPENAI_BASE_URL: "http://proxy/v1" } }, "http://proxy/v1/responses"],
    // As Ollama's own programs read it: an address.
    ["ollama/x", { env: { OLLAMA_HOST: "10.0.0.7" } }, "http://10.0.0.7:11434/v1/chat/completions"],
    [
      "ollama/x",
      { env: { OLLAMA_HOST: "0.0.0.0:1234" } },
      "http://127.0.0.1:1234/v1/chat/completions",
    ],
    [
      "ollama/x",
      { env: { OLLAMA_HOST: "10.0.0.7" }, baseUrls: { ollama: "https://ollama.example/v1" } },
      "https://ollama.example/v1/chat/completions",
    ],
  ])("for %s with %j to %s", async (name, options, url) => {
    const keys = { anthropic: KEY, openai: KEY, google: KEY };
    expect((await requestTo(name, { keys, ...options }))?.url).toBe(url);
  });
});

test("a package that is not installed is named, with the command that installs it", async () => {
  const hide = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier.startsWith("@ai-sdk/")) throw Object.assign(new Error("gone"), { code: "ERR_MODULE_NOT_FOUND" });
        return next(specifier, context);
      },
    });`;
  const program = `
    import { aiSdkModels } from "./src/ai-sdk.ts";
    const error = await aiSdkModels({ env: {}, keys: { anthropic: "k" } })("anthropic/x").catch((error) => error);
    console.log(JSON.stringify({ code: error.code, message: error.message, hint: error.hint }));`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--no-warnings",
    "--import",
    `data:text/javascript,${encodeURIComponent(hide)}`,
    "--input-type=module-typescript",
    "--eval",
    program,
  ]);
  expect(JSON.parse(stdout)).toEqual({
    code: "MODEL_UNAVAILABLE",
    message: "anthropic needs the package @ai-sdk/anthropic, which cannot be loaded.",
    hint: "Install it: npm install @ai-sdk/anthropic",
  });
});

test("a model that somebody made with the AI SDK works as it is", async () => {
  const { createAnthropic } = await import("@ai-sdk/anthropic");
  const server = await startProviderServer(["Hello."]);
  const provider = createAnthropic({ baseURL: server.urls.anthropic, apiKey: KEY });
  const model = fromAiSdk(provider("claude-sonnet-5"), {
    providerOptions: { anthropic: { effort: "low" } },
  });
  expect(model).toMatchObject({ id: "anthropic/claude-sonnet-5", contextWindow: 1_000_000 });
  const { blocks } = await ask(model, [user("hi")]);
  expect(blocks).toEqual([{ block_type: "text", data: { text: "Hello." } }]);
  expect(server.requests[0]?.body).toMatchObject({ output_config: { effort: "low" } });
  await server.close();
});

test("every provider of the resolver speaks with the server of the tests", async () => {
  const server = await startProviderServer(() => "Here.");
  for (const name of ["claude-opus-5", "gpt-6-sol", "gemini-4-argon", "ollama/x"]) {
    const { blocks } = await ask(await modelsOf(server)(name), [user("Where?")]);
    expect(blocks[0]?.data).toMatchObject({ text: "Here." });
  }
  expect(server.problems).toEqual([]);
  await server.close();
});
