import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  createAgentSession,
  DefaultResourceLoader,
  defineTool,
  type ExtensionFactory,
  ModelRuntime,
  SessionManager,
  SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { rkatExtension } from "rkat/pi";
import { z } from "zod";
import type { Contender, HostLoop, Lab } from "../play-run.ts";
import { withRecordedMemory } from "./recorded-memory.ts";

const HOST = "pi 0.87";

const MODULES = "../../../examples/hosts/node_modules";
const RKAT = fileURLToPath(new URL(`${MODULES}/rkat/bin/rkat.js`, import.meta.url));

/** As OpenAI's: a token from the cache costs a tenth. */
const COST = { input: 1, output: 8, cacheRead: 0.1, cacheWrite: 0 };

interface PiLoop extends HostLoop {
  /** The project's folder. */
  readonly project: string;
  close(): Promise<void>;
}

/** pi in a folder of its own, with the session in a file. */
async function loopWith(lab: Lab, extensions: readonly ExtensionFactory[] = []): Promise<PiLoop> {
  const home = mkdtempSync(join(tmpdir(), "rkat-pi-"));
  const project = join(home, "project");
  const agentDir = join(home, "agent");
  for (const folder of [project, agentDir]) mkdirSync(folder);
  const local = {
    baseUrl: lab.url,
    api: "openai-completions",
    apiKey: "none",
    models: [{ id: "gpt", contextWindow: lab.contextWindow, maxTokens: 1_000, cost: COST }],
  };
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers: { local } }));
  const settingsManager = SettingsManager.inMemory({
    compaction: {
      enabled: true,
      reserveTokens: 0.2 * lab.contextWindow,
      // By default pi keeps 20 000 tokens, which is a tenth of a window of 200 000.
      keepRecentTokens: 0.1 * lab.contextWindow,
    },
    retry: { enabled: false },
  });
  const resourceLoader = new DefaultResourceLoader({
    cwd: project,
    agentDir,
    settingsManager,
    systemPrompt: lab.instructions,
    noContextFiles: true,
    noSkills: true,
    extensionFactories: [...extensions],
  });
  await resourceLoader.reload();
  const modelRuntime = await ModelRuntime.create({
    authPath: join(agentDir, "auth.json"),
    modelsPath: join(agentDir, "models.json"),
    modelsStorePath: join(agentDir, "models"),
  });
  const model = modelRuntime.getModel("local", "gpt");
  if (!model) throw new Error(modelRuntime.getError() ?? "pi does not have the model.");
  const read = defineTool({
    name: "read",
    label: "read",
    description: "Reads a file.",
    parameters: z.toJSONSchema(z.object({ path: z.string() })) as never,
    execute: async (_, { path }: { path: string }) => ({
      content: [{ type: "text", text: lab.read(path) }],
      details: undefined,
    }),
  });
  const others = lab.otherTools.map(({ name, description }) =>
    defineTool({
      name,
      label: name,
      description,
      parameters: z.toJSONSchema(z.object({})) as never,
      execute: async () => ({ content: [], details: undefined }),
    }),
  );
  const { session } = await createAgentSession({
    cwd: project,
    agentDir,
    model,
    modelRuntime,
    resourceLoader,
    settingsManager,
    sessionManager: SessionManager.create(project, join(home, "sessions")),
    noTools: "builtin",
    customTools: [read, ...others],
  });
  const problems: string[] = [];
  await session.bindExtensions({ onError: ({ error }) => problems.push(error) });
  return {
    project,
    async ask(prompt, picture) {
      const image = { type: "image", data: picture ?? "", mimeType: "image/png" } as const;
      await session.prompt(prompt, picture ? { images: [image] } : undefined);
      if (problems.length > 0) throw new Error(problems.join(" "));
      const said = session.state.messages.findLast(({ role }) => role === "assistant");
      if (said?.role !== "assistant") throw new Error("pi has no answer.");
      if (said.stopReason !== "stop") throw new Error(said.errorMessage ?? said.stopReason);
      return said.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    },
    async close() {
      session.dispose();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export const piContenders: readonly Contender[] = [
  {
    host: HOST,
    name: "its own compaction",
    open: async (lab) => await loopWith(lab),
  },
  {
    host: HOST,
    name: "rkat",
    async open(lab) {
      const rkat = rkatExtension({ command: [process.execPath, RKAT] });
      return withRecordedMemory(await loopWith(lab, [rkat as never]));
    },
  },
];
