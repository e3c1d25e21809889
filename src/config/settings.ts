import { TOOL_POLICIES } from "../core/approval.ts";
import { DEFAULT_COMPACTION_CONFIG } from "../core/compactor.ts";
import {
  duration,
  modelName,
  oneOf,
  type SettingKind,
  share,
  text,
  truth,
  variableName,
  webAddress,
  wholeNumber,
} from "./setting-kind.ts";

/** One setting: what it takes, what it is when nobody says, and what it does. */
export interface Setting<Value, Default extends Value | undefined = Value | undefined> {
  readonly kind: SettingKind<Value>;
  readonly default: Default;
  readonly description: string;
}

/**
 * Every setting there is. Files, variables, messages, the template of `rkat
 * init` and the table in the docs are read off this; `*` stands for a name of
 * the user's choice.
 *
 * Plain data and no schema library: the command reads its settings at every
 * start, and loading one takes longer than Node's own start.
 */
export const SETTINGS = {
  model: optional(modelName, "Who answers, as provider/model."),
  max_tokens: optional(wholeNumber, "Output tokens of one model call, at the most."),
  system_prompt: optional(text, "The system prompt of new sessions."),

  "compaction.auto_compact_threshold": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.autoCompactThreshold,
    "Tokens at which a history is compacted; if you leave it out, at most 80 % of the model's window.",
  ),
  "compaction.recent_turn_budget": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.recentTurnBudget,
    "Recent turns that a compaction would like to keep.",
  ),
  "compaction.max_summary_tokens": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.maxSummaryTokens,
    "Tokens that a summary may take.",
  ),
  "compaction.min_turns_between_compactions": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.minTurnsBetweenCompactions,
    "Model calls that pass between two compactions, at least.",
  ),
  "compaction.on_summary_failure": setting(
    oneOf("keep", "fallback"),
    "keep",
    "When a summary fails: keep the history as it is, or summarise without a model.",
  ),
  "compaction.prune_tool_output": setting(
    truth,
    true,
    "Shorten old tool output before anything is summarised.",
  ),
  "compaction.summary_timeout_ms": setting(
    wholeNumber,
    120_000,
    "Milliseconds that a summary may take.",
  ),

  "compaction.keep_anchors": setting(
    truth,
    true,
    "Append paths, names and numbers that a summary lost, as far as it has room.",
  ),

  "memory.enabled": setting(truth, true, "Whether new sessions can search memory."),
  "memory.store": setting(
    oneOf("sqlite", "hnsw"),
    "sqlite",
    "What finds memories: the index in the database, or nearest neighbours (needs the package usearch).",
  ),
  "memory.min_score": optional(
    share,
    "What scores less is no result. Every store has a floor of its own.",
  ),
  "memory.cache_mb": optional(
    wholeNumber,
    "Megabytes of the index of the store sqlite that stay in memory; it grows with the store if you leave it out.",
  ),
  "memory.window_size": optional(
    wholeNumber,
    "Messages of short-term memory, such as 12: when twice as many are there, older ones are summarised. If you leave it out, only tokens count.",
  ),
  "memory.pin_budget": optional(
    wholeNumber,
    "Tokens that pinned messages may take; if you leave it out, a quarter of auto_compact_threshold. Never more than half of it.",
  ),

  "search.enabled": setting(
    truth,
    true,
    "Whether memory can be searched. If not, it is kept all the same, and models are not told of it.",
  ),
  "search.index_dir": setting(
    text,
    ".rkat/search_index",
    "Where the store hnsw keeps its index, seen from the project's folder.",
  ),
  "search.max_results": setting(
    wholeNumber,
    20,
    "Results of a search that names no number; a model's memory_search has 5, at most 20.",
  ),

  "embeddings.provider": setting(
    oneOf("local", "fast", "openai", "ollama"),
    "local",
    "Who makes vectors of texts: counted words, a model on this machine, or a server.",
  ),
  "embeddings.model": optional(text, "The embedding model; each provider has a usual one."),
  "embeddings.dimensions": optional(
    wholeNumber,
    "Numbers in a vector, where the model does not say it or can shorten it.",
  ),
  "embeddings.base_url": optional(
    webAddress,
    "Where openai or ollama is reached. A project's own file may only name this machine.",
  ),
  "embeddings.api_key_env": optional(
    variableName,
    "The environment variable that holds the key for embeddings.",
  ),
  "embeddings.batch_size": setting(wholeNumber, 32, "Texts in one request to a server."),
  "approvals.default": optional(
    oneOf(...TOOL_POLICIES),
    "What happens to calls of tools that [tools] does not name: they run, somebody is asked, or they are refused. Tools of rkat's own run.",
  ),
  "approvals.timeout": setting(
    duration,
    600_000,
    "How long a turn waits for an answer; then it ends, and the call goes on waiting. A command that nobody sits at does not wait unless this is set.",
  ),
  "tools.*.policy": optional(
    oneOf(...TOOL_POLICIES),
    'What happens to calls of the tool, or of the tools whose names fit a pattern such as [tools."shell_*"].',
  ),

  "knowledge.enabled": setting(
    truth,
    true,
    "Whether the project learns from its sessions, and new sessions from the project.",
  ),
  "knowledge.max_rules": setting(
    wholeNumber,
    20,
    "Rules that go into a system prompt, at the most.",
  ),
  "knowledge.min_entries": setting(
    wholeNumber,
    1,
    "Corrections and preferences that have to be there before rules are made of them.",
  ),
  "knowledge.max_facts": setting(wholeNumber, 10_000, "Facts that are kept."),
  "knowledge.max_corrections": setting(
    wholeNumber,
    1_000,
    "Corrections that are kept, and as many preferences.",
  ),
  "knowledge.eviction": setting(
    oneOf("spare_used", "fifo"),
    "spare_used",
    "What makes room: the oldest that nobody has used, or the oldest. Nothing pinned goes.",
  ),
  "knowledge.model": optional(
    modelName,
    "Who makes the rules when `rkat knowledge distill` asks for it; without one, no model does.",
  ),

  "budget.max_total_tokens": optional(wholeNumber, "Input and output tokens of one run."),
  "budget.max_duration": optional(duration, "How long one run may take."),
  "budget.max_tool_calls": optional(wholeNumber, "Tool calls of one run."),

  "capabilities.session_store": setting(truth, true, "Sessions outlive the process."),
  "capabilities.memory_store": setting(truth, true, "What left a history can be searched."),
  "capabilities.session_compaction": setting(truth, true, "Histories are compacted."),

  "providers.*.base_url": optional(
    webAddress,
    "Where the provider is reached. A project's own file may only name this machine.",
  ),
  "providers.*.api_key_env": optional(
    variableName,
    "The environment variable that holds the provider's key.",
  ),

  "context_windows.*": optional(wholeNumber, 'Context window in tokens of a "provider/model".'),
} as const;

export type SettingKey = keyof typeof SETTINGS;

export type SettingValue<Key extends SettingKey> =
  (typeof SETTINGS)[Key] extends Setting<infer Value, infer Default>
    ? Value | (undefined extends Default ? undefined : never)
    : never;

/** The setting that a path such as `["providers", "ollama", "base_url"]` names. */
export function settingAt(path: readonly string[]): SettingKey | undefined {
  return SETTING_KEYS.find((key) => {
    const pattern = key.split(".");
    return (
      pattern.length === path.length &&
      pattern.every((part, index) => part === "*" || part === path[index])
    );
  });
}

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

function setting<Value>(
  kind: SettingKind<Value>,
  value: NoInfer<Value>,
  description: string,
): Setting<Value, Value> {
  return { kind, default: value, description };
}

function optional<Value>(kind: SettingKind<Value>, description: string): Setting<Value, undefined> {
  return { kind, default: undefined, description };
}
