import { join } from "node:path";
import type { MemoryEntry } from "rkat";
import { clusteredEmbedder } from "../../clustered-embedder.ts";
import { LIMIT, load, type OpenAdapter } from "../peer.ts";

interface MemoryModule {
  readonly Memory: new (
    config: object,
  ) => {
    saveMessages(request: object): Promise<unknown>;
    recall(request: object): Promise<{ readonly messages: readonly unknown[] }>;
  };
}

interface LibSql {
  readonly LibSQLStore: new (config: object) => object;
  readonly LibSQLVector: new (config: object) => object;
}

const RESOURCE = "bench";

/** Its memory with libSQL for messages and vectors, recalling over all threads. */
export const mastra: OpenAdapter = async (folder) => {
  const { Memory } = await load<MemoryModule>("@mastra/memory");
  const { LibSQLStore, LibSQLVector } = await load<LibSql>("@mastra/libsql");
  const url = (name: string) => `file:${join(folder, name)}`;
  const semanticRecall = { topK: LIMIT, messageRange: 0, scope: "resource" };
  const options = { lastMessages: false, semanticRecall };
  const memory = new Memory({
    storage: new LibSQLStore({ id: "messages", url: url("messages.db") }),
    vector: new LibSQLVector({ id: "vectors", url: url("vectors.db") }),
    embedder: embedder(),
    options,
  });
  return {
    add: async (entries) => void (await memory.saveMessages({ messages: entries.map(messageOf) })),
    async hybrid(question) {
      const recalled = await memory.recall({
        threadId: "asking",
        resourceId: RESOURCE,
        vectorSearchString: question,
        perPage: 0,
        threadConfig: options,
      });
      return recalled.messages.length;
    },
    async close() {},
  };
};

function messageOf({ id, sessionId, role, time, content }: MemoryEntry): object {
  const parts = [{ type: "text", text: content }];
  return {
    id,
    threadId: sessionId,
    resourceId: RESOURCE,
    role,
    type: "text",
    createdAt: new Date(time ?? 0),
    content: { format: 2, parts, content },
  };
}

/** Our embedder as the AI SDK has them. */
function embedder(): object {
  const { embed } = clusteredEmbedder();
  return {
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
}
