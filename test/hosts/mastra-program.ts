import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { MEMORY, openStorage, startAgent } from "./mastra-agent.ts";

/** What the program is asked to do, as JSON. */
export interface MastraTask {
  readonly folder: string;
  readonly url: string;
  /** A prompt, or the run whose waiting call a person approves. */
  readonly prompt?: string;
  readonly approves?: string;
}

export interface MastraOutcome {
  readonly runId: string;
  readonly finishReason: string;
  readonly text: string;
}

// A program of its own that asks an agent once. It takes rkat from beside the framework, as the tests do.
const door = (name: string) =>
  import(new URL(`node_modules/rkat/dist/${name}.js`, import.meta.url).href);
const mastra: typeof import("rkat/mastra") = await door("mastra");
const { sqliteStores }: typeof import("rkat/sqlite") = await door("sqlite");

const { folder, url, prompt = "", approves }: MastraTask = JSON.parse(process.argv[2] ?? "");
const { storage, save } = await openStorage(folder);
const stores = sqliteStores({ path: join(folder, "rkat.db") });
const { agent, close } = startAgent(mastra, { url, stores, storage });
const options = { maxSteps: 40, memory: MEMORY };
const output =
  approves === undefined
    ? await agent.generate(prompt, options)
    : await agent.approveToolCallGenerate({ runId: approves, ...options });
const { runId = "", finishReason = "", text } = output;
const outcome: MastraOutcome = { runId, finishReason, text };
writeFileSync(join(folder, "outcome.json"), JSON.stringify(outcome));
await close();
await stores.close();
save();
process.exit();
