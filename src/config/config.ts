import type { ToolPolicy } from "../core/approval.ts";
import { SessionError, shownAddress } from "../core/errors.ts";
import { camelCase, given } from "../core/fields.ts";
import type { ModelPrice, PriceTable } from "../core/prices.ts";
import {
  type ConfigOwner,
  type ConfigSource,
  dotted,
  type FoundSetting,
  mayHaveSecret,
} from "./config-source.ts";
import {
  PROJECT_TOOLS,
  type ProjectRule,
  SETTING_KEYS,
  SETTINGS,
  type SettingKey,
  type SettingValue,
} from "./settings.ts";

/** A setting in force, and where it comes from. */
export interface EffectiveSetting {
  /** The key in TOML. */
  readonly key: string;
  /** Null when it has no value. */
  readonly value: unknown;
  /** The value in TOML. */
  readonly written: string;
  /** `default`, a file's path, or a variable's name. */
  readonly origin: string;
}

export interface ProviderSettings {
  readonly base_url?: string;
  readonly api_key_env?: string;
}

export interface McpServerSettings {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly environment?: readonly string[];
  readonly url?: string;
  readonly api_key_env?: string;
  readonly tools?: readonly string[];
  /** Milliseconds. */
  readonly timeout?: number;
  readonly enabled?: boolean;
}

/** Facts about the settings that are in no file. */
export interface ConfigFacts {
  /** The address of a database that a flag named. */
  readonly store?: string | undefined;
  /** Whether the user trusted another file in the place of the project's. */
  readonly wasTrusted?: boolean | undefined;
}

/**
 * The settings in force. Later sources win, key by key. For a project that you do not trust,
 * the setting's `project` rule decides. In a store that projects share, a project's file, trusted or not, decides
 * nothing that removes rows of the others.
 */
export class Config {
  readonly #found = new Map<string, FoundSetting>();
  /** Policies of an untrusted project. They can only make others stricter. */
  readonly #atLeast = new Map<string, FoundSetting>();
  readonly #ignored: FoundSetting[] = [];
  /** Settings in force that a project's file made. */
  readonly #ofProject = new Set<string>();

  /** Whether the user trusted another file in the place of the project's. */
  readonly wasTrusted: boolean;
  /** Whether the user trusts the project's file. */
  readonly isTrusted: boolean;

  constructor(sources: readonly ConfigSource[], { store, wasTrusted = false }: ConfigFacts = {}) {
    this.wasTrusted = wasTrusted;
    this.isTrusted = sources.some(({ owner }) => owner === "trusted project");
    const isStore = ({ key }: FoundSetting) => key === "store";
    const sharesStore =
      store !== undefined ||
      sources.some(({ owner, settings }) => owner === "user" && settings.some(isStore));
    const all = store === undefined ? sources : [...sources, flagSource(store)];
    for (const { owner, settings } of all) {
      for (const found of settings) {
        if (owner === "trusted project" && sharesStore && reachesOthers(found.key)) {
          this.#ignored.push(found);
        } else this.#add(found, owner);
      }
    }
  }

  #add(found: FoundSetting, owner: ConfigOwner): void {
    const name = dotted(found.path);
    if (owner !== "project") {
      this.#found.set(name, found);
      if (owner === "user") this.#ofProject.delete(name);
      else this.#ofProject.add(name);
      return;
    }
    const { project: rule, default: usual } = SETTINGS[found.key];
    const before = this.#found.get(name)?.value ?? usual;
    if (!isTighter(rule, found.value, before)) this.#ignored.push(found);
    else (rule === "tightens" ? this.#atLeast : this.#found).set(name, found);
  }

  /** The settings of a project's file that were not allowed. `untrustedNote` has a sentence about them. */
  get ignored(): readonly FoundSetting[] {
    return this.#ignored;
  }

  get<Key extends SettingKey>(key: Key): SettingValue<Key> {
    return (this.given(key) ?? SETTINGS[key].default) as SettingValue<Key>;
  }

  /** The configured value; undefined when only the default applies. */
  given<Key extends SettingKey>(key: Key): SettingValue<Key> | undefined {
    return this.#found.get(key)?.value as SettingValue<Key> | undefined;
  }

  /** Whether a trusted project's file made this setting, such as `"providers", "groq", "base_url"`. */
  isOfProject(...path: readonly string[]): boolean {
    return this.#ofProject.has(dotted(path));
  }

  /** The settings of each provider, by its name. */
  get providers(): Readonly<Record<string, ProviderSettings>> {
    const providers: Record<string, Record<string, unknown>> = {};
    for (const { path, value } of this.#under("providers")) {
      const [, name = "", setting = ""] = path;
      providers[name] = { ...providers[name], [setting]: value };
    }
    return providers;
  }

  /** The settings of each MCP server whose tools the agent gets, by its name. */
  get mcpServers(): Readonly<Record<string, McpServerSettings>> {
    const servers: Record<string, Record<string, unknown>> = {};
    for (const { path, value } of this.#under("mcp")) {
      const [, section, name = "", setting = ""] = path;
      if (section === "servers") servers[name] = { ...servers[name], [setting]: value };
    }
    return servers;
  }

  /** Policies for tool calls, by tool name or pattern. */
  get toolPolicies(): Readonly<Record<string, ToolPolicy>> {
    return policiesIn(this.#found);
  }

  /** The policies of a project that you do not trust. The stricter of both applies. */
  get toolPoliciesAtLeast(): Readonly<Record<string, ToolPolicy>> {
    return policiesIn(this.#atLeast);
  }

  /** Context windows in tokens, by `provider/model`. */
  get contextWindows(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.#under("context_windows").map(({ path, value }) => [path[1] ?? "", value as number]),
    );
  }

  /** Prices by `provider/model`. */
  get prices(): PriceTable {
    return Object.fromEntries(
      this.#prices.flatMap(([model, price]) => (isWhole(price) ? [[model, price] as const] : [])),
    );
  }

  /** Models whose price lacks `input` or `output`, so that it has no effect. */
  get halfPriced(): readonly string[] {
    return this.#prices.flatMap(([model, price]) => (isWhole(price) ? [] : [model]));
  }

  get #prices(): readonly (readonly [model: string, price: Partial<ModelPrice>])[] {
    const prices: Record<string, Record<string, unknown>> = {};
    for (const { path, value } of this.#under("prices")) {
      const [, model = "", setting = ""] = path;
      prices[model] = { ...prices[model], [camelCase(setting)]: value };
    }
    return Object.entries(prices);
  }

  /** All settings in the order of the table. Settings with the user's names come last. */
  effective(): readonly EffectiveSetting[] {
    const inForce = new Map(this.#found);
    for (const [name, least] of this.#atLeast) {
      // It is `ask` or `deny`, and the stricter of both is in force.
      const own = inForce.get(name)?.value;
      if (own !== "deny" && own !== least.value) inForce.set(name, least);
    }
    const fixed = SETTING_KEYS.filter((key) => !key.includes("*")).map((key) => {
      const { value, origin } = inForce.get(key) ?? {
        value: SETTINGS[key].default,
        origin: "default",
      };
      return entry(key, key, value, origin);
    });
    const named = [...inForce.values()]
      .filter(({ key }) => key.includes("*"))
      .map(({ key, path, value, origin }) => entry(dotted(path), key, value, origin));
    return [...fixed, ...named];
  }

  #under(section: string): readonly FoundSetting[] {
    return [...this.#found.values()].filter(({ path }) => path[0] === section);
  }
}

function isWhole(price: Partial<ModelPrice>): price is ModelPrice {
  return price.input !== undefined && price.output !== undefined;
}

/** The value of `--store`, which stands above all else. */
function flagSource(store: string): ConfigSource {
  const found: FoundSetting = { key: "store", path: ["store"], value: store, origin: "--store" };
  return { owner: "user", name: "--store", settings: [found], problems: [] };
}

/** Whether a setting can remove what others have in the same store. */
function reachesOthers(key: SettingKey): boolean {
  return SETTINGS[key].removes.startsWith("everyone's");
}

/** Whether an untrusted project's value may replace `before`. */
function isTighter(rule: ProjectRule, value: unknown, before: unknown): boolean {
  switch (rule) {
    case "lowers":
      return before === undefined || (value as number) <= (before as number);
    case "switches off":
      return value === false;
    case "tightens":
      return value !== "allow";
    case "narrows":
      return rankOf(value) >= rankOf(before);
    case "if trusted":
    case "never":
      return false;
  }
}

function rankOf(tools: unknown): number {
  const order: readonly unknown[] = PROJECT_TOOLS;
  return order.indexOf(tools);
}

function policiesIn(
  found: ReadonlyMap<string, FoundSetting>,
): Readonly<Record<string, ToolPolicy>> {
  const policies: Record<string, ToolPolicy> = {};
  for (const { key, path, value } of found.values()) {
    if (key === "approvals.default") policies["*"] = value as ToolPolicy;
    if (key === "tools.*.policy") policies[path[1] ?? ""] = value as ToolPolicy;
  }
  return policies;
}

function entry(key: string, setting: SettingKey, value: unknown, origin: string): EffectiveSetting {
  if (value === undefined) return { key, value: null, written: "", origin };
  const shown = mayHaveSecret(setting) ? shownAddress(String(value)) : value;
  const write = SETTINGS[setting].kind.write as (value: unknown) => string;
  return { key, value: shown, written: write(shown), origin };
}

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
