import { parseArgs } from "node:util";
import { rkatMiddleware, rkatPrepareStep } from "../../src/ai-sdk.ts";
import { createHistoryWindow, type MessageView } from "../../src/index.ts";
import { rkatMiddleware as langChainMiddleware } from "../../src/langchain.ts";
import { rkatProcessor } from "../../src/mastra.ts";
import { rkatFilter } from "../../src/openai-agents.ts";
import { sqliteStores } from "../../src/sqlite.ts";

/**
 * What rkat adds to a step of a loop, besides its model, in a short and in a long history.
 *
 *     node bench/studies/window-growth.ts [HOST] [--compacted]
 *
 * Nothing is compacted, or all but the end is. Each step adds a message of a kilobyte, or of two where it says so. A host
 * gives the same objects again, or new ones with the same content, as one does that reads its history from a database. Each
 * figure is a median.
 */

const SHORT = 1_000;
const LONG = 10_000;
const ROUNDS = 41;

interface Note {
  readonly role: "user" | "assistant";
  readonly content: string;
}

const note = (index: number, bytes = 1_000): Note => ({
  role: index % 2 === 0 ? "user" : "assistant",
  content: `line ${index}: harbour, ship and cargo. `.repeat(bytes / 33),
});

const view: MessageView<Note> = {
  read: (message) => ({ message }),
  summary: (content) => ({ role: "user", content }),
  shorten: (message) => message,
};

const { values, positionals } = parseArgs({
  options: { compacted: { type: "boolean", default: false } },
  allowPositionals: true,
});
const options = {
  contextWindow: 1_000_000_000,
  ...(values.compacted ? {} : { autoCompactThreshold: 1_000_000_000 }),
  summarize: "fallback",
} as const;
const parts = ({ role, content }: Note) => ({ role, content: [{ type: "text", text: content }] });

/** A host's messages, and the step that it makes with them. */
interface Host {
  message(note: Note, index: number): object;
  open(): (messages: readonly object[]) => Promise<unknown>;
}

const middlewareStep = (middleware: ReturnType<typeof rkatMiddleware>) => async (prompt: unknown) =>
  await middleware.transformParams({
    params: { prompt: prompt as never, providerOptions: { rkat: { chatId: "chat" } } },
    model: {},
  });

const HOSTS: Readonly<Record<string, Host>> = {
  "a window": {
    message: (note) => note,
    open: () => {
      const window = createHistoryWindow<Note>({ view, ...options });
      return (messages) => window.apply(messages as readonly Note[]);
    },
  },
  "AI SDK, prepareStep": {
    message: (note) => note,
    open: () => {
      const prepareStep = rkatPrepareStep({ ...options, chatId: () => "chat" });
      return (messages) => prepareStep({ messages: messages as never, steps: [], model: "none" });
    },
  },
  "AI SDK, middleware": { message: parts, open: () => middlewareStep(rkatMiddleware(options)) },
  "AI SDK, middleware with stores": {
    message: parts,
    open: () => {
      const stores = sqliteStores({ path: ":memory:" });
      return middlewareStep(rkatMiddleware({ ...options, stores }));
    },
  },
  LangChain: {
    message: ({ role, content }, index) => ({
      type: role === "user" ? "human" : "ai",
      id: `message-${index}`,
      content,
      additional_kwargs: {},
    }),
    open: () => {
      const { wrapModelCall } = langChainMiddleware(options);
      const runtime = { configurable: { thread_id: "chat" } };
      const model = { invoke: async () => "" };
      return (messages) =>
        wrapModelCall(
          { messages, state: { messages }, runtime, model } as never,
          async () => undefined,
        );
    },
  },
  Mastra: {
    message: parts,
    open: () => {
      const processor = rkatProcessor(options);
      return (prompt) =>
        processor.processLLMRequest({ prompt: prompt as never, model: {}, steps: [], state: {} });
    },
  },
  "OpenAI Agents": {
    message: ({ role, content }) =>
      role === "user"
        ? { role, content }
        : { type: "message", role, content: [{ type: "output_text", text: content }] },
    open: () => {
      const filter = rkatFilter(options);
      return (input) => filter({ modelData: { input: [...input] }, agent: {} });
    },
  },
};

/** A conversation that grows by a message each step, in a host that makes new objects or gives the same again. */
async function conversation(host: Host, { length, bytes }: { length: number; bytes?: number }) {
  const step = host.open();
  const messages = Array.from({ length }, (_, at) => host.message(note(at, bytes), at));
  await step(messages);
  return async (makesNew: boolean) => {
    messages.push(host.message(note(messages.length, bytes), messages.length));
    const given = makesNew ? structuredClone(messages) : [...messages];
    const from = performance.now();
    await step(given);
    return performance.now() - from;
  };
}

const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1] ?? 0;

const [only = ""] = positionals;
console.log("| host | messages | the same objects, ms | new objects, ms |\n|---|---|---|---|");
for (const [name, host] of Object.entries(HOSTS).filter(([name]) => name.includes(only))) {
  for (const size of [{ length: SHORT }, { length: LONG }, { length: 4_000, bytes: 2_000 }]) {
    const step = await conversation(host, size);
    const times = { same: [] as number[], fresh: [] as number[] };
    for (let round = 0; round < ROUNDS; round += 1) times.same.push(await step(false));
    for (let round = 0; round < ROUNDS; round += 1) times.fresh.push(await step(true));
    const shown = [times.same, times.fresh].map((each) => median(each).toFixed(2));
    const what = size.bytes ? `${size.length} of 2 000 characters` : `${size.length}`;
    console.log(`| ${name} | ${what} | ${shown.join(" | ")} |`);
  }
}
