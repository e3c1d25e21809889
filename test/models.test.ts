import { afterEach, describe, expect, test } from "vitest";
import { SessionError } from "../src/core/errors.ts";
import type { Message } from "../src/core/message.ts";
import {
  ask,
  KEY,
  KEY_VARIABLES,
  MODEL_NAMES,
  MODELS,
  type ModelName,
  modelsOf,
  user,
} from "./support/model-under-test.ts";
import {
  type ProviderScript,
  type ProviderServer,
  startProviderServer,
} from "./support/provider-server/provider-server.ts";

const TOOLS = [
  {
    name: "read",
    description: "Reads a file.",
    input_schema: { type: "object", properties: { path: { type: "string" } } },
  },
];

const ANY_SCHEMAS = [
  {},
  { type: "object" },
  { anyOf: [{ required: ["a"] }, { required: ["b"] }], properties: { a: {}, b: { type: "any" } } },
  { $ref: "#/definitions/Args", definitions: { Args: { properties: { all: { type: "array" } } } } },
  {
    allOf: [{ properties: { pair: { type: "array", items: [{ type: "string" }] } } }],
    properties: { above: { type: "number", minimum: 1, exclusiveMinimum: true, required: true } },
  },
];

/** What shows that the reasoning went back: the field that each protocol has for it. */
const SENT_BACK: Record<ModelName, string> = {
  anthropic: '"signature":',
  openai: '"encrypted_content":',
  google: '"thoughtSignature":',
  "openai-compatible": '"reasoning_content":"First I think — hm."',
};

const STOP_REASONS: Record<ModelName, readonly [string, string][]> = {
  anthropic: [
    ["end_turn", "end_turn"],
    ["max_tokens", "max_tokens"],
    ["stop_sequence", "stop_sequence"],
    ["refusal", "content_filter"],
    ["model_context_window_exceeded", "max_tokens"],
  ],
  openai: [
    ["max_output_tokens", "max_tokens"],
    ["content_filter", "content_filter"],
  ],
  google: [
    ["STOP", "end_turn"],
    ["MAX_TOKENS", "max_tokens"],
    ["SAFETY", "content_filter"],
  ],
  "openai-compatible": [
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["content_filter", "content_filter"],
    ["eos", "end_turn"],
  ],
};

const opened: ProviderServer[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

async function open(name: ModelName, script: ProviderScript) {
  const server = await startProviderServer(script);
  opened.push(server);
  return { server, model: await modelsOf(server)(MODELS[name]) };
}

async function failureOf(name: ModelName, script: ProviderScript): Promise<SessionError> {
  const { model } = await open(name, script);
  const error = await ask(model, [user("hello")]).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(SessionError);
  return error as SessionError;
}

describe.each(MODEL_NAMES)("a model of %s", (name) => {
  test("says its text in deltas, and then whole", async () => {
    const { model, server } = await open(name, [{ text: "Grüße, 世界! All good." }]);
    const { chunks, blocks } = await ask(model, [user("hello")], { maxTokens: 100 });
    const deltas = chunks.flatMap((chunk) => (chunk.type === "text_delta" ? [chunk.delta] : []));
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join("")).toBe("Grüße, 世界! All good.");
    expect(blocks.map(({ data }) => "text" in data && data.text)).toEqual([deltas.join("")]);
    expect(chunks.at(-1)?.type).toBe("finish");
    expect(server.requests).toHaveLength(1);
  });

  test("takes its reasoning back byte for byte", async () => {
    const { model, server } = await open(name, [
      { reasoning: "First I think — hm.", text: "Then I speak." },
      "Again.",
    ]);
    const { message, chunks } = await ask(model, [user("hello")]);
    expect(message.blocks[0]).toMatchObject({
      block_type: "reasoning",
      data: { text: "First I think — hm." },
    });
    expect(chunks[0]?.type).toBe("reasoning_delta");
    const stored = JSON.parse(JSON.stringify(message)) as Message;
    await ask(model, [user("hello"), stored, user("and?")]);
    // The server knows its own signatures, and refuses all others.
    expect(server.problems).toEqual([]);
    const sent = JSON.stringify(server.requests[1]?.body);
    expect(sent).toContain(SENT_BACK[name]);
  });

  test("calls several tools at once, and takes the results", async () => {
    const { model, server } = await open(name, [
      {
        reasoning: "Two files.",
        text: "Reading.",
        toolCalls: [
          { id: "call_a", name: "read", args: { path: "a.ts" } },
          { id: "call_b", name: "read", args: {} },
        ],
      },
      "Both read.",
    ]);
    const { message, finish } = await ask(model, [user("read both")], { tools: TOOLS });
    expect(finish.stopReason).toBe("tool_use");
    expect(message.blocks.map(({ block_type }) => block_type)).toEqual([
      "reasoning",
      "text",
      "tool_use",
      "tool_use",
    ]);
    expect(message.blocks[2]?.data).toMatchObject({
      id: "call_a",
      name: "read",
      args: { path: "a.ts" },
    });
    const results: Message = {
      role: "tool_results",
      results: [
        { tool_use_id: "call_a", content: "text of a", is_error: false },
        { tool_use_id: "call_b", content: "", is_error: true },
      ],
    };
    await ask(model, [user("read both"), message, results], { tools: TOOLS });
    expect(server.problems).toEqual([]);
    expect(JSON.stringify(server.requests[1]?.body)).toContain("text of a");
  });

  test("takes tools that describe their arguments in any JSON Schema", async () => {
    const { server, model } = await open(name, ["ok", "ok"]);
    const tools = ANY_SCHEMAS.map((input_schema, at) => ({
      name: `tool_${at}`,
      description: "Half of a character: \ud83d",
      input_schema,
    }));
    await ask(model, [user("hello")], { tools });
    expect(server.problems).toEqual([]);
  });

  test("yields a call with broken arguments as the text that they are, and takes it back", async () => {
    const rawArgs = '{"path": "a.ts';
    const { model, server } = await open(name, [
      { toolCalls: [{ id: "call_a", name: "read", rawArgs }] },
      "Sorry.",
    ]);
    const { message } = await ask(model, [user("read")], { tools: TOOLS });
    expect(message.blocks[0]?.data).toMatchObject({ id: "call_a", args: rawArgs });
    const content = '{"error":"invalid_arguments"}';
    const results: Message = {
      role: "tool_results",
      results: [{ tool_use_id: "call_a", content, is_error: true }],
    };
    await ask(model, [user("read"), message, results], { tools: TOOLS });
    expect(server.problems).toEqual([]);
  });

  test("counts tokens as the provider does, cached ones included", async () => {
    const usage = { input: 1000, output: 20, cacheRead: 700, cacheWrite: 200 };
    const { model } = await open(name, [{ text: "ok", usage }]);
    const { finish } = await ask(model, [user("hello")]);
    expect(finish.usage).toEqual({
      input_tokens: 1000,
      output_tokens: 20,
      cache_read_tokens: 700,
      // Only Anthropic tells what was written to its cache.
      cache_creation_tokens: name === "anthropic" ? 200 : null,
    });
  });

  test.each(STOP_REASONS[name])("stops for %s as %s", async (stopReason, expected) => {
    const { model } = await open(name, [{ text: "so", stopReason }]);
    const { finish } = await ask(model, [user("hello")]);
    expect(finish.stopReason).toBe(expected);
  });

  test("waits as long as a 429 says", async () => {
    const busy = { status: 429, message: "Slow down.", code: "rate_limit_error" };
    const inSeconds = await failureOf(name, [{ ...busy, headers: { "retry-after": "2" } }]);
    expect(inSeconds.code).toBe("PROVIDER_ERROR");
    expect(inSeconds.message).toContain("Slow down.");
    expect(inSeconds.retry).toEqual({ afterMs: 2000 });
    const exact = { "retry-after": "2", "retry-after-ms": "1500" };
    expect((await failureOf(name, [{ ...busy, headers: exact }])).retry).toEqual({ afterMs: 1500 });
    const past = { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" };
    expect((await failureOf(name, [{ ...busy, headers: past }])).retry).toEqual({ afterMs: 0 });
    expect((await failureOf(name, [busy])).retry).toEqual({});
  });

  test.each([500, 502, 503, 529])("may be tried again after a %i", async (status) => {
    const error = await failureOf(name, [
      { status, message: "Overloaded", code: "overloaded_error" },
    ]);
    expect(error.code).toBe("PROVIDER_ERROR");
    expect(error.retry).toEqual({});
    expect(error.message).toContain(`HTTP ${status}: Overloaded`);
  });

  test.each([400, 401, 403, 404])("is not tried again after a %i", async (status) => {
    const message = `No: ${KEY} or Bearer ${KEY} at http://me:secret@host/`;
    const error = await failureOf(name, [{ status, message, code: "nope" }]);
    expect(error.code).toBe("PROVIDER_ERROR");
    expect(error.retry).toBeUndefined();
    expect(error.message).toContain("[redacted]");
    expect(`${error.message} ${error.hint}`).not.toMatch(/0123456789|secret/);
    if (status === 401 || status === 403) expect(error.hint).toContain(KEY_VARIABLES[name]);
  });

  test("says little of a gateway's error page", async () => {
    const body = `<html>${"x".repeat(9000)}</html>`;
    const error = await failureOf(name, [{ status: 502, message: "", body }]);
    expect(error.message).toContain("HTTP 502: Bad Gateway");
    expect(error.message.length).toBeLessThan(700);
  });

  test.each(["cut", "end"] as const)(
    "may be tried again when its answer is %s short",
    async (interruption) => {
      const error = await failureOf(name, [{ text: "a long answer, of many words", interruption }]);
      expect(error.code).toBe("PROVIDER_ERROR");
      expect(error.retry).toEqual({});
    },
  );

  test("may be tried again when its provider breaks down in the middle", async () => {
    const streamError = { message: "Overloaded", code: "overloaded_error" };
    const error = await failureOf(name, [{ text: "a long answer, of many words", streamError }]);
    expect(error.code).toBe("PROVIDER_ERROR");
    expect(error.message).toContain("Overloaded");
    expect(error.retry).toEqual({});
  });

  test("may be tried again when there is no server", async () => {
    const { model, server } = await open(name, []);
    await server.close();
    opened.pop();
    const error = await ask(model, [user("hello")]).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", retry: {} });
    expect(String(error)).toContain("ECONNREFUSED");
  });

  test("knows the provider's words for a history that is too long", async () => {
    const error = await failureOf(name, ["context-too-long"]);
    expect(error.code).toBe("CONTEXT_WINDOW_EXCEEDED");
    expect(error.retry).toBeUndefined();
  });

  test("knows them in the middle of a stream", async () => {
    const message = "This model's maximum context length is 8192 tokens.";
    const streamError = { message, code: "context_length_exceeded" };
    const error = await failureOf(name, [{ text: "a long answer, of many words", streamError }]);
    expect(error.code).toBe("CONTEXT_WINDOW_EXCEEDED");
  });

  test("does not take a limit of tokens per minute for them", async () => {
    const message =
      "Request too large on tokens per min (TPM): Limit 30000, Requested 40000. Please reduce the length of the messages.";
    const error = await failureOf(name, [{ status: 429, message, code: "rate_limit_exceeded" }]);
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", retry: {} });
  });

  test("ends its request when the turn is interrupted, with the reason of the interruption", async () => {
    const script: ProviderScript = [{ text: "a long answer, of many words", interruption: "hang" }];
    const { model, server } = await open(name, script);
    const controller = new AbortController();
    const reason = new Error("the user pressed Ctrl-C");
    const answer = (async () => {
      const request = { messages: [user("hello")], tools: [], signal: controller.signal };
      for await (const chunk of model.stream(request)) {
        if (chunk.type === "text_delta") controller.abort(reason);
      }
    })();
    await expect(answer).rejects.toBe(reason);
    await server.requests[0]?.closed;
  });

  test("asks nothing when the turn is interrupted already", async () => {
    const { model, server } = await open(name, []);
    const reason = new Error("too late");
    const signal = AbortSignal.abort(reason);
    await expect(ask(model, [user("hello")], { signal })).rejects.toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test("ends its request when nobody listens any more", async () => {
    const script: ProviderScript = [{ text: "a long answer, of many words", interruption: "hang" }];
    const { model, server } = await open(name, script);
    const request = { messages: [user("hello")], tools: [], signal: new AbortController().signal };
    for await (const _ of model.stream(request)) break;
    await server.requests[0]?.closed;
  });
});

test("Anthropic's redacted thinking goes back as it came", async () => {
  const { model, server } = await open("anthropic", [
    { redactedReasoning: true, text: "Hi." },
    "ok",
  ]);
  const { message } = await ask(model, [user("hello")]);
  expect(message.blocks[0]).toMatchObject({ block_type: "reasoning", data: { text: "" } });
  await ask(model, [user("hello"), message, user("and?")]);
  expect(server.problems).toEqual([]);
  expect(JSON.stringify(server.requests[1]?.body)).toContain("redacted_thinking");
});

test("a signature of Google's goes back although it signed no text", async () => {
  const { model, server } = await open("google", [{ reasoning: "Hm." }, "ok"]);
  const { message } = await ask(model, [user("hello")]);
  await ask(model, [user("hello"), message, user("and?")]);
  expect(server.problems).toEqual([]);
  expect(JSON.stringify(server.requests[1]?.body)).toContain('"thoughtSignature":');
});

test("an answer of Anthropic's that paused is gone on with", async () => {
  const { model, server } = await open("anthropic", [
    { text: "Searching [paused]", stopReason: "pause_turn" },
    "Found.",
  ]);
  const { message } = await ask(model, [user("search")]);
  expect(message.stop_reason).toBe("pause_turn");
  await ask(model, [user("search"), message]);
  expect(server.problems).toEqual([]);
  expect(server.requests[1]?.body.messages).toHaveLength(2);
});

test("Anthropic caches, and drops thinking that is bound to a history that was compacted", async () => {
  const { server } = await open("anthropic", []);
  const models = modelsOf(server);
  await ask(await models("anthropic/claude-opus-5-5"), [user("hello")]);
  await ask(await models("anthropic/claude-opus-4-8"), [user("hello")]);
  const [bound, free] = server.requests;
  expect(bound?.body.thinking).toEqual({
    block_binding: { prefix_mismatch_behavior: "drop_block" },
  });
  expect(free?.body).not.toHaveProperty("thinking");
  expect(free?.body.cache_control).toEqual({ type: "ephemeral" });
});

test("Google's wait is in the body of its refusal", async () => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }];
  const error = { code: 429, message: "Quota exceeded.", status: "RESOURCE_EXHAUSTED", details };
  const failure = { status: 429, message: "", body: JSON.stringify({ error }) };
  expect((await failureOf("google", [failure])).retry).toEqual({ afterMs: 34_500 });
});

test("a quota that is used up is not waited for", async () => {
  const failure = { status: 429, message: "You exceeded your quota.", code: "insufficient_quota" };
  expect((await failureOf("openai", [failure])).retry).toBeUndefined();
});

test.each([
  ["vLLM", '{"object":"error","message":"The model is loading.","code":503}'],
  ["Ollama", '{"error":"The model is loading."}'],
  ["FastAPI", '{"detail":"The model is loading."}'],
  ["a plain server", "The model is loading."],
])("%s's own words are in the error", async (_, body) => {
  const error = await failureOf("openai-compatible", [{ status: 503, message: "", body }]);
  expect(error.message).toContain("HTTP 503: The model is loading.");
});
