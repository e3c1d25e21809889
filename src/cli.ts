import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "./config/config.ts";
import { hasCapability, makeDataFolder, type Workspace } from "./config/workspace.ts";
import type { Capability } from "./core/capabilities.ts";
import type { Embedder } from "./core/embedder.ts";
import { errorText, SessionError } from "./core/errors.ts";
import type { LanguageModel } from "./core/language-model.ts";
import type { MemoryStore } from "./core/memory-store.ts";
import type { SessionService } from "./core/session-service.ts";
import type { Stores } from "./core/stores.ts";
import { warn } from "./core/warn.ts";
import { isMemoryBehind } from "./projections/memory-behind.ts";
import type { ServiceOptions } from "./session/service-options.ts";
import type { Engine, ProviderState, StoreAccess } from "./surfaces/cli/cli-context.ts";
import { given } from "./surfaces/cli/commands/flags.ts";
import { main } from "./surfaces/cli/main.ts";
import { printWarnings } from "./surfaces/cli/terminal/print-warnings.ts";
import { processTerminal } from "./surfaces/cli/terminal/process-terminal.ts";

/** Runs the command line of this process. */
export async function runCli(): Promise<void> {
  printWarnings();
  const context = { terminal: processTerminal(), version: version(), engine, exitCode: 0 };
  process.exitCode = await main(process.argv.slice(2), context);
}

function version(): string {
  const about = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(about) as { version: string }).version;
}

/**
 * What the commands work with: SQLite stores, the AI SDK's models, and what the
 * settings leave on of both. Everything loads when it is first asked for, so
 * that a quick command starts quickly.
 */
const engine: Engine = {
  async openService(workspace, access, asking = {}) {
    const { config } = workspace;
    const stores = await openStores(workspace, access);
    const service = await createService(workspace, stores, {
      model: config.get("model") ?? NO_MODEL,
      models: modelsOf(config),
      compaction: compactionOf(config),
      approvals: {
        policies: config.toolPolicies,
        timeoutMs: config.get("approvals.timeout"),
        ...asking,
      },
      ...given({
        systemPrompt: config.get("system_prompt"),
        maxTokens: config.get("max_tokens"),
      }),
    });
    return { it: service, close: () => closeAll([service, stores]) };
  },

  async openReplay(workspace, { model, tools }, { summarizer }) {
    const { config } = workspace;
    const stores = await openStores(workspace, "create");
    const service = await createService(workspace, stores, {
      model,
      tools,
      builtinTools: false,
      compaction: {
        ...compactionOf(config),
        summarizer: summarizer === undefined ? "fallback" : await modelsOf(config)(summarizer),
      },
    });
    const memory = hasCapability(config, "memory-store") ? stores.memory : undefined;
    return { it: { service, ...given({ memory }) }, close: () => closeAll([service, stores]) };
  },

  async openMemory(workspace, access) {
    if (!hasCapability(workspace.config, "memory-store")) {
      throw new SessionError("SESSION_MEMORY_DISABLED");
    }
    const stores = await openStores(workspace, access);
    if (hasCapability(workspace.config, "session-store"))
      await indexMemory(workspace.config, stores);
    return { it: stores.memory, close: () => stores.close() };
  },

  async examineSqlite() {
    const { DatabaseSync } = await import("node:sqlite");
    const { requireSqlite } = await import("./sqlite.ts");
    const db = new DatabaseSync(":memory:");
    const version = String(db.prepare("SELECT sqlite_version() AS version").get()?.version);
    db.close();
    try {
      requireSqlite();
      return { version };
    } catch (error) {
      return { version, problem: SessionError.from(error).message };
    }
  },

  async examineStore(file) {
    const { DatabaseSync } = await import("node:sqlite");
    try {
      const db = new DatabaseSync(file, { readOnly: true });
      try {
        const rows = db.prepare("PRAGMA integrity_check(10)").all();
        return rows.map((row) => String(row.integrity_check)).filter((line) => line !== "ok");
      } finally {
        db.close();
      }
    } catch (error) {
      return [errorText(error)];
    }
  },

  async providers({ config }) {
    const { PROVIDERS } = await import("./models/providers.ts");
    return Object.entries(PROVIDERS).map(([name, provider]): ProviderState => {
      const own = config.providers[name]?.api_key_env;
      const variables = own === undefined ? provider.keyVariables : [own];
      const set = variables.find((variable) => process.env[variable]?.trim());
      const keyVariable = set ?? (provider.keyOptional ? undefined : variables[0]);
      return {
        name,
        package: provider.package,
        installed: isInstalled(provider.package),
        hasKey: set !== undefined,
        ...given({ keyVariable }),
      };
    });
  },

  async examineEmbedder({ config }) {
    try {
      const embedder = await openNamedEmbedder(config);
      // A key, an address or a model that is wrong is found out by asking.
      await embedder?.embed(["Is anybody there?"], { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
      return embedder && { id: embedder.id };
    } catch (error) {
      const { message, hint } = SessionError.from(error);
      return { problem: `${message} ${hint}` };
    }
  },
};

/** So long does `rkat doctor` wait for an embedder. */
const ANSWER_MS_MAX = 10_000;

/** Asked when nobody named a model; everything but a turn works without one. */
const NO_MODEL: LanguageModel = {
  id: "none",
  // biome-ignore lint/correctness/useYield: there is nothing that it could say.
  async *stream() {
    throw new SessionError("MODEL_UNAVAILABLE", { message: "No model is configured." });
  },
};

/** A service with the capabilities that the settings leave on. */
async function createService(
  { config, dataFolder }: Workspace,
  stores: Stores,
  { compaction, ...options }: ServiceOptions,
): Promise<SessionService> {
  const { createSessionService } = await import("./index.ts");
  const has = (capability: Capability) => hasCapability(config, capability);
  const keepsFiles = has("session-store") && existsSync(dataFolder);
  return createSessionService({
    ...options,
    ...(has("session-store") ? { stores } : {}),
    memory: has("memory-store") && stores.memory,
    searchableMemory: config.get("search.enabled"),
    memoryResults: config.get("search.max_results"),
    knowledge: learns(config) && { store: stores.knowledge, ...knowledgeOf(config) },
    ...(has("session-compaction") && compaction ? { compaction } : {}),
    ...(keepsFiles ? { sessionFiles: join(dataFolder, "sessions") } : {}),
  });
}

async function openStores(workspace: Workspace, access: StoreAccess): Promise<Stores> {
  const { config, dataFolder, storeFile } = workspace;
  const kept = hasCapability(config, "session-store") || hasCapability(config, "memory-store");
  if (!kept || (access === "existing" && !existsSync(storeFile))) return emptyStores();
  makeDataFolder(dataFolder);
  const { sqliteStores } = await import("./sqlite.ts");
  const embedder = hasCapability(config, "memory-store") ? await embedderOf(config) : undefined;
  const isHnsw = config.get("memory.store") === "hnsw" && embedder !== null;
  const cacheMegabytes = config.get("memory.cache_mb");
  const stores = sqliteStores({
    path: storeFile,
    thread: access === "serve" ? "worker" : "main",
    ...given({
      embedder: isHnsw ? undefined : (embedder ?? undefined),
      cacheBytes: cacheMegabytes === undefined ? undefined : cacheMegabytes * 1_000_000,
    }),
  });
  // A server begins with what has no vector of this embedder yet; what fails is tried again later.
  if (embedder && !isHnsw && access === "serve") stores.memory.finishEmbedding().catch(() => {});
  const memory = isHnsw ? await hnswMemory(workspace, stores.memory, embedder) : stores.memory;
  const minScore = config.get("memory.min_score");
  return {
    ...stores,
    memory: minScore === undefined ? memory : await floored(memory, minScore),
    async close() {
      // A server makes vectors while it serves; a command that adds would be gone before the first.
      if (embedder && !isHnsw && access === "create") {
        await inTime(stores.memory.finishEmbedding(), VECTORS_WAITED_FOR_MS);
      }
      await closeAll([memory, stores]);
    },
  };
}

/** What has no vector by then gets it from the next command, or from a server. */
const VECTORS_WAITED_FOR_MS = 15_000;

async function inTime(work: Promise<unknown>, limitMs: number): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, limitMs);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The embedder of the settings; undefined when none is named, null when it cannot be used here. */
async function embedderOf(config: Config): Promise<Embedder | undefined | null> {
  try {
    return await openNamedEmbedder(config);
  } catch (error) {
    warn(SessionError.from(error), "Memory uses words only.");
    return null;
  }
}

async function openNamedEmbedder(config: Config): Promise<Embedder | undefined> {
  const provider = config.given("embeddings.provider");
  if (provider === undefined && config.given("embeddings.model") === undefined) return undefined;
  const { openEmbedder } = await import("./embedders/open-embedder.ts");
  const remote = provider === undefined ? undefined : config.providers[provider];
  const keyVariable = config.get("embeddings.api_key_env") ?? remote?.api_key_env;
  return await openEmbedder({
    batchSize: config.get("embeddings.batch_size"),
    ...given({
      provider,
      model: config.get("embeddings.model"),
      dimensions: config.get("embeddings.dimensions"),
      baseUrl: config.get("embeddings.base_url") ?? remote?.base_url,
      apiKey: keyVariable === undefined ? undefined : keyIn(keyVariable),
    }),
  });
}

/** Who names a variable wants that key, and no other, to be sent. */
function keyIn(variable: string): string {
  const key = process.env[variable];
  if (key) return key;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: "The embeddings need a key.",
    hint: `Set ${variable} in the environment: the settings name it.`,
  });
}

async function hnswMemory(
  { config, folder }: Workspace,
  entries: MemoryStore,
  embedder: Embedder | undefined,
): Promise<MemoryStore> {
  const { HnswMemoryStore } = await import("./hnsw.ts");
  const file = join(resolve(folder, config.get("search.index_dir")), "memory.hnsw");
  return new HnswMemoryStore({ entries, file, ...given({ embedder }) });
}

async function floored(memory: MemoryStore, minScore: number): Promise<MemoryStore> {
  const { flooredMemory } = await import("./stores/floored-memory.ts");
  return flooredMemory(memory, minScore);
}

async function emptyStores(): Promise<Stores> {
  const [
    { EphemeralEventStore },
    { EphemeralSessionStore },
    { SimpleMemoryStore },
    { EphemeralApprovalStore },
    { EphemeralKnowledgeStore },
  ] = await Promise.all([
    import("./stores/ephemeral/ephemeral-event-store.ts"),
    import("./stores/ephemeral/ephemeral-session-store.ts"),
    import("./stores/ephemeral/simple-memory-store.ts"),
    import("./stores/ephemeral/ephemeral-approval-store.ts"),
    import("./stores/ephemeral/ephemeral-knowledge-store.ts"),
  ]);
  return {
    events: new EphemeralEventStore(),
    sessions: new EphemeralSessionStore(),
    memory: new SimpleMemoryStore(),
    approvals: new EphemeralApprovalStore(),
    knowledge: new EphemeralKnowledgeStore(),
    async close() {},
  };
}

/** A process that was killed may have left discarded messages in the log that memory has yet to get. */
async function indexMemory(config: Config, stores: Stores): Promise<void> {
  const { events, memory, knowledge } = stores;
  if (!(await isMemoryBehind(events, learns(config) ? knowledge : undefined))) return;
  const [{ ProjectionRunner }, { MemoryIndex }] = await Promise.all([
    import("./projections/projection-runner.ts"),
    import("./projections/memory-index.ts"),
  ]);
  const index = new MemoryIndex(events, memory);
  const projections = learns(config) ? [index, await recorder(config, stores)] : [index];
  await new ProjectionRunner(events, projections, () => {}).flush();
}

async function recorder(config: Config, { events, memory, knowledge: store }: Stores) {
  const [{ KnowledgeRecorder }, { ProjectKnowledge }] = await Promise.all([
    import("./projections/knowledge-recorder.ts"),
    import("./knowledge/project-knowledge.ts"),
  ]);
  const project = new ProjectKnowledge(store, knowledgeOf(config), { memory });
  return new KnowledgeRecorder(events, project);
}

function modelsOf(config: Config): NonNullable<ServiceOptions["models"]> {
  return async (name) => {
    const { aiSdkModels } = await import("./ai-sdk.ts");
    requireOwnKey(name, config);
    const providers = Object.entries(config.providers);
    const keys = providers.flatMap(([provider, { api_key_env }]) => {
      const key = api_key_env === undefined ? undefined : process.env[api_key_env];
      return key === undefined ? [] : [[provider, key] as const];
    });
    const baseUrls = providers.flatMap(([provider, { base_url }]) =>
      base_url === undefined ? [] : [[provider, base_url] as const],
    );
    const models = aiSdkModels({
      keys: Object.fromEntries(keys),
      baseUrls: Object.fromEntries(baseUrls),
      contextWindows: config.contextWindows,
    });
    return await models(name);
  };
}

/** Who names a variable wants that key, and no other, to be sent. */
function requireOwnKey(model: string, config: Config): void {
  const provider = model.split("/")[0] ?? "";
  const variable = config.providers[provider]?.api_key_env;
  if (variable === undefined || process.env[variable]) return;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: `${provider} needs a key.`,
    hint: `Set ${variable} in the environment: the settings name it.`,
  });
}

/** Only what somebody said: the engine's own defaults know the model's window, the settings do not. */
function compactionOf(config: Config): NonNullable<ServiceOptions["compaction"]> {
  return given({
    autoCompactThreshold: config.given("compaction.auto_compact_threshold"),
    recentTurnBudget: config.given("compaction.recent_turn_budget"),
    maxSummaryTokens: config.given("compaction.max_summary_tokens"),
    minTurnsBetweenCompactions: config.given("compaction.min_turns_between_compactions"),
    onSummaryFailure: config.given("compaction.on_summary_failure"),
    pruneToolOutput: config.given("compaction.prune_tool_output"),
    summaryTimeoutMs: config.given("compaction.summary_timeout_ms"),
    keepAnchors: config.given("compaction.keep_anchors"),
    windowSize: config.given("memory.window_size"),
    pinBudget: config.given("memory.pin_budget"),
  });
}

/** The project learns by way of its memory. */
function learns(config: Config): boolean {
  return config.get("knowledge.enabled") && hasCapability(config, "memory-store");
}

function knowledgeOf(config: Config): Omit<NonNullable<ServiceOptions["knowledge"]>, "store"> {
  return {
    maxRules: config.get("knowledge.max_rules"),
    minEntries: config.get("knowledge.min_entries"),
    maxFacts: config.get("knowledge.max_facts"),
    maxCorrections: config.get("knowledge.max_corrections"),
    eviction: config.get("knowledge.eviction"),
    ...given({ model: config.get("knowledge.model") }),
  };
}

function isInstalled(packageName: string): boolean {
  try {
    import.meta.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}

/** One after the other: who uses the next is closed before it. */
async function closeAll(things: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const thing of things) await thing.close();
}
