import { join } from "node:path";
import { clusteredEmbedder } from "../../clustered-embedder.ts";
import { LIMIT, load, type OpenAdapter } from "../peer.ts";

interface Mem0 {
  readonly Memory: new (
    config: object,
  ) => {
    add(messages: readonly object[], options: object): Promise<unknown>;
    search(query: string, options: object): Promise<{ readonly results: readonly unknown[] }>;
  };
}

/** Its local vector store. Texts are kept as they are: no model is asked what is worth keeping. */
export const mem0: OpenAdapter = async (folder) => {
  process.env.MEM0_TELEMETRY = "false";
  const { Memory } = await load<Mem0>("mem0ai/oss");
  const { dimensions, embed } = clusteredEmbedder();
  const embedDocuments = async (texts: readonly string[]) =>
    (await embed(texts)).map((vector) => Array.from(vector));
  const embedQuery = async (text: string) => (await embedDocuments([text]))[0];
  const invoke = async () => ({ content: "{}" });
  const memory = new Memory({
    embedder: { provider: "langchain", config: { model: { embedQuery, embedDocuments } } },
    vectorStore: {
      provider: "memory",
      config: {
        collectionName: "bench",
        dimension: dimensions,
        dbPath: join(folder, "vectors.db"),
      },
    },
    llm: { provider: "langchain", config: { model: { invoke } } },
    historyDbPath: join(folder, "history.db"),
  });
  return {
    async add(entries) {
      const messages = entries.map(({ role = "user", content }) => ({ role, content }));
      await memory.add(messages, { userId: "bench", infer: false });
    },
    async hybrid(question) {
      const options = { filters: { user_id: "bench" }, topK: LIMIT };
      return (await memory.search(question, options)).results.length;
    },
    async close() {},
  };
};
