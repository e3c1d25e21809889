import assert from "node:assert/strict";
import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../test/support/trials.ts";
import type { Summarize } from "../compaction/compact-history.ts";
import type { HostItems, HostRecord } from "../core/host-record.ts";
import { SUMMARY_PREFIX } from "../core/message.ts";
import { middlewareWith } from "./ai-sdk-middleware.ts";
import { prepareStepWith } from "./ai-sdk-prepare-step.ts";
import type { HostMemory } from "./host-chats.ts";
import { langChainMiddleware } from "./langchain-middleware.ts";
import { mastraProcessor } from "./mastra-processor.ts";
import { ItemWindow, inputFilter } from "./openai-filter.ts";

const MAKERS = ["openai", "anthropic", "google"] as const;
type Maker = (typeof MAKERS)[number];

const KINDS = ["talk", "talk", "reason", "parallel", "search", "deferred", "compact"] as const;
type Kind = (typeof KINDS)[number];

/** A turn: a question, and what a provider answers, in one or two calls of the model. */
interface Turn {
  readonly index: number;
  readonly kind: Kind;
  readonly maker: Maker;
}

type Messages = readonly object[];

/** The messages of a turn: the question, then those of each call of the model, with the results of its tools. */
type Added = readonly [question: Messages, ...answers: Messages[]];

/** The loop of a host: what its messages look like, and what a provider is sent for a history. */
interface Loop {
  readonly added: (turn: Turn) => Added;
  readonly open: (record: HostRecord) => {
    send(history: Messages, maker: Maker): Promise<Messages>;
    /** The history from now on, where the host takes over what was sent. */
    adopted?(history: Messages): Messages;
  };
  /** The host offers the messages that a step was sent as the base of the next. */
  readonly isBase?: true;
  /** The items of a turn stand side by side. */
  readonly inItems?: true;
  readonly makers: readonly Maker[];
}

const WORDS = "and so on, word by word, ".repeat(12);
const CONTEXT_WINDOW = 2_400;
const question = ({ index }: Turn) => `Question ${index}: ${WORDS}`;
const answer = ({ index }: Turn) => `Answer ${index}: ${WORDS}`;
/** Text in an item that only its maker reads. */
const secret = ({ index, maker }: Turn, what: string) => `@${maker}:${what}:${index}@`;
const callIds = ({ index, kind }: Turn) =>
  (kind === "parallel" ? ["a", "b", "c"] : ["a"]).map((name) => `call-${index}-${name}`);

let summaries = 0;
const summarize: Summarize = async () => {
  summaries += 1;
  return "They talked about words.";
};

/** A chat's list of items that outlives its loops. */
function recordOfChat(): HostRecord {
  let items: readonly unknown[] = [];
  const read = async (): Promise<HostItems> => {
    return { items, changedAtMs: 0, recalled: [], refused: new Set(), done: () => "no" };
  };
  return {
    read,
    change: async (decide) => {
      const change = decide(await read());
      if (change) items = [...items, ...structuredClone(change.items)];
    },
  };
}

function memoryOf(record: HostRecord): HostMemory {
  const memory = { recallTokens: 0 } as ReturnType<HostMemory["memoryFor"]>;
  return { tools: [], recordOf: () => record, memoryFor: () => memory, close: async () => {} };
}

const AI_SDK_PROVIDERS = {
  openai: "openai.responses",
  anthropic: "anthropic.messages",
  google: "google.generative-ai",
} as const;

/** What each provider signs or encrypts its reasoning with, as the AI SDK has it. */
const REASONING = {
  openai: "reasoningEncryptedContent",
  anthropic: "signature",
  google: "thoughtSignature",
} as const;

function aiSdkAdded(turn: Turn): Added {
  const { kind, maker, index } = turn;
  const own = (fields: object) => ({ providerOptions: { [maker]: fields } });
  const text = { type: "text", text: answer(turn) };
  const reasoning = {
    type: "reasoning",
    text: index % 3 === 0 ? "" : "Hm.",
    ...own({ [REASONING[maker]]: secret(turn, "reasoning") }),
  };
  const calls = callIds(turn).map((toolCallId) => {
    return { type: "tool-call", toolCallId, toolName: "read", input: {} };
  });
  const results = callIds(turn).map((toolCallId) => {
    const output = { type: "text", value: WORDS.repeat(3) };
    return { type: "tool-result", toolCallId, toolName: "read", output };
  });
  const toolCallId = `${maker === "anthropic" ? "srvtoolu" : "ws"}_${index}`;
  const search = {
    type: "tool-call",
    toolCallId,
    toolName: "web_search",
    input: { query: secret(turn, "call") },
    providerExecuted: true,
    ...own({ itemId: toolCallId }),
  };
  const found = {
    type: "tool-result",
    toolCallId,
    toolName: "web_search",
    output: { type: "json", value: [{ encryptedContent: secret(turn, "result") }] },
    ...own({ itemId: toolCallId }),
  };
  const compaction = {
    type: "custom",
    kind: `${maker}.compaction`,
    ...own({ type: "compaction", encryptedContent: secret(turn, "compaction") }),
  };
  const asked = [{ role: "user", content: [{ type: "text", text: question(turn) }] }];
  const says = (...content: object[]) => ({ role: "assistant", content });
  const results1 =
    index % 2 === 0
      ? [{ role: "tool", content: results }]
      : results.map((result) => ({ role: "tool", content: [result] }));
  switch (kind) {
    case "talk":
      return [asked, [says(text)]];
    case "reason":
    case "parallel":
      return [asked, [says(reasoning, ...calls), ...results1], [says(text)]];
    case "search":
      return [asked, [says(reasoning, search, found, text)]];
    case "deferred":
      return [asked, [says(reasoning, search, ...calls), ...results1], [says(found, text)]];
    case "compact":
      return index % 2 === 0
        ? [asked, [says(compaction, text)]]
        : [asked, [says(compaction)], [says(text)]];
  }
}

const aiSdkModel = (maker: Maker) => ({
  provider: AI_SDK_PROVIDERS[maker],
  modelId: "m",
  doGenerate: async () => ({ content: [] }),
});

const settings = { contextWindow: CONTEXT_WINDOW, summarize };

let itemsMade = 0;

/** OpenAI's model, which makes an item of what it is sent. */
async function doGenerate(request: object) {
  const { prompt } = request as { readonly prompt: Messages };
  itemsMade += 1;
  const encryptedContent = `%item ${itemsMade} of ${itemsIn(prompt).join()}%`;
  const providerMetadata = { openai: { type: "compaction", itemId: "cmp", encryptedContent } };
  return { content: [{ type: "custom", kind: "openai.compaction", providerMetadata }] };
}

/** The numbers of the items in what is sent. */
const itemsIn = (sent: unknown): readonly number[] =>
  [...JSON.stringify(sent).matchAll(/%item (\d+) of/g)].map(([, number]) => Number(number));

/** The newest item that OpenAI was sent in each chat. */
const newestItems = new WeakMap<HostRecord, number>();

/** An item is sent to its maker only, and from then on, until one is sent that was made of it. */
function requireItem(record: HostRecord, sent: Messages, maker: Maker): void {
  const numbers = itemsIn(sent);
  if (maker !== "openai") {
    assert.deepEqual(numbers, [], "an item is its maker's");
    return;
  }
  const before = newestItems.get(record);
  if (before === undefined && numbers.length === 0) return;
  assert.equal(numbers.length, 1, "the item is there, once");
  const [now = 0] = numbers;
  const isOfBefore = JSON.stringify(sent).includes(`%item ${now} of ${before}%`);
  assert(before === undefined || now === before || isOfBefore, "no item is lost");
  newestItems.set(record, now);
}

function langChainAdded(turn: Turn): Added {
  const { kind, maker, index } = turn;
  const model_provider = maker === "google" ? "google-genai" : maker;
  const asked = [{ type: "human", id: `q${index}`, content: question(turn) }];
  let made = 0;
  const says = (content: readonly object[], tool_calls: readonly object[] = []) => {
    made += 1;
    const id = `a${index}-${made}`;
    return { type: "ai", id, content, tool_calls, response_metadata: { model_provider } };
  };
  const text = { type: "text", text: answer(turn) };
  const reasoning = { type: "reasoning", reasoning: "Hm.", signature: secret(turn, "reasoning") };
  const id = `srvtoolu_${index}`;
  const search = { type: "server_tool_use", id, input: secret(turn, "call") };
  const output = secret(turn, "result");
  const found = { type: "web_search_tool_result", tool_use_id: id, content: output };
  const compaction = { type: "compaction", encrypted_content: secret(turn, "compaction") };
  const calls = callIds(turn).map((id) => ({ id, name: "read", args: {} }));
  const results = callIds(turn).map((tool_call_id) => {
    return { type: "tool", id: `r${tool_call_id}`, tool_call_id, content: WORDS.repeat(3) };
  });
  switch (kind) {
    case "talk":
      return [asked, [says([text])]];
    case "reason":
    case "parallel":
      return [asked, [says([reasoning], calls), ...results], [says([text])]];
    case "search":
      return [asked, [says([reasoning, search, found, text])]];
    case "deferred":
      return [asked, [says([reasoning, search], calls), ...results], [says([found, text])]];
    case "compact":
      return index % 2 === 0
        ? [asked, [says([compaction, text])]]
        : [asked, [says([compaction])], [says([text])]];
  }
}

/** Models of the Agents SDK are known by their classes. */
class OpenAIResponsesModel {}
class AiSdkModel {}

function itemsAdded(turn: Turn): Added {
  const { kind, maker, index } = turn;
  const asked = [{ type: "message", role: "user", content: question(turn) }];
  const content = [{ type: "output_text", text: answer(turn) }];
  const text = { type: "message", role: "assistant", status: "completed", content };
  const signature = secret(turn, "reasoning");
  const sealed =
    maker === "openai"
      ? { encrypted_content: signature }
      : { providerData: { model: `${AI_SDK_PROVIDERS[maker]}:m`, signature } };
  const reasoning = { type: "reasoning", id: `rs-${index}`, content: [], ...sealed };
  const calls = callIds(turn).map((callId) => {
    return { type: "function_call", callId, name: "read", arguments: "{}" };
  });
  const results = callIds(turn).map((callId) => {
    const output = { type: "text", text: WORDS.repeat(3) };
    return { type: "function_call_result", callId, name: "read", output };
  });
  const search = {
    type: "hosted_tool_call",
    id: `ws_${index}`,
    name: "web_search",
    output: secret(turn, "result"),
  };
  const compaction = { type: "compaction", encrypted_content: secret(turn, "compaction") };
  const isOpenAI = maker === "openai";
  switch (kind) {
    case "talk":
      return [asked, [text]];
    case "reason":
    case "parallel":
      return [asked, [reasoning, ...calls, ...results], [text]];
    case "search":
    case "deferred":
      return [asked, [reasoning, ...(isOpenAI ? [search] : []), text]];
    case "compact":
      return index % 2 === 0
        ? [asked, [...(isOpenAI ? [compaction] : []), text]]
        : [[...(isOpenAI ? [compaction] : []), ...asked], [text]];
  }
}

const LOOPS: Readonly<Record<string, Loop>> = {
  "AI SDK, prepareStep": {
    added: aiSdkAdded,
    makers: MAKERS,
    isBase: true,
    open: (record) => {
      const prepareStep = prepareStepWith({ ...settings, chatId: () => "chat" }, memoryOf(record));
      return {
        send: async (history, maker) => {
          const step = { messages: history as never, steps: [], model: aiSdkModel(maker) };
          return (await prepareStep(step)).messages;
        },
      };
    },
  },
  "AI SDK, middleware": {
    added: aiSdkAdded,
    makers: MAKERS,
    open: (record) => {
      const middleware = middlewareWith(settings, memoryOf(record));
      const providerOptions = { rkat: { chatId: "chat" } };
      return {
        send: async (history, maker) => {
          const params = { prompt: history as never, providerOptions };
          const model = aiSdkModel(maker);
          return (await middleware.transformParams({ params, model })).prompt;
        },
      };
    },
  },
  "AI SDK, middleware that asks the provider": {
    added: aiSdkAdded,
    makers: MAKERS,
    open: (record) => {
      const middleware = middlewareWith({ ...settings, compaction: "provider" }, memoryOf(record));
      const providerOptions = { rkat: { chatId: "chat" } };
      return {
        send: async (history, maker) => {
          const model =
            maker === "openai" ? { ...aiSdkModel(maker), doGenerate } : aiSdkModel(maker);
          const params = { prompt: history as never, providerOptions };
          const sent = await middleware.transformParams({ params, model });
          const total = Math.ceil(JSON.stringify(sent.prompt).length / 4);
          const usage = { inputTokens: { total, cacheRead: Math.floor(total * 0.95) } };
          const answer = async () => ({ content: [], usage });
          await middleware.wrapGenerate({
            params: sent,
            model: { doGenerate: answer },
            doGenerate: answer,
          });
          const prompt: Messages = sent.prompt;
          requireItem(record, prompt, maker);
          return prompt.filter((message) => itemsIn(message).length === 0);
        },
      };
    },
  },
  Mastra: {
    added: aiSdkAdded,
    makers: MAKERS,
    open: (record) => {
      const processor = mastraProcessor(settings, memoryOf(record));
      const requestContext = { get: () => ({ thread: { id: "chat" } }) };
      return {
        send: async (history, maker) => {
          const model = aiSdkModel(maker);
          const request = { prompt: history as never, model, steps: [], state: {}, requestContext };
          return (await processor.processLLMRequest(request)).prompt;
        },
      };
    },
  },
  LangChain: {
    added: langChainAdded,
    makers: MAKERS,
    open: (record) => {
      const middleware = langChainMiddleware(settings, memoryOf(record));
      const runtime = { configurable: { thread_id: "chat" } };
      return {
        send: async (messages, maker) => {
          const kind = maker === "google" ? "google-genai" : maker;
          const model = { _llmType: () => kind, invoke: async () => ({ content: "" }) };
          const request = { model, messages, state: { messages }, runtime } as never;
          return await middleware.wrapModelCall(request, ({ messages }) => messages as Messages);
        },
        adopted: (messages) => {
          const state = middleware.afterModel({ messages: messages as never }, runtime);
          return state ? state.messages.slice(1) : messages;
        },
      };
    },
  },
  "OpenAI Agents": {
    added: itemsAdded,
    makers: ["openai", "anthropic"],
    inItems: true,
    isBase: true,
    open: (record) => {
      const filter = inputFilter(new ItemWindow(settings, { record }));
      return {
        send: async (history, maker) => {
          const model = maker === "openai" ? new OpenAIResponsesModel() : new AiSdkModel();
          const input = [...history] as never[];
          return (await filter({ modelData: { input }, agent: { model } })).input;
        },
      };
    },
  },
};

const json = (messages: Messages) => messages.map((message) => JSON.stringify(message));
const isSummary = (text: string) => text.includes(JSON.stringify(SUMMARY_PREFIX).slice(1, -1));

/** The marks of a text, in order: secrets of providers, ids of calls, questions. */
const namesIn = (text: string): readonly string[] =>
  text.match(/@\w+:\w+:\d+@|call-\d+-\w|Question \d+:/g) ?? [];

function counted(names: readonly string[]): (name: string) => number {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return (name) => counts.get(name) ?? 0;
}

interface Request {
  readonly loop: Loop;
  readonly turns: readonly Turn[];
  readonly history: Messages;
  readonly sent: Messages;
  readonly reader: Maker;
  readonly logged: string;
}

/** What holds for each request that a provider is sent. */
function requireWhole({ loop, turns, history, sent, reader, logged }: Request): void {
  const texts = json(history);
  const offered = namesIn(texts.join("\n"));
  const each = json(sent);
  const said = namesIn(each.filter((text) => !isSummary(text)).join("\n"));
  const isMine = (name: string) => name.startsWith(`@${reader}:`);
  const isOthers = (text: string) => namesIn(text).some((name) => /^@/.test(name) && !isMine(name));
  assert(!each.some(isOthers), "nothing goes to another provider");
  const isCompaction = (name: string) => isMine(name) && name.includes(":compaction:");
  assert.deepEqual(
    namesIn(each.join("\n")).filter(isCompaction),
    offered.filter(isCompaction),
    "what stands for earlier messages is there, in order",
  );
  const [inHistory, inSent] = [counted(offered), counted(said)];
  for (const turn of turns) {
    const asked = `Question ${turn.index}:`;
    assert(inSent(asked) > 0 || logged.includes(asked), `${asked} is sent, or in the log`);
    for (const id of callIds(turn)) assert(inSent(id) !== 1, `${id} has its result`);
    if (turn.maker !== reader) continue;
    const parts = ["reasoning", "call", "result"].map((what) => secret(turn, what));
    const group = [...parts, ...callIds(turn)];
    const isThere = group.some((name) => inSent(name) > 0);
    for (const name of group) {
      assert.equal(inSent(name), isThere ? inHistory(name) : 0, `${name} is there as the others`);
    }
  }
  const before = new Set(texts);
  for (const text of each) {
    const isAsItWas = !text.includes(`@${reader}:`) || before.has(text);
    assert(isAsItWas, "what is of a provider alone is as it was");
  }
  if (!loop.inItems) return;
  const readable = texts.filter((text) => !isOthers(text));
  for (const [at, text] of each.entries()) {
    if (!text.includes(":reasoning:")) continue;
    assert.equal(
      each[at + 1],
      readable[readable.indexOf(text) + 1],
      "reasoning has what it led to",
    );
  }
}

const scenario = fc.record({
  host: fc.constantFrom(...Object.keys(LOOPS)),
  turns: fc.array(fc.record({ kind: fc.constantFrom(...KINDS), maker: fc.nat(2) }), {
    minLength: 15,
    maxLength: 40,
  }),
  /** How often the provider changes. */
  changes: fc.constantFrom("never", "rarely", "always"),
  /** The host makes new objects for each request. */
  copies: fc.boolean(),
  /** Each step of a turn begins with what the last was sent. */
  adopts: fc.boolean(),
  /** Another process goes on after every so many turns. */
  restarts: fc.constantFrom(0, 0, 7),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

async function hold({ host, turns, changes, copies, adopts, restarts }: Scenario): Promise<void> {
  const loop = LOOPS[host] as Loop;
  const record = recordOfChat();
  let running = loop.open(record);
  let history: Messages = [];
  const done: Turn[] = [];
  const every = { never: Number.POSITIVE_INFINITY, rarely: 6, always: 1 }[changes];
  for (const [index, { kind, maker: number }] of turns.entries()) {
    const chosen = turns[index - (index % every)]?.maker ?? number;
    const maker = loop.makers[chosen % loop.makers.length] as Maker;
    const turn = { index, kind, maker };
    if (restarts > 0 && index % restarts === restarts - 1) running = loop.open(record);
    const [asked, ...answers] = loop.added(turn);
    done.push(turn);
    history = [...history, ...asked];
    let base = history;
    for (const made of answers) {
      const given = copies ? structuredClone(base) : base;
      const sent = await running.send(given, maker);
      const logged = JSON.stringify((await record.read()).items);
      requireWhole({ loop, turns: done, history: base, sent, reader: maker, logged });
      base = [...(adopts && loop.isBase ? sent : base), ...made];
      history = [...history, ...made];
    }
    if (running.adopted) history = running.adopted(history);
  }
}

/** In the long form, two thousand histories take minutes. */
const CAMPAIGN_MS = 900_000;

test("in random histories nothing that only a provider reads is dropped, parted from what it needs, or sent to another", {
  timeout: CAMPAIGN_MS,
}, async () => {
  await fc.assert(fc.asyncProperty(scenario, hold), { numRuns: trials(8, 2_000) });
  expect(summaries).toBeGreaterThan(20);
  expect(itemsMade).toBeGreaterThan(1);
});
