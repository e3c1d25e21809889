import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createAgentSession,
  DefaultResourceLoader,
  ModelRuntime,
  SessionManager,
  SettingsManager,
} from "@earendil-works/pi-coding-agent";
import { rkatExtension } from "rkat/pi";
import { testFolder } from "./test-folder.ts";

/** A session of pi with rkat's extension, whose memory outside of pi is a program that does nothing. */
export async function startPi(options: {
  /** As in pi's `models.json`. Each has the model `sailor`. */
  readonly providers: Readonly<Record<string, object>>;
  readonly systemPrompt: string;
  readonly reserveTokens: number;
  readonly keepRecentTokens: number;
  /** The only tool. */
  readonly tool: unknown;
}) {
  const { providers, systemPrompt, reserveTokens, keepRecentTokens, tool } = options;
  const home = testFolder();
  const [cwd, agentDir] = ["project", "agent"].map((name) => join(home, name)) as [string, string];
  for (const folder of [cwd, agentDir]) mkdirSync(folder);
  writeFileSync(join(agentDir, "models.json"), JSON.stringify({ providers }));
  const settingsManager = SettingsManager.inMemory({
    compaction: { enabled: true, reserveTokens, keepRecentTokens },
    retry: { enabled: false },
  });
  const resourceLoader = new DefaultResourceLoader({
    ...{ cwd, agentDir, settingsManager, systemPrompt },
    ...{ noContextFiles: true, noSkills: true },
    extensionFactories: [rkatExtension({ command: [process.execPath, "-e", ""] }) as never],
  });
  await resourceLoader.reload();
  const modelRuntime = await ModelRuntime.create({
    authPath: join(agentDir, "auth.json"),
    modelsPath: join(agentDir, "models.json"),
    modelsStorePath: join(agentDir, "models"),
  });
  const models = Object.keys(providers).map((name) => {
    const model = modelRuntime.getModel(name, "sailor");
    if (!model) throw new Error(modelRuntime.getError() ?? "pi does not have the model.");
    return model;
  });
  const { session } = await createAgentSession({
    ...{ cwd, agentDir, model: models[0], modelRuntime, resourceLoader, settingsManager },
    ...{ sessionManager: SessionManager.inMemory(cwd), noTools: "builtin", customTools: [tool] },
  } as never);
  const problems: string[] = [];
  await session.bindExtensions({ onError: ({ error }) => problems.push(error) });
  return { home, session, models, problems };
}
