import { DEFAULT_COMPACTION_CONFIG } from "../core/compactor.ts";
import {
  duration,
  modelName,
  oneOf,
  type SettingKind,
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

  "memory.enabled": setting(truth, true, "Whether new sessions can search memory."),

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
