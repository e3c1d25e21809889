import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { createSessionService, type MemoryEntry, SessionError } from "rkat";
import { postgresStores } from "rkat/postgres";
import { scriptedModel } from "rkat/testing";
import { clusteredEmbedder } from "../clustered-embedder.ts";
import { madeUpBatches, madeUpQuestions } from "../data/entries.ts";
import { median, timed } from "../measuring.ts";

/**
 * rkat, Mastra and mem0 on one PostgreSQL that has pgvector.
 *
 *     npm run build && npm ci --prefix bench/peers-postgres
 *     node bench/studies/postgres-peers.ts --postgres postgres://…/an_empty_database [--size 3000] [--seconds 3]
 *
 * appends     16 writers, each in a session or thread of its own, one message of 400 characters at a time
 * adds        texts in batches of 100, with vectors
 * search      ten results for a question: rkat by words and vectors, Mastra by vectors, mem0 by both
 * one thread  two writers talk in one session or thread, each a question and then its answer: how often another
 *             question stands between the two
 *
 * All get the same texts, and their vectors from the same stand-in for a model.
 */
const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    size: { type: "string", default: "3000" },
    seconds: { type: "string", default: "3" },
    turns: { type: "string", default: "50" },
  },
});
const { postgres: connectionString } = values;
if (connectionString === undefined)
  throw new Error("Name an empty database: --postgres postgres://…");
const seconds = Number(values.seconds);
const turns = Number(values.turns);
const WRITERS = 16;
const LIMIT = 10;
const TEXT = "The harbour pilot boards at the outer buoy. ".repeat(10).slice(0, 400);

const installed = createRequire(new URL("../peers-postgres/package.json", import.meta.url));

/** A package of `bench/peers-postgres`, as the part of it that is used. */
async function load<Slice>(specifier: string): Promise<Slice> {
  return (await import(pathToFileURL(installed.resolve(specifier)).href)) as Slice;
}

interface Contender {
  readonly name: string;
  /** Appends one message to a thread. */
  append?(thread: string, at: number): Promise<unknown>;
  add(entries: readonly MemoryEntry[]): Promise<unknown>;
  search(question: string): Promise<number>;
  /** Asks and answers in a thread, as the writer with this number. */
  talk?(thread: string, writer: number, at: number): Promise<unknown>;
  /** The texts of a thread, in its order. */
  read?(thread: string): Promise<readonly string[]>;
  close(): Promise<unknown>;
}

async function rkat(): Promise<Contender> {
  const pool = new pg.Pool({ connectionString, max: WRITERS + 2 });
  const stores = postgresStores({ pool, embedder: clusteredEmbedder() });
  const model = scriptedModel(({ messages }) => {
    const asked = messages.findLast(({ role }) => role === "user");
    return { text: JSON.stringify(asked).replace("question", "answer"), delayMs: 5 };
  });
  // Two machines: each has a service of its own.
  const services = [0, 1].map(() => createSessionService({ model, stores, memory: false }));
  const sessions = new Map<string, Promise<string>>();
  return {
    name: "rkat",
    async append(thread, at) {
      const event = { type: "text_complete", content: TEXT } as const;
      const added = { event_id: `${thread}-${at}`, timestamp_ms: Date.now(), event };
      await stores.events.append(thread, at, [added]);
    },
    add: (entries) => stores.memory.add(entries),
    search: async (query) => (await stores.memory.search({ query, limit: LIMIT })).length,
    async talk(thread, writer, at) {
      const made = sessions.get(thread) ?? services[0]?.createSession({}).then((s) => s.sessionId);
      sessions.set(thread, made as Promise<string>);
      const sessionId = await (made as Promise<string>);
      for (;;) {
        try {
          return await services[writer]?.startTurn({
            sessionId,
            prompt: `question ${writer}-${at}`,
          });
        } catch (error) {
          if (!SessionError.is(error) || error.code !== "SESSION_BUSY") throw error;
          await sleep(5 + Math.random() * 10);
        }
      }
    },
    async read(thread) {
      const texts: string[] = [];
      const sessionId = (await sessions.get(thread)) ?? "";
      for await (const { event } of stores.events.read(sessionId, 0)) {
        if (event.type === "run_started") texts.push(event.prompt);
        if (event.type === "text_complete") texts.push(event.content);
      }
      return texts;
    },
    async close() {
      for (const service of services) await service.close();
      await stores.close();
      await pool.end();
    },
  };
}

interface MastraMemory {
  saveMessages(request: object): Promise<unknown>;
  createThread(request: object): Promise<unknown>;
  recall(request: object): Promise<{ readonly messages: readonly { readonly content: Content }[] }>;
}

interface Content {
  readonly parts: readonly { readonly text?: string }[];
}

async function mastra(): Promise<Contender> {
  const { Memory } = await load<{ Memory: new (config: object) => MastraMemory }>("@mastra/memory");
  const { PostgresStore, PgVector } = await load<{
    PostgresStore: new (config: object) => { init(): Promise<unknown>; close(): Promise<unknown> };
    PgVector: new (config: object) => { disconnect(): Promise<unknown> };
  }>("@mastra/pg");
  const storage = new PostgresStore({ id: "messages", connectionString, max: WRITERS + 2 });
  await storage.init();
  const vector = new PgVector({ id: "vectors", connectionString });
  const { embed } = clusteredEmbedder();
  const embedder = {
    specificationVersion: "v2",
    provider: "bench",
    modelId: "clustered",
    maxEmbeddingsPerCall: 1000,
    supportsParallelCalls: false,
    async doEmbed({ values }: { values: readonly string[] }) {
      const vectors = await embed(values);
      return { embeddings: vectors.map((vector) => Array.from(vector)), usage: { tokens: 0 } };
    },
  };
  const recalls = {
    lastMessages: false,
    semanticRecall: { topK: LIMIT, messageRange: 0, scope: "resource" },
  };
  const memory = new Memory({ storage, vector, embedder, options: recalls });
  const plain = new Memory({ storage, options: { semanticRecall: false } });
  const message = (threadId: string, role: string, text: string, id: string, createdAt: Date) => ({
    id,
    threadId,
    resourceId: "bench",
    role,
    type: "text",
    createdAt,
    content: { format: 2, parts: [{ type: "text", text }], content: text },
  });
  const save = (threadId: string, role: string, text: string) => {
    const one = message(threadId, role, text, randomUUID(), new Date());
    return plain.saveMessages({ messages: [one] });
  };
  const threads = new Map<string, Promise<unknown>>();
  const thread = (threadId: string) => {
    const made = threads.get(threadId) ?? plain.createThread({ threadId, resourceId: "bench" });
    threads.set(threadId, made);
    return made;
  };
  return {
    name: "Mastra",
    async append(threadId) {
      await thread(threadId);
      await save(threadId, "assistant", TEXT);
    },
    async add(entries) {
      for (const id of new Set(entries.map(({ sessionId }) => sessionId))) await thread(id);
      await memory.saveMessages({
        messages: entries.map(({ id, sessionId, role = "user", time, content }) =>
          message(sessionId, role, content, id, new Date(time ?? 0)),
        ),
      });
    },
    async search(question) {
      const { messages } = await memory.recall({
        threadId: "asking",
        resourceId: "bench",
        vectorSearchString: question,
        perPage: 0,
        threadConfig: recalls,
      });
      return messages.length;
    },
    async talk(threadId, writer, at) {
      await thread(threadId);
      await save(threadId, "user", `question ${writer}-${at}`);
      await sleep(5);
      await save(threadId, "assistant", `answer ${writer}-${at}`);
    },
    async read(threadId) {
      const { messages } = await plain.recall({ threadId, resourceId: "bench", perPage: false });
      return messages.map(({ content }) => content.parts.map(({ text }) => text ?? "").join(""));
    },
    async close() {
      await vector.disconnect();
      await storage.close();
    },
  };
}

interface Mem0 {
  readonly Memory: new (
    config: object,
  ) => {
    add(messages: readonly object[], options: object): Promise<unknown>;
    search(query: string, options: object): Promise<{ readonly results: readonly unknown[] }>;
  };
}

async function mem0(): Promise<Contender> {
  process.env.MEM0_TELEMETRY = "false";
  const { Memory } = await load<Mem0>("mem0ai/oss");
  const { dimensions, embed } = clusteredEmbedder();
  const embedDocuments = async (texts: readonly string[]) =>
    (await embed(texts)).map((vector) => Array.from(vector));
  const embedQuery = async (text: string) => (await embedDocuments([text]))[0];
  const invoke = async () => ({ content: "{}" });
  const folder = mkdtempSync(join(tmpdir(), "rkat-bench-"));
  const memory = new Memory({
    embedder: { provider: "langchain", config: { model: { embedQuery, embedDocuments } } },
    vectorStore: {
      provider: "pgvector",
      config: {
        connectionString,
        collectionName: "memories",
        embeddingModelDims: dimensions,
        dimension: dimensions,
        hnsw: true,
      },
    },
    llm: { provider: "langchain", config: { model: { invoke } } },
    historyDbPath: join(folder, "history.db"),
  });
  return {
    name: "mem0",
    async add(entries) {
      const messages = entries.map(({ role = "user", content }) => ({ role, content }));
      await memory.add(messages, { userId: "bench", infer: false });
    },
    async search(question) {
      const options = { filters: { user_id: "bench" }, topK: LIMIT };
      return (await memory.search(question, options)).results.length;
    },
    async close() {
      rmSync(folder, { recursive: true });
    },
  };
}

async function appendRate({ append }: Contender): Promise<string> {
  if (!append) return "";
  const endsAt = performance.now() + 1000 * seconds;
  const write = async (writer: number) => {
    let at = 0;
    for (; performance.now() < endsAt; at += 1) await append(`writer ${writer}`, at);
    return at;
  };
  const done = await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
  return (done.reduce((sum, count) => sum + count) / seconds).toFixed(0);
}

async function parted({ talk, read }: Contender): Promise<string> {
  if (!talk || !read) return "";
  const write = async (writer: number) => {
    for (let at = 0; at < turns; at += 1) await talk("shared", writer, at);
  };
  await Promise.all([write(0), write(1)]);
  const texts = (await read("shared")).filter((text) => /(?:question|answer) \d-/.test(text));
  const keys = texts.map((text) => /(question|answer) (\d+-\d+)/.exec(text)?.slice(1) ?? []);
  const apart = keys.filter(
    ([what, key], at) => what === "question" && keys[at + 1]?.join() !== `answer,${key}`,
  );
  return `${apart.length} of ${keys.length / 2}`;
}

const size = Number(values.size);
const questions = madeUpQuestions(size, 100).map(({ text }) => text);
for (const open of [rkat, mastra, mem0]) {
  const one = await open();
  const appends = await appendRate(one);
  const filled = await timed(async () => {
    for (const batch of madeUpBatches(0, size, 100)) await one.add(batch);
  });
  const searches: number[] = [];
  let found = 0;
  for (const question of [...questions, ...questions]) {
    searches.push(
      await timed(async () => {
        found += await one.search(question);
      }),
    );
  }
  const interleaved = await parted(one);
  console.log(
    `${one.name.padEnd(8)} appends ${appends || "-"} /s   adds by 100 ${((1000 * size) / filled).toFixed(0)} /s   ` +
      `search p50 ${median(searches.slice(questions.length)).toFixed(1)} ms (${(found / searches.length).toFixed(1)} found)   ` +
      `questions parted from their answers ${interleaved || "-"}`,
  );
  await one.close();
}
process.exit();
