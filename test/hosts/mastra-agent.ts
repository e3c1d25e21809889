import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import type { Stores } from "rkat";
import { z } from "zod";

export const THREAD = { threadId: "one", resourceId: "ada" } as const;

export const MEMORY = {
  ...{ thread: THREAD.threadId, resource: THREAD.resourceId },
  options: { lastMessages: 1_000 },
};

const LONG = "The crane lifts the cargo over the quay, and the pilot waits for the tide. ".repeat(
  12,
);

/** The result of the tool `read`. */
export const textOf = (path: string) => `${path} has the number ${path.length}. ${LONG}`;

interface Options {
  readonly url: string;
  readonly stores: Stores;
  readonly storage: InMemoryStore;
  /** Runs when the model reads a file. */
  readonly onRead?: (path: string) => void;
}

type Doors = Pick<typeof import("rkat/mastra"), "rkatProcessor">;

/** An agent of Mastra's in a small window, as each program makes it. The tool `send` waits for a person's approval. */
export function startAgent({ rkatProcessor }: Doors, options: Options) {
  const { url, stores, storage, onRead } = options;
  const rkat = rkatProcessor({ contextWindow: 3_000, stores, author: "user" });
  const memory = new MockMemory({ storage });
  const inputSchema = z.object({ path: z.string() });
  const read = createTool({
    ...{ id: "read", description: "Reads a file.", inputSchema },
    execute: async ({ path }) => {
      onRead?.(path);
      return textOf(path);
    },
  });
  const send = createTool({
    ...{ id: "send", description: "Sends a file.", inputSchema, requireApproval: true },
    execute: async ({ path }) => `${path} is sent.`,
  });
  const agent = new Agent({
    ...{ id: "sailor", name: "Sailor", instructions: "You look after the harbour." },
    model: { providerId: "openai", modelId: "gpt-5", url, apiKey: "none" },
    tools: { read, send, ...rkat.tools },
    memory,
    inputProcessors: [rkat],
    errorProcessors: [rkat],
    maxRetries: 0,
  });
  new Mastra({ agents: { sailor: agent }, storage, logger: false });
  return { agent, memory, close: () => rkat.close() };
}

type Rows = Map<unknown, unknown>;

/** Mastra's storage of a program, which the next one goes on with. */
export async function openStorage(folder: string) {
  const file = join(folder, "mastra");
  const storage = new InMemoryStore();
  const { db } = (await storage.getStore("workflows")) as unknown as {
    readonly db: { readonly threads: Rows; readonly messages: Rows; readonly workflows: Rows };
  };
  if (existsSync(file)) {
    const kept: typeof db = deserialize(readFileSync(file));
    for (const table of ["threads", "messages", "workflows"] as const)
      for (const [key, row] of kept[table]) db[table].set(key, row);
  }
  const save = () => {
    const { threads, messages } = db;
    // Mastra's databases keep a run as JSON.
    const workflows = new Map(JSON.parse(JSON.stringify([...db.workflows])));
    writeFileSync(file, serialize({ threads, messages, workflows }));
  };
  return { storage, save };
}
