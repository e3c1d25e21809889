import { expect, test } from "vitest";
import { FORGOTTEN } from "../core/message.ts";
import { estimateTokens } from "../core/tokens.ts";
import { type AiSdkMessage, fromModelMessages } from "../models/model-messages.ts";
import { middlewareWith } from "./ai-sdk-middleware.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";

const WINDOW = 16_000;
const NOTES = "Staging listens on port 4310, behind the old proxy. ".repeat(75);
const RECALLED = "[Recalled from memory]";
const TALK = "The harbour was quiet, and the tide came in as it does each evening. ";

/** A chat with a model, whose memory has these notes for each prompt. */
function chat(notes: (query: string) => string) {
  let found = 0;
  const middleware = middlewareWith(
    {
      contextWindow: WINDOW,
      summarize: async () => "Harbour, tide and evening were talked about.",
    },
    {
      recordOf: unnamed,
      close: async () => {},
      memoryFor: (sessionId) => ({
        sessionId,
        recallTokens: 1_500,
        pinned: async () => [],
        bar: async () => 0.42,
        failed: (error) => expect.fail(String(error)),
        search: async ({ query }) => {
          found += 1;
          const id = `note ${found}`;
          const content = `${notes(query)} ${id}`;
          return [{ id, content, sessionId: "notes", turn: 0, kind: "message", score: 0.9 }];
        },
      }),
    },
  );
  return async (prompt: readonly AiSdkMessage[]) => {
    const sent = await middleware.transformParams({ params: { prompt }, model: {} });
    return sent.prompt;
  };
}

/** A chat without an id is not stored. */
function unnamed(): never {
  throw new Error("The chat has no id.");
}

const said = (role: "user" | "assistant", text: string): AiSdkMessage => {
  const part: { readonly type: string; readonly text: string } = { type: "text", text };
  return { role, content: [part] };
};
const user = (text: string) => said("user", text);
const answer = (text: string) => said("assistant", text);
const tokensOf = (prompt: readonly AiSdkMessage[]) => estimateTokens(fromModelMessages(prompt));

test("records never make a long chat fail, and come back after a compaction", async () => {
  const send = chat(() => NOTES);
  const talk: AiSdkMessage[] = [{ role: "system", content: "Be brief." }];
  const additions: number[] = [];
  for (let turn = 0; turn < 80; turn += 1) {
    talk.push(user(`${turn}: ${TALK}`));
    const sent = await send(talk);
    expect(tokensOf(sent)).toBeLessThan(WINDOW);
    additions.push(JSON.stringify(sent).split(RECALLED).length - 1);
    talk.push(answer(TALK.repeat(20)));
  }
  expect(additions[0]).toBe(1);
  expect(Math.max(...additions.slice(40))).toBeGreaterThan(0);
});

test("beside a large system prompt nothing comes back, and the call goes on", async () => {
  const send = chat(() => NOTES);
  const system: AiSdkMessage = { role: "system", content: "Always be kind. ".repeat(3_970) };
  const sent = await send([system, user("Which port does staging listen on?")]);
  expect(JSON.stringify(sent).includes(RECALLED)).toBe(false);
  expect(sent.at(-1)).toEqual(user("Which port does staging listen on?"));
});

test("requests begin as the ones before, with what came back, and the prompt is the last", async () => {
  const send = chat((text) => `found for ${text}`);
  const first = await send([user("First harbour")]);
  const second = await send([user("First harbour"), answer("1"), user("Second lighthouse")]);
  expect(second.slice(0, first.length)).toEqual(first);
  expect(JSON.stringify(second)).toContain("found for Second lighthouse");
  expect(second.at(-1)).toEqual(user("Second lighthouse"));
});

/** A message of a chat's record after its text was forgotten. */
const LOST = { kind: "message", mark: "m", key: "k", message: user(FORGOTTEN) };

interface Changed {
  readonly provider?: string;
  readonly modelId?: string;
  readonly params?: object;
  readonly cacheRead?: number;
  readonly items?: readonly object[];
  readonly summarize?: "fallback";
}

test.each<[string, Changed, number]>([
  ["as it is", {}, 1],
  ["of another model", { modelId: "claude-opus-4-8" }, 0],
  ["of another provider", { provider: "openai.responses" }, 0],
  ["that forces a tool", { params: { toolChoice: { type: "required" } } }, 0],
  ["whose answer has a form", { params: { responseFormat: { type: "json" } } }, 0],
  ["that the provider has not in its cache", { cacheRead: 0 }, 0],
  ["of a chat with a forgotten text", { items: [LOST] }, 0],
  ["while summaries cost nothing", { summarize: "fallback" }, 0],
])("Anthropic summarises the last request %s: %j", async (_, now, asked) => {
  const { params = {}, cacheRead = 9_000, items = [], ...given } = now;
  const requests: { readonly providerOptions?: { readonly anthropic?: object } }[] = [];
  const { transformParams, wrapGenerate } = middlewareWith(
    { contextWindow: WINDOW, compaction: "provider", summarize: now.summarize ?? summarize },
    {
      close: async () => {},
      memoryFor: () => ({ recallTokens: 0 }) as never,
      recordOf: () => ({
        change: async () => {},
        read: async () => ({
          items,
          changedAtMs: 0,
          recalled: [],
          refused: new Set<string>(),
          done: () => "no",
        }),
      }),
    },
  );
  const part = { type: "text", text: "Harbour, tide and evening were talked about." };
  const providerMetadata = { anthropic: { type: "compaction" } };
  const doGenerate = async (request: object) => {
    requests.push(request);
    return { content: [{ ...part, providerMetadata }] };
  };
  const model = { provider: "anthropic.messages", modelId: "claude-sonnet-4-5", doGenerate };
  const providerOptions = { rkat: { chatId: "c" } };
  const first = { prompt: talked(60), providerOptions, ...params };
  const sent = await transformParams({ params: first, model });
  const usage = { inputTokens: { total: 0.85 * WINDOW, cacheRead } };
  const answered = async () => ({ usage });
  await wrapGenerate({ params: sent, model: { doGenerate: answered }, doGenerate: answered });
  const prompt = [...talked(60), user("And now?")];
  const next = await transformParams({
    params: { prompt, providerOptions },
    model: { ...model, ...given },
  });
  expect(next.prompt.length).toBeLessThan(prompt.length);
  const own = requests.filter(({ providerOptions }) => {
    return providerOptions?.anthropic && "compaction" in providerOptions.anthropic;
  });
  expect(own).toHaveLength(asked);
});

const TOOLS = Array.from({ length: 60 }, (_, at) => ({
  type: "function",
  name: `tool_${at}`,
  description: TALK.repeat(10),
}));
const TOOLS_TOKENS = Math.ceil(JSON.stringify(TOOLS).length / 4);
const talked = (turns: number) =>
  Array.from({ length: turns }, (_, at) => [user(`${at}: ${TALK}`), answer(TALK.repeat(4))]).flat();
const summarize = async () => "Harbour, tide and evening were talked about.";

test("after a user took a long turn back, its count makes no compaction come early", async () => {
  const { transformParams, wrapGenerate } = middlewareWith({ contextWindow: 8_000, summarize });
  const ask = async (prompt: readonly AiSdkMessage[]) => {
    const sent = await transformParams({ params: { prompt }, model: {} });
    const doGenerate = async () => ({ usage: { inputTokens: tokensOf(sent.prompt) } });
    await wrapGenerate({ params: sent, model: { doGenerate }, doGenerate });
    return sent.prompt;
  };
  const begun = [user("Which tide?"), answer("The evening's.")];
  const long = [...begun, user("Read the log."), answer(TALK.repeat(300)), user("And now?")];
  for (const length of [1, 3, 5]) await ask(long.slice(0, length));
  const other = [...begun, user("Look at the quay."), answer(TALK.repeat(130)), user("Go on.")];
  for (const length of [3, 5])
    expect(await ask(other.slice(0, length))).toEqual(other.slice(0, length));
});

test("the first request of a long chat leaves room for large tools", async () => {
  const contextWindow = TOOLS_TOKENS + 4_000;
  const prompt = [...talked(60), user("And now?")];
  expect(tokensOf(prompt)).toBeGreaterThan(4_000);
  const { transformParams } = middlewareWith({ contextWindow, summarize });
  const sent = await transformParams({ params: { prompt, tools: TOOLS }, model: {} });
  expect(tokensOf(sent.prompt)).toBeLessThan(4_000);

  const prepare = prepareStepWith({ contextWindow, summarize, otherTokens: TOOLS_TOKENS });
  const step = await prepare({ messages: prompt, steps: [], model: {} });
  expect(tokensOf(step.messages)).toBeLessThan(4_000);
});

test("beside tools that take most of the window, a short chat is sent as it is", async () => {
  const prompt = [user("Which port?")];
  const contextWindow = Math.floor(TOOLS_TOKENS / 0.9);
  const { transformParams } = middlewareWith({ contextWindow, summarize });
  const sent = await transformParams({ params: { prompt, tools: TOOLS }, model: {} });
  expect(sent.prompt).toEqual(prompt);
});

test.each(["generate", "stream"])(
  "%s: the provider's count teaches how far the estimate is off",
  async (kind) => {
    const { transformParams, ...wrap } = middlewareWith({ contextWindow: WINDOW, summarize });
    const first = await transformParams({ params: { prompt: talked(60) }, model: {} });
    expect(first.prompt).toHaveLength(120);
    const usage = { inputTokens: { total: 0.85 * WINDOW } };
    if (kind === "generate") {
      const doGenerate = async () => ({ usage });
      await wrap.wrapGenerate({ params: first, model: { doGenerate }, doGenerate });
    } else {
      const doStream = async () => ({
        stream: ReadableStream.from([{ type: "text" }, { type: "finish", usage }]),
      });
      const { stream } = await wrap.wrapStream({ params: first, model: { doStream }, doStream });
      for await (const _ of stream);
    }
    const prompt = [...talked(60), user("And now?")];
    const next = await transformParams({ params: { prompt }, model: {} });
    expect(next.prompt.length).toBeLessThan(prompt.length);
  },
);

test("a `prepareStep` of your own that returns no messages leaves the compacted ones", async () => {
  const next = () => ({ messages: undefined, activeTools: ["read"] });
  const prepare = prepareStepWith({ contextWindow: 4_000, summarize, next });
  const messages = [...talked(60), user("And now?")];
  const step = await prepare({ messages, steps: [], model: {} });
  expect(step.messages.length).toBeLessThan(messages.length);
  expect(step).toHaveProperty("activeTools", ["read"]);
});
