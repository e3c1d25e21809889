import { expect, test } from "vitest";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type { MessageView } from "../window/message-view.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { langChainView } from "./langchain-messages.ts";
import { langChainMiddleware } from "./langchain-middleware.ts";
import { ItemWindow, inputFilter } from "./openai-filter.ts";
import { itemView } from "./openai-items.ts";

const WORDS = "and so on, word by word, ".repeat(40);

/** A history of turns with an item of a provider early in it, and whether that is still in what is sent. */
async function stays<Message extends object>(
  view: MessageView<Message>,
  item: Message,
  turn: (index: number) => readonly Message[],
): Promise<boolean> {
  const turns = Array.from({ length: 30 }, (_, index) => turn(index));
  const messages = [...turns.slice(0, 3).flat(), item, ...turns.slice(3).flat()];
  const window = createHistoryWindow<Message>({
    view,
    contextWindow: 8_000,
    summarize: async () => "They talked about words.",
  });
  const { messages: sent, outcome } = await window.apply(messages);
  expect(outcome).toBe("compacted");
  expect(sent.length).toBeLessThan(messages.length / 2);
  const again = await window.apply([...messages, ...turn(31)]);
  return sent.includes(item) && again.messages.includes(item);
}

const aiSdkTurn = (index: number) =>
  [
    { role: "user", content: `Question ${index}: ${WORDS}` },
    { role: "assistant", content: [{ type: "text", text: `Answer ${index}: ${WORDS}` }] },
  ] as never;

test("AI SDK: what OpenAI or Anthropic put in the place of earlier messages never leaves", async () => {
  const providerOptions = { openai: { type: "compaction", encryptedContent: "opaque" } };
  const marked = { anthropic: { type: "compaction" } };
  for (const content of [
    [{ type: "custom", kind: "openai.compaction", providerOptions }],
    [{ type: "text", text: "Earlier, they talked.", providerOptions: marked }],
  ]) {
    const item = { role: "assistant", content } as never;
    expect(await stays(aiSdkView, item, aiSdkTurn)).toBe(true);
  }
});

test("AI SDK: another provider is sent the history that the item of the former one stood for", async () => {
  const item = {
    role: "assistant",
    content: [
      { type: "custom", kind: "openai.compaction", providerOptions: { openai: { itemId: "cmp" } } },
    ],
  } as never;
  const [first = [], ...others] = Array.from({ length: 40 }, (_, index) => aiSdkTurn(index));
  const messages = [...first, item, ...others.flat()] as never;
  const asked: string[] = [];
  const prepareStep = prepareStepWith({
    contextWindow: 8_000,
    chatId: () => "chat",
    summarize: async (request) => {
      asked.push(JSON.stringify(request.messages));
      return "They talked about words.";
    },
  });
  const modelOf = (provider: string) => ({
    provider,
    modelId: "m",
    doGenerate: async () => ({ content: [] }),
  });
  const send = async (provider: string) =>
    (await prepareStep({ messages, steps: [], model: modelOf(provider) })).messages;
  expect(await send("openai.responses")).toContain(item);
  expect(await send("azure.responses")).toContain(item);
  expect(await send("anthropic.messages")).not.toContain(item);
  expect(asked.at(-1)).toContain("Question 0:");
  expect(await send("openai.responses")).toContain(item);
  expect(asked).toHaveLength(2);
});

test("AI SDK: another provider is sent no part that only its maker reads, and a call of the host's own tool", async () => {
  const own = (maker: string) => ({ [maker]: { signature: "opaque" } });
  const call = { type: "tool-call", toolCallId: "c", toolName: "read", input: {} };
  const searched = (id: string) => [
    { ...call, toolCallId: id, toolName: "web_search", providerExecuted: true },
    { type: "tool-result", toolCallId: id, toolName: "web_search", output: { type: "json" } },
  ];
  const text = { type: "text", text: "It is green." };
  const unknown = { type: "reasoning", text: "Hm." };
  const signed = { type: "reasoning", text: "Hm.", providerOptions: own("anthropic") };
  const sealed = { type: "reasoning", text: "Hm.", providerOptions: own("openai") };
  const kinds = [
    { provider: "anthropic.messages", content: [signed, ...searched("srvtoolu_1")] },
    { provider: "openai.responses", content: [sealed, ...searched("ws_1")] },
  ];
  const all = kinds.flatMap(({ content }) => content);
  const result = { type: "tool-result", toolCallId: "c", toolName: "read", output: text };
  const messages = [
    { role: "user", content: "Look." },
    { role: "assistant", content: [unknown, ...all, call] },
    { role: "tool", content: [result] },
    { role: "assistant", content: [text] },
  ] as never;
  const prepareStep = prepareStepWith({ contextWindow: 8_000, summarize: "fallback" });
  for (const { provider, content } of kinds) {
    const model = { provider, modelId: "m", doGenerate: async () => ({ content: [] }) };
    const { messages: sent } = await prepareStep({ messages, steps: [], model });
    const expected = { role: "assistant", content: [unknown, ...content, call] };
    expect(sent).toEqual((messages as object[]).with(1, expected));
  }
});

test("AI SDK: a call that the provider runs by itself is not parted from its result in a later answer", async () => {
  const part = { toolCallId: "srvtoolu_1", toolName: "code_execution" };
  const code = { type: "tool-call", ...part, input: {}, providerExecuted: true };
  const read = { toolCallId: "c", toolName: "read" };
  const output = { type: "text", value: WORDS };
  const start = [
    { role: "user", content: "Count the words." },
    { role: "assistant", content: [code, { type: "tool-call", ...read, input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...read, output }] },
  ];
  const done = { role: "assistant", content: [{ type: "tool-result", ...part, output }] };
  const more = (count: number) =>
    Array.from({ length: count }, (_, index) => {
      const each = { toolCallId: `c${index}`, toolName: "read" };
      return [
        { role: "assistant", content: [{ type: "tool-call", ...each, input: {} }] },
        { role: "tool", content: [{ type: "tool-result", ...each, output }] },
      ];
    }).flat();
  const sent = async (messages: readonly object[]) => {
    const options = { view: aiSdkView, contextWindow: 3_000, summarize: "fallback" } as const;
    const window = createHistoryWindow<never>(options as never);
    return (await window.apply(messages as never)).messages as readonly object[];
  };
  // While it runs, it stays.
  const running = await sent([...start, ...more(12)]);
  expect(running.length).toBeLessThan(15);
  expect(running).toContain(start[1]);
  for (const count of [2, 4, 6, 8, 10]) {
    const whole = await sent([...more(12 - count), ...start, done, ...more(count)]);
    expect(whole.length).toBeLessThan(20);
    expect(whole.includes(start[1] as object)).toBe(whole.includes(done));
  }
});

test("OpenAI Agents: an item of the type compaction never leaves", async () => {
  const item = { type: "compaction", encrypted_content: "opaque" } as never;
  const turn = (index: number) =>
    [
      { type: "message", role: "user", content: `Question ${index}: ${WORDS}` },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: `Answer ${index}: ${WORDS}` }],
      },
    ] as never;
  expect(await stays(itemView, item, turn)).toBe(true);
});

test("an item right behind a summary stays when that is replaced", async () => {
  const message = (role: string, text: string) => ({ type: "message", role, content: text });
  const turn = (index: number) => [
    message("user", `Question ${index}: ${WORDS}`),
    message("assistant", `Answer ${index}: ${WORDS}`),
  ];
  const window = createHistoryWindow<object>({
    view: itemView as MessageView<object>,
    contextWindow: 8_000,
    summarize: async () => "They talked about words.",
  });
  const start = Array.from({ length: 10 }, (_, index) => turn(index)).flat();
  const first = await window.apply(start, { force: true });
  const item = { type: "compaction", encrypted_content: "opaque" };
  const [summary = {}] = first.messages;
  const rest = Array.from({ length: 30 }, (_, index) => turn(10 + index)).flat();
  const { messages, outcome } = await window.apply([summary, item, ...rest], { edited: true });
  expect(outcome).toBe("compacted");
  expect(messages).toContain(item);
});

test("LangChain: a block of the type compaction never leaves", async () => {
  const item = {
    type: "ai",
    content: [{ type: "compaction", content: "Earlier, they talked." }],
  } as never;
  const turn = (index: number) =>
    [
      { type: "human", content: `Question ${index}: ${WORDS}` },
      { type: "ai", content: `Answer ${index}: ${WORDS}` },
    ] as never;
  expect(await stays(langChainView, item, turn)).toBe(true);
});

test("LangChain: another provider is sent the text and the calls of an answer, and the state keeps it whole", async () => {
  const answer = {
    type: "ai",
    id: "a",
    content: [
      { type: "reasoning", reasoning: "Hm.", encrypted_content: "opaque" },
      { type: "compaction", encrypted_content: "opaque" },
      { type: "text", text: "I look.", annotations: ["opaque"] },
      { type: "tool_call", id: "c", name: "look", args: {} },
    ],
    tool_calls: [{ id: "c", name: "look", args: {} }],
    additional_kwargs: { reasoning: "opaque", tool_outputs: ["opaque"] },
    response_metadata: { model_provider: "openai", output: ["opaque"] },
    lc_kwargs: {},
  };
  const only = { ...answer, id: "b", content: [answer.content[1]], tool_calls: [] };
  const turn = (index: number) => [
    { type: "human", content: `Question ${index}: ${WORDS}` },
    { type: "ai", content: `Answer ${index}: ${WORDS}` },
  ];
  const start = [
    { type: "human", content: "Look." },
    answer,
    { type: "tool", tool_call_id: "c", content: "It is green." },
    only,
  ];
  const end = Array.from({ length: 40 }, (_, index) => turn(index)).flat();
  const middleware = langChainMiddleware({ contextWindow: 8_000, summarize: "fallback" });
  const send = async (kind: string, messages: readonly object[]) => {
    const runtime = { configurable: { thread_id: "t" } };
    const model = { _llmType: () => kind, invoke: async () => ({ content: "" }) };
    const request = { model, messages, state: { messages }, runtime } as never;
    const sent = await middleware.wrapModelCall(request, ({ messages }) => messages);
    const adopted = middleware.afterModel({ messages: messages as never }, runtime);
    return { sent: JSON.stringify(sent), same: sent as readonly object[], adopted };
  };
  const { sent } = await send("anthropic", start);
  expect(sent).not.toContain("opaque");
  expect(sent).toContain("I look.");
  expect(sent).toContain('"tool_calls":[{"id":"c"');
  for (const kind of ["openai", "azure_openai", "some_server"]) {
    expect((await send(kind, start)).same).toEqual(start);
  }
  const later = await send("google-genai", [...end, ...start]);
  expect(later.sent).not.toContain("opaque");
  expect(later.adopted?.messages).toContain(answer);
});

/** Models of the Agents SDK are known by their classes. */
class OpenAIResponsesModel {}
class OpenAIChatCompletionsModel {}
class AiSdkModel {}
class OwnModel {}

test("OpenAI Agents: another provider is sent no item that only one reads", async () => {
  const secret = { type: "reasoning", id: "rs_1", content: [], encrypted_content: "opaque" };
  const signed = {
    type: "reasoning",
    id: "r",
    content: [],
    providerData: { model: "anthropic.messages:claude", signature: "opaque" },
  };
  const searched = { type: "hosted_tool_call", id: "ws_1", name: "web_search", output: "opaque" };
  const compacted = { type: "compaction", encrypted_content: "opaque" };
  const plain = [
    { type: "message", role: "user", content: "Look." },
    { type: "reasoning", id: "rs_2", content: [{ type: "input_text", text: "Hm." }] },
    { type: "function_call", callId: "c", name: "look", arguments: "{}" },
    { type: "function_call_result", callId: "c", output: "It is green." },
  ];
  const input = [compacted, ...plain, secret, searched, signed] as never[];
  const filter = inputFilter(new ItemWindow({ contextWindow: 8_000, summarize: "fallback" }));
  const send = async (model: unknown) =>
    (await filter({ modelData: { input }, agent: { model } })).input;
  expect(await send(new OpenAIResponsesModel())).toEqual([compacted, ...plain, secret, searched]);
  expect(await send(new OpenAIChatCompletionsModel())).toEqual([...plain, signed]);
  expect(await send(new AiSdkModel())).toEqual([...plain, signed]);
  for (const model of [new OwnModel(), "gpt-5", undefined]) {
    expect(await send(model)).toEqual(input);
  }
});
