import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService, type MemoryEntry } from "rkat";
import { postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { madeUpBatches, madeUpQuestions } from "../data/entries.ts";
import { contentWords } from "../data/vocabulary.ts";
import { median, timed } from "../measuring.ts";

/**
 * A turn, and what is asked of it later, in rkat, LangGraph and Mastra on one PostgreSQL. It needs no pgvector.
 *
 *     npm run build && npm ci --prefix bench/peers-postgres
 *     node bench/studies/postgres-turn-peers.ts --postgres postgres://…/an_empty_database [--size 3000] [--turns 50]
 *
 * a turn       a question and its answer, 490 characters together, one after the other in threads of `--turns` turns. rkat
 *              runs its agent with memory; LangGraph a graph of one node; Mastra saves the two messages
 * at once      turns a second by 16 writers, each in a thread of its own
 * WAL          of a turn, as the server counts it, and all else that it writes meanwhile
 * read         all messages of such a thread
 * search       ten results for a word of a question among `--size` texts. Mastra has no search by words
 *
 * All get the same texts. The database must be one that may be thrown away.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    size: { type: "string", default: "3000" },
    turns: { type: "string", default: "50" },
    threads: { type: "string", default: "6" },
    seconds: { type: "string", default: "5" },
  },
});
const { postgres: connectionString } = values;
if (connectionString === undefined)
  throw new Error("Name an empty database: --postgres postgres://…");
const [size, turns, threads, seconds] = [
  values.size,
  values.turns,
  values.threads,
  values.seconds,
].map(Number) as [number, number, number, number];
const WRITERS = 16;
const LIMIT = 10;

/** Texts of 245 characters, because the words of a text are indexed. */
const TEXTS = [...madeUpBatches(50_000, 54_000, 2)]
  .map((batch) => batch.map(({ content }) => content).join(" "))
  .filter((text) => text.length >= 245)
  .map((text) => text.slice(0, 245));
let said = 0;
const say = () => TEXTS[said++ % TEXTS.length] as string;

const installed = createRequire(new URL("../peers-postgres/package.json", import.meta.url));

/** A package of `bench/peers-postgres`, as the part of it that is used. */
async function load<Slice>(specifier: string): Promise<Slice> {
  return (await import(pathToFileURL(installed.resolve(specifier)).href)) as Slice;
}

interface Contender {
  readonly name: string;
  turn(thread: string): Promise<unknown>;
  /** The number of messages of a thread. */
  read(thread: string): Promise<number>;
  add?(entries: readonly MemoryEntry[]): Promise<unknown>;
  search?(question: string): Promise<number>;
  close(): Promise<unknown>;
}

async function rkat(): Promise<Contender> {
  const pool = new pg.Pool({ connectionString, max: 10 });
  const stores = postgresStores({ pool });
  const service = createSessionService({ model: scriptedModel(say), stores });
  const sessions = new Map<string, Promise<string>>();
  const session = (thread: string) => {
    const made =
      sessions.get(thread) ?? service.createSession({}).then(({ sessionId }) => sessionId);
    sessions.set(thread, made);
    return made;
  };
  return {
    name: "rkat, with memory",
    turn: async (thread) => service.startTurn({ sessionId: await session(thread), prompt: say() }),
    async read(thread) {
      let messages = 0;
      for await (const { event } of stores.events.read(await session(thread), 0)) {
        if (event.type === "run_started" || event.type === "turn_completed") messages += 1;
      }
      return messages;
    },
    add: (entries) => stores.memory.add(entries),
    search: async (query) => (await stores.memory.search({ query, limit: LIMIT })).length,
    async close() {
      await service.close();
      await stores.close();
      await pool.end();
    },
  };
}

interface Graph {
  invoke(input: object, config: object): Promise<unknown>;
  getState(config: object): Promise<{
    readonly values: { readonly messages: readonly unknown[] };
  }>;
}

interface LangGraph {
  readonly StateGraph: new (
    state: unknown,
  ) => {
    addNode(name: string, node: () => Promise<object>): void;
    addEdge(from: string, to: string): void;
    compile(options: object): Graph;
  };
  readonly MessagesAnnotation: unknown;
  readonly START: string;
  readonly END: string;
}

interface LangGraphStore {
  setup(): Promise<void>;
  batch(operations: readonly object[]): Promise<unknown>;
  search(namespace: readonly string[], options: object): Promise<readonly unknown[]>;
  stop(): Promise<void>;
}

async function langGraph(): Promise<Contender> {
  const { StateGraph, MessagesAnnotation, START, END } =
    await load<LangGraph>("@langchain/langgraph");
  const { PostgresSaver } = await load<{
    PostgresSaver: new (pool: unknown) => { setup(): Promise<void> };
  }>("@langchain/langgraph-checkpoint-postgres");
  const { PostgresStore } = await load<{ PostgresStore: new (options: object) => LangGraphStore }>(
    "@langchain/langgraph-checkpoint-postgres/store",
  );
  const pool = new pg.Pool({ connectionString, max: 10 });
  const checkpointer = new PostgresSaver(pool);
  await checkpointer.setup();
  const store = new PostgresStore({ connectionOptions: connectionString as string });
  await store.setup();
  const builder = new StateGraph(MessagesAnnotation);
  builder.addNode("model", async () => ({ messages: [{ role: "assistant", content: say() }] }));
  builder.addEdge(START, "model");
  builder.addEdge("model", END);
  const graph = builder.compile({ checkpointer });
  const config = (thread: string) => ({ configurable: { thread_id: thread } });
  const namespace = ["bench"];
  return {
    name: "LangGraph",
    turn: (thread) =>
      graph.invoke({ messages: [{ role: "user", content: say() }] }, config(thread)),
    read: async (thread) => (await graph.getState(config(thread))).values.messages.length,
    add: (entries) =>
      store.batch(entries.map(({ id, content }) => ({ namespace, key: id, value: { content } }))),
    search: async (query) => (await store.search(namespace, { query, limit: LIMIT })).length,
    async close() {
      await store.stop();
      await pool.end();
    },
  };
}

interface MastraMemory {
  saveMessages(request: object): Promise<unknown>;
  createThread(request: object): Promise<unknown>;
  recall(request: object): Promise<{ readonly messages: readonly unknown[] }>;
}

async function mastra(): Promise<Contender> {
  const { Memory } = await load<{ Memory: new (config: object) => MastraMemory }>("@mastra/memory");
  const { PostgresStore } = await load<{
    PostgresStore: new (config: object) => { init(): Promise<unknown>; close(): Promise<unknown> };
  }>("@mastra/pg");
  const storage = new PostgresStore({ id: "messages", connectionString, max: 10 });
  await storage.init();
  const memory = new Memory({ storage, options: { semanticRecall: false } });
  const threads = new Map<string, Promise<unknown>>();
  const resourceId = "bench";
  const thread = (threadId: string) => {
    const made = threads.get(threadId) ?? memory.createThread({ threadId, resourceId });
    threads.set(threadId, made);
    return made;
  };
  const save = async (threadId: string, role: string) => {
    await thread(threadId);
    const text = say();
    const content = { format: 2, parts: [{ type: "text", text }], content: text };
    const message = { id: randomUUID(), threadId, resourceId, role, type: "text" };
    await memory.saveMessages({ messages: [{ ...message, createdAt: new Date(), content }] });
  };
  return {
    name: "Mastra",
    async turn(threadId) {
      await save(threadId, "user");
      await save(threadId, "assistant");
    },
    async read(threadId) {
      return (await memory.recall({ threadId, resourceId, perPage: false })).messages.length;
    },
    close: () => storage.close(),
  };
}

const server = new pg.Client({ connectionString });
await server.connect();

async function written(): Promise<number> {
  const sql = "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes";
  const { rows } = await server.query(sql);
  return (rows[0] as { readonly bytes: number }).bytes;
}

async function measure(one: Contender): Promise<void> {
  for (let turn = 0; turn < 30; turn += 1) await one.turn("warm");
  await server.query("checkpoint");
  const before = await written();
  const each: number[] = [];
  for (let thread = 0; thread < threads; thread += 1) {
    for (let turn = 0; turn < turns; turn += 1) {
      each.push(await timed(() => one.turn(`thread ${thread}`)));
    }
  }
  const kilobytes = ((await written()) - before) / (threads * turns) / 1000;
  const reads: number[] = [];
  let messages = 0;
  for (let round = 0; round < 5; round += 1) {
    for (let thread = 0; thread < threads; thread += 1) {
      reads.push(
        await timed(async () => {
          messages = await one.read(`thread ${thread}`);
        }),
      );
    }
  }
  const endsAt = performance.now() + 1000 * seconds;
  const write = async (writer: number) => {
    let done = 0;
    for (; performance.now() < endsAt; done += 1) await one.turn(`writer ${writer}`);
    return done;
  };
  const done = await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  const rate = done.reduce((sum, count) => sum + count, 0) / seconds;
  console.log(
    `${one.name.padEnd(18)} a turn ${median(each).toFixed(1)} ms   at once ${rate.toFixed(0)} /s   ` +
      `WAL ${kilobytes.toFixed(1)} KB   read of ${messages} messages ${median(reads).toFixed(1)} ms   ${await searched(one)}`,
  );
}

async function searched({ add, search }: Contender): Promise<string> {
  if (!add || !search) return "search -";
  const filled = await timed(async () => {
    for (const batch of madeUpBatches(0, size, 100)) await add(batch);
  });
  // A store that wants all words of a question finds nothing for whole ones.
  const questions = madeUpQuestions(size, 100).map(({ text }) =>
    contentWords(text).slice(0, 1).join(" "),
  );
  const each: number[] = [];
  let found = 0;
  for (const text of [...questions, ...questions]) {
    each.push(
      await timed(async () => {
        found += await search(text);
      }),
    );
  }
  const p50 = median(each.slice(questions.length));
  return (
    `search ${p50.toFixed(1)} ms (${(found / each.length).toFixed(1)} found)   ` +
    `adds by 100 ${((1000 * size) / filled).toFixed(0)} /s`
  );
}

for (const open of [rkat, langGraph, mastra]) {
  const one = await open();
  await measure(one);
  await one.close();
}
await server.end();
process.exit();
