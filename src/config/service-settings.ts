import { SessionError } from "../core/errors.ts";
import { given } from "../core/fields.ts";
import type { Config } from "./config.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Configured settings only, because the engine's defaults depend on the model's window. */
export function compactionSettings(config: Config) {
  return given({
    autoCompactThreshold: config.given("compaction.auto_compact_threshold"),
    recentTurnBudget: config.given("compaction.recent_turn_budget"),
    maxSummaryTokens: config.given("compaction.max_summary_tokens"),
    minTurnsBetweenCompactions: config.given("compaction.min_turns_between_compactions"),
    onSummaryFailure: config.given("compaction.on_summary_failure"),
    pruneToolOutput: config.given("compaction.prune_tool_output"),
    summaryTimeoutMs: config.given("compaction.summary_timeout_ms"),
    keepAnchors: config.given("compaction.keep_anchors"),
    userWordsTokens: config.given("compaction.user_words_tokens"),
    windowSize: config.given("memory.window_size"),
    pinBudget: config.given("memory.pin_budget"),
  });
}

export function knowledgeSettings(config: Config) {
  return {
    maxRules: config.get("knowledge.max_rules"),
    minEntries: config.get("knowledge.min_entries"),
    maxFacts: config.get("knowledge.max_facts"),
    maxCorrections: config.get("knowledge.max_corrections"),
    eviction: config.get("knowledge.eviction"),
    ...given({ model: config.get("knowledge.model") }),
  };
}

/**
 * The address of each provider, and its key if the settings name a variable. A key never goes to an
 * address that a project's file chose, even if you trust the project.
 */
export function providerSettings(config: Config, env: Env) {
  const keys: Record<string, string> = {};
  const baseUrls: Record<string, string> = {};
  const withoutKey: string[] = [];
  for (const [name, { api_key_env, base_url }] of Object.entries(config.providers)) {
    if (config.isOfProject("providers", name, "base_url")) withoutKey.push(name);
    const key = api_key_env === undefined ? undefined : env[api_key_env];
    if (key !== undefined) keys[name] = key;
    if (base_url !== undefined) baseUrls[name] = base_url;
  }
  return { keys, baseUrls, withoutKey, contextWindows: config.contextWindows };
}

/** @throws SessionError `MODEL_UNAVAILABLE` when the settings name a variable for the key and it is not set. */
export function requireProviderKey(provider: string, config: Config, env: Env): void {
  const variable = config.providers[provider]?.api_key_env;
  if (variable !== undefined) namedKey(variable, provider, env);
}

/**
 * The embedder of the settings. Undefined when they name none.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when its key is not set.
 */
export function embedderSettings(config: Config, env: Env) {
  const provider = config.given("embeddings.provider");
  const model = config.given("embeddings.model");
  if (provider === undefined && model === undefined) return undefined;
  const remote = provider === undefined ? undefined : config.providers[provider];
  const variable = config.get("embeddings.api_key_env") ?? remote?.api_key_env;
  const own = config.get("embeddings.base_url");
  const section = own === undefined ? ["providers", provider ?? ""] : ["embeddings"];
  return {
    batchSize: config.get("embeddings.batch_size"),
    sendsKey: !config.isOfProject(...section, "base_url"),
    ...given({
      provider,
      model: config.get("embeddings.model"),
      dimensions: config.get("embeddings.dimensions"),
      baseUrl: own ?? remote?.base_url,
      apiKey: variable === undefined ? undefined : namedKey(variable, "The embedder", env),
    }),
  };
}

function namedKey(variable: string, who: string, env: Env): string {
  const key = env[variable];
  if (key) return key;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: `${who} needs a key.`,
    hint: `Set ${variable} in the environment: the settings name it.`,
  });
}
