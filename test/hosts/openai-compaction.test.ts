import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import {
  generateText,
  type LanguageModel,
  type ModelMessage,
  streamText,
  tool,
  wrapLanguageModel,
} from "ai";
import { createSessionService } from "rkat";
import { rkatMiddleware } from "rkat/ai-sdk";
import { sqliteStores } from "rkat/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

type Item = Readonly<Record<string, unknown>>;

interface Asked {
  readonly path: string;
  readonly body: Item;
  readonly items: readonly Item[];
}

type Reply = "item" | "text" | "nothing" | "refusal" | "hang";

const WORDS = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  8,
);
const OWN =
  "The user and the assistant talked of the crane, the cargo, the quay, the pilot and the tide.";

const last = ({ items }: Asked) => items.at(-1);
const isTrigger = (asked: Asked) => last(asked)?.type === "compaction_trigger";
/** A request for a summary of the usual kind, by a record or at the end of the conversation. */
const isOwn = ({ body }: Asked) => JSON.stringify(body).includes("CONTEXT COMPACTION");
const itemsIn = ({ items }: Asked) => items.filter(({ type }) => type === "compaction");

/** A server of OpenAI's Responses API and of Anthropic's messages. `compacts` says what comes of each trigger. */
async function serve({
  compacts = () => "item",
  cached = 0.95,
  refuses = () => false,
}: {
  readonly compacts?: (number: number) => Reply;
  readonly cached?: number;
  readonly refuses?: (asked: Asked) => boolean;
} = {}) {
  const asked: Asked[] = [];
  let made = 0;
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Item;
    const path = request.url ?? "";
    const one = { path, body, items: (body.input ?? body.messages) as readonly Item[] };
    asked.push(one);
    const send = (status: number, answer: object) =>
      response
        .writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify(answer));
    const reply = isTrigger(one) ? compacts(made) : "text";
    if (isTrigger(one)) made += 1;
    if (reply === "hang") return;
    if (reply === "refusal" || refuses(one)) {
      const error = { message: "Invalid input.", type: "invalid_request_error", code: "no" };
      return send(400, { error });
    }
    const said = isOwn(one) ? OWN : `Done. ${WORDS}`;
    const tokens = Math.ceil(JSON.stringify(one.items).length / 4);
    const read = Math.floor(tokens * cached);
    if (path.endsWith("/messages")) {
      return send(200, {
        type: "message",
        role: "assistant",
        model: "claude",
        id: `msg_${asked.length}`,
        content: [{ type: "text", text: said }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: tokens, output_tokens: 20 },
      });
    }
    if (path.endsWith("/completions")) {
      const message = { role: "assistant", content: said };
      const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 };
      return send(200, { choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    }
    const compaction = {
      type: "compaction",
      id: `cmp_${made}`,
      encrypted_content: `sealed ${made}`,
    };
    const message = {
      type: "message",
      id: `msg_${asked.length}`,
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: said, annotations: [] }],
    };
    const output = reply === "item" ? [compaction] : reply === "nothing" ? [] : [message];
    const details = { input_tokens_details: { cached_tokens: read } };
    const usage = { input_tokens: tokens, output_tokens: 20, total_tokens: tokens + 20 };
    const answer = {
      id: `resp_${asked.length}`,
      object: "response",
      created_at: 0,
      model: "gpt-5",
      output,
      usage: { ...usage, ...details },
    };
    if (!body.stream) return send(200, answer);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const events = [
      { type: "response.created", response: { ...answer, output: [] } },
      ...output.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item: { ...item, content: [] } },
        { type: "response.output_text.delta", item_id: item.id, delta: said, logprobs: null },
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: answer },
    ];
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const options = { apiKey: "local", baseURL: `http://127.0.0.1:${port}/v1` };
  return { asked, openai: createOpenAI(options), anthropic: createAnthropic(options) };
}

const tools = {
  read: tool({
    description: "Reads a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: ({ path }) => `${path} is empty.`,
  }),
};

type Middleware = ReturnType<typeof rkatMiddleware>;

/** A chat that keeps all of its messages, and goes on turn by turn. */
function chatWith(middleware: () => Middleware) {
  const messages: ModelMessage[] = [];
  return async (given: LanguageModel, { store = false, streams = false, signal = {} } = {}) => {
    const model = wrapLanguageModel({ model: given as never, middleware: middleware() as never });
    const turn = messages.length / 2;
    const rule = turn === 0 ? "Never start the crane by night. " : "";
    messages.push({ role: "user", content: `${rule}Task ${turn}: ${WORDS}` });
    const request = {
      model,
      messages,
      tools,
      instructions: "You are a harbour pilot.",
      maxRetries: 0,
      maxOutputTokens: 500,
      providerOptions: { openai: { store }, rkat: { chatId: "harbour" } },
      ...signal,
    };
    if (streams) {
      const result = streamText(request);
      await result.consumeStream();
      messages.push(...(await result.response).messages);
      return;
    }
    messages.push(...(await generateText(request)).response.messages);
  };
}

async function talk(
  { openai, asked }: Awaited<ReturnType<typeof serve>>,
  { turns = 16, ...more }: { turns?: number; store?: boolean; streams?: boolean } = {},
) {
  const rkat = rkatMiddleware({ contextWindow: 6_000, compaction: "provider" });
  const say = chatWith(() => rkat);
  for (let turn = 0; turn < turns; turn += 1) await say(openai("gpt-5"), more);
  return asked;
}

test.each([false, true])(
  "OpenAI's item of the cached request stands beside people's words and a summary without a model (stream: %s)",
  async (streams) => {
    const asked = await talk(await serve(), { streams, turns: 40 });
    const at = asked.findIndex(isTrigger);
    expect(at).toBeGreaterThan(0);
    expect(asked.filter(isOwn)).toEqual([]);
    const [before, request, after] = asked.slice(at - 1, at + 2) as [Asked, Asked, Asked];
    // The provider has it in its cache, but for the newest messages: it begins as what was sent before.
    expect(request.body).toMatchObject({
      tools: before.body.tools,
      store: false,
    });
    expect(request.items.slice(0, before.items.length)).toEqual(before.items);
    expect(request.items.length).toBe(before.items.length + 3);
    expect(request.body.max_output_tokens).toBeUndefined();
    const sent = JSON.stringify(after.items);
    expect(sent.length).toBeLessThan(JSON.stringify(before.items).length);
    expect(sent).toContain("Never start the crane by night.");
    expect(sent).toContain("What the user said earlier, word for word");
    const item = { type: "compaction", id: "cmp_1", encrypted_content: "sealed 1" };
    expect(itemsIn(after)).toEqual([item]);
    // It is there in each later request, and the next item is made of it.
    const next = asked.findIndex((one, index) => index > at && isTrigger(one));
    for (const one of asked.slice(at + 1, next)) expect(itemsIn(one)).toEqual([item]);
    expect(itemsIn(asked[next] as Asked)).toEqual([item]);
    expect(itemsIn(asked[next + 1] as Asked)).toMatchObject([{ id: "cmp_2" }]);
  },
);

test("an item that OpenAI stores is named by its id", async () => {
  const asked = await talk(await serve(), { store: true });
  const at = asked.findIndex(isTrigger);
  expect(asked[at]?.body.store).toBe(true);
  expect(asked[at + 1]?.items).toContainEqual({ type: "item_reference", id: "cmp_1" });
});

test("a request that is not in the provider's cache is summarised as without the setting", async () => {
  const asked = await talk(await serve({ cached: 0 }));
  expect(asked.filter(isTrigger)).toEqual([]);
  expect(asked.filter(isOwn).length).toBeGreaterThan(0);
});

test.each([
  ["no output", "nothing", 1],
  ["an answer as if nobody had asked for an item", "text", 1],
  ["a refusal", "refusal", 2],
] as const)("after %s, the own summariser is asked", async (_, reply, times) => {
  const asked = await talk(await serve({ compacts: () => reply }), { turns: 48 });
  const at = asked.findIndex(isTrigger);
  expect(at).toBeGreaterThan(0);
  expect(isOwn(asked[at + 1] as Asked)).toBe(true);
  expect(JSON.stringify(asked[at + 2]?.items)).toContain(OWN);
  expect(asked.flatMap(itemsIn)).toEqual([]);
  // A model that gave none is not asked again, and one that refused is, but for the next compaction.
  const tries = asked.filter(isTrigger).length;
  if (times === 1) expect(tries).toBe(1);
  else expect(tries).toBeGreaterThan(1);
});

test("an abort while OpenAI makes an item ends the call, and the next goes on", async () => {
  const server = await serve({ compacts: (number) => (number === 0 ? "hang" : "item") });
  const rkat = rkatMiddleware({ contextWindow: 6_000, compaction: "provider" });
  const say = chatWith(() => rkat);
  const { asked, openai } = server;
  const stop = new AbortController();
  const watch = setInterval(() => {
    if (asked.some(isTrigger)) stop.abort(new Error("stopped"));
  }, 5);
  onTestFinished(() => clearInterval(watch));
  const talking = async () => {
    for (let turn = 0; turn < 16; turn += 1) {
      await say(openai("gpt-5"), { signal: { abortSignal: stop.signal } });
    }
  };
  await expect(talking()).rejects.toThrow("stopped");
  expect(isTrigger(asked.at(-1) as Asked)).toBe(true);
  while (asked.filter(isTrigger).length < 2) await say(openai("gpt-5"));
  expect(itemsIn(asked.at(-1) as Asked)).toHaveLength(1);
});

test("an item that OpenAI does not take any more makes no call fail", async () => {
  const server = await serve({ refuses: (one) => !isTrigger(one) && itemsIn(one).length > 0 });
  const asked = await talk(server, { turns: 24 });
  const at = asked.findIndex((one) => itemsIn(one).length > 0);
  expect(at).toBeGreaterThan(0);
  const without = (asked[at] as Asked).items.filter(({ type }) => type !== "compaction");
  expect(asked[at + 1]?.items).toEqual(without);
  // The chat goes on as without the setting.
  expect(asked.slice(at + 1).flatMap(itemsIn)).toEqual([]);
  expect(asked.slice(at + 1).filter(isTrigger)).toEqual([]);
  expect(asked.slice(at + 1).some(isOwn)).toBe(true);
});

test("another model and another provider are sent the words without the item, and it is there after the way back", async () => {
  const { asked, openai, anthropic } = await serve();
  const rkat = rkatMiddleware({ contextWindow: 6_000, compaction: "provider" });
  const say = chatWith(() => rkat);
  while (!asked.some(isTrigger)) await say(openai("gpt-5"));
  const kept = "What the user said earlier, word for word";
  for (const model of [
    openai("gpt-5-mini"),
    anthropic("claude-sonnet-4-5"),
    openai.chat("gpt-5"),
  ]) {
    await say(model);
    const sent = JSON.stringify(asked.at(-1)?.body);
    expect(sent).toContain(kept);
    expect(sent).not.toContain("sealed");
  }
  await say(openai("gpt-5"));
  expect(itemsIn(asked.at(-1) as Asked)).toMatchObject([{ id: "cmp_1" }]);
});

test("with stores, another process goes on with the item, and forgetting a text takes it away", async () => {
  const folder = mkdtempSync(join(tmpdir(), "rkat-item-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { asked, openai } = await serve();
  const open = () => {
    const stores = sqliteStores({ path: join(folder, "rkat.db") });
    const rkat = rkatMiddleware({ contextWindow: 6_000, compaction: "provider", stores });
    const close = async () => {
      await rkat.close();
      await stores.close();
    };
    return { stores, rkat, close };
  };
  let program = open();
  const say = chatWith(() => program.rkat);
  while (!asked.some(isTrigger)) await say(openai("gpt-5"));
  const sent = asked.at(-1) as Asked;
  await program.close();
  program = open();
  await say(openai("gpt-5"));
  expect(asked.at(-1)?.items.slice(0, sent.items.length)).toEqual(sent.items);
  expect(asked.filter(isTrigger)).toHaveLength(1);
  const sessions = createSessionService({ model: "none", stores: program.stores });
  const [hit] = await sessions.searchMemory({ query: "never start the crane by night", limit: 1 });
  await sessions.forgetMemory({ ids: [hit?.id ?? ""] });
  await sessions.close();
  const events = await Array.fromAsync(program.stores.events.read("chat:harbour", 0));
  expect(JSON.stringify(events)).not.toContain("sealed");
  const before = asked.length;
  for (let turn = 0; turn < 8; turn += 1) await say(openai("gpt-5"));
  expect(asked.slice(before).flatMap(itemsIn)).toEqual([]);
  expect(asked.slice(before).filter(isTrigger)).toEqual([]);
  await program.close();
});

test("in Mastra, the model of an agent that is wrapped in the middleware is sent OpenAI's item", async () => {
  const { asked, openai } = await serve();
  const middleware = rkatMiddleware({ contextWindow: 6_000, compaction: "provider" }) as never;
  const model = wrapLanguageModel({ model: openai("gpt-5"), middleware });
  const instructions = "You are a harbour pilot.";
  const agent = new Agent({ id: "pilot", name: "Pilot", instructions, model: model as never });
  const providerOptions = { rkat: { chatId: "harbour" }, openai: { store: false } };
  const said: { role: "user" | "assistant"; content: string }[] = [];
  for (let turn = 0; turn < 30; turn += 1) {
    said.push({ role: "user", content: `Task ${said.length}: ${WORDS}` });
    const { text: answer } = await agent.generate(said as never, { providerOptions } as never);
    said.push({ role: "assistant", content: answer });
  }
  expect(
    asked
      .filter(isTrigger)
      .map((one) => itemsIn(one).length)
      .slice(0, 2),
  ).toEqual([0, 1]);
});
