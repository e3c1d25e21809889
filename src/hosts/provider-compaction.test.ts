import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import { SUMMARY_PREFIX } from "../core/message.ts";
import { createHistoryWindow } from "../window/create-history-window.ts";
import type { MessageView } from "../window/message-view.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";
import { aiSdkView } from "./ai-sdk-view.ts";
import { langChainView } from "./langchain-messages.ts";
import { langChainMiddleware } from "./langchain-middleware.ts";
import { inputFilter } from "./openai-filter.ts";
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
  const filter = inputFilter({ contextWindow: 8_000, summarize: "fallback" });
  const send = async (model: unknown) =>
    (await filter({ modelData: { input }, agent: { model } })).input;
  expect(await send(new OpenAIResponsesModel())).toEqual([compacted, ...plain, secret, searched]);
  expect(await send(new OpenAIChatCompletionsModel())).toEqual([...plain, signed]);
  expect(await send(new AiSdkModel())).toEqual([...plain, signed]);
  for (const model of [new OwnModel(), "gpt-5", undefined]) {
    expect(await send(model)).toEqual(input);
  }
});

type Step = "talk" | "reason" | "search" | "compact";

const steps = fc.array(
  fc.constantFrom<Step>("talk", "talk", "talk", "reason", "search", "compact"),
  {
    minLength: 20,
    maxLength: 60,
  },
);

/** The items of a turn of the OpenAI Agents SDK. Only OpenAI reads the encrypted ones, and the results of its own search. */
function itemsOf(step: Step, index: number): readonly Readonly<Record<string, unknown>>[] {
  const callId = `call-${index}`;
  const user = { type: "message", role: "user", content: `Question ${index}: ${WORDS}` };
  const text = { type: "output_text", text: `Answer ${index}: ${WORDS}` };
  const answer = { type: "message", role: "assistant", status: "completed", content: [text] };
  const reasoning = {
    type: "reasoning",
    id: `rs-${index}`,
    content: [],
    encrypted_content: `opaque ${index}`,
  };
  switch (step) {
    case "talk":
      return [user, answer];
    case "reason":
      return [
        user,
        reasoning,
        { type: "function_call", callId, name: "read", arguments: "{}" },
        {
          type: "function_call_result",
          callId,
          name: "read",
          output: { type: "text", text: WORDS.repeat(3) },
        },
        answer,
      ];
    case "search":
      return [
        user,
        reasoning,
        { type: "hosted_tool_call", id: `ws_${index}`, name: "web_search", output: WORDS },
        answer,
      ];
    case "compact":
      return [
        { type: "compaction", id: `cmp-${index}`, encrypted_content: `opaque ${index}` },
        user,
        answer,
      ];
  }
}

/** In the long form, two thousand histories take minutes. */
const CAMPAIGN_MS = 900_000;

test("in random histories nothing that only a provider reads is dropped alone, changed, or parted from what it needs", {
  timeout: CAMPAIGN_MS,
}, async () => {
  let summaries = 0;
  const scenario = fc.record({ steps, copies: fc.boolean(), adopts: fc.boolean() });
  const property = fc.asyncProperty(scenario, async ({ steps, copies, adopts }) => {
    const window = createHistoryWindow<object>({
      view: itemView as MessageView<object>,
      contextWindow: 6_000,
      summarize: async () => {
        summaries += 1;
        return "They talked about words.";
      },
    });
    const whole = steps.map(itemsOf);
    const all = whole.flat();
    const next = new Map(
      all.map((item, at) => [JSON.stringify(item), JSON.stringify(all[at + 1])]),
    );
    const compacted: string[] = [];
    let history: readonly object[] = [];
    for (const items of whole) {
      history = [...history, ...items];
      compacted.push(
        ...items.filter(({ type }) => type === "compaction").map((item) => JSON.stringify(item)),
      );
      const { messages } = await window.apply(copies ? structuredClone(history) : history);
      const sent = messages.map((item) => JSON.stringify(item));
      expect(sent.filter((item) => compacted.includes(item))).toEqual(compacted);
      for (const [at, item] of sent.entries()) {
        if (item.includes(JSON.stringify(SUMMARY_PREFIX).slice(1, -1))) continue;
        if (item.includes("function_call_result")) expect(sent[at - 1]).toContain("function_call");
        else expect(next.has(item)).toBe(true);
        if (item.includes('"reasoning"')) expect(sent[at + 1]).toBe(next.get(item));
      }
      if (adopts) history = messages;
    }
  });
  await fc.assert(property, { numRuns: trials(10, 2_000) });
  expect(summaries).toBeGreaterThan(10);
});

test("in random histories with changes of provider, no item goes to another and none is gone when the first is back", {
  timeout: CAMPAIGN_MS,
}, async () => {
  let compactions = 0;
  const models = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 });
  const scenario = fc.record({ steps, models, copies: fc.boolean() });
  const property = fc.asyncProperty(scenario, async ({ steps, models, copies }) => {
    const filter = inputFilter({
      contextWindow: 6_000,
      summarize: async () => {
        compactions += 1;
        return "They talked about words.";
      },
    });
    const history: object[] = [];
    for (const [at, step] of steps.entries()) {
      history.push(...itemsOf(step, at));
      const isOpenAI = models[at] === true;
      const model = isOpenAI ? new OpenAIResponsesModel() : new OpenAIChatCompletionsModel();
      const input = (copies ? structuredClone(history) : [...history]) as never[];
      const { input: sent } = await filter({ modelData: { input }, agent: { model } });
      const own = (items: readonly object[]) =>
        items.filter((item) => "type" in item && item.type === "compaction");
      expect(own(sent)).toEqual(isOpenAI ? own(history) : []);
      if (!isOpenAI) expect(JSON.stringify(sent)).not.toMatch(/encrypted_content|hosted_tool_call/);
    }
  });
  await fc.assert(property, { numRuns: trials(10, 2_000) });
  expect(compactions).toBeGreaterThan(10);
});
