import { TOOL_POLICIES } from "../core/approval.ts";
import { DEFAULT_COMPACTION_CONFIG } from "../core/compactor.ts";
import {
  amount,
  argumentList,
  duration,
  modelName,
  oneOf,
  type SettingKind,
  share,
  storeAddress,
  text,
  textList,
  truth,
  variableName,
  variableNames,
  webAddress,
  wholeNumber,
  wholeNumberOrNone,
} from "./setting-kind.ts";

/** One setting: the values it takes, its default, and what it does. */
export interface Setting<Value, Default extends Value | undefined = Value | undefined> {
  readonly kind: SettingKind<Value>;
  readonly default: Default;
  readonly project: ProjectRule;
  readonly removes: Removed;
  readonly description: string;
}

/**
 * What some value of a setting can make rkat delete, evict, or keep for a shorter time, now or later. A lower
 * limit deletes what is beyond it, so lowering is not harmless by itself.
 *
 * `its own` is of the sessions that run with the setting; `everyone's` is of all who use the same store. A
 * project's file sets neither before you trust it, and never the second in a store that projects share.
 */
export type Removed = "nothing" | `its own ${string}` | `everyone's ${string}`;

/** Whatever leaves the window sooner, or with a worse summary, is deleted sooner too. */
const COMPACTED = "its own messages, if keep_compacted_days is set";

/**
 * The right of a project's `.rkat/config.toml` to change a setting. The file comes with the project,
 * perhaps from a stranger. It may tighten, never loosen, and it never decides where words or keys
 * go, unless you trust the project (`rkat trust`). A trusted project's value is used as it is.
 */
export type ProjectRule =
  /** The smaller number of yours, or of the default, and the project's. */
  | "lowers"
  /** `false` is used, `true` is not. */
  | "switches off"
  /** The stricter policy of yours and the project's: `deny`, then `ask`, then `allow`. */
  | "tightens"
  /** The value with fewer tools, of yours and the project's. */
  | "narrows"
  /** It is ignored before you trust the project. */
  | "if trusted"
  /** It is ignored, and in a project that you trust it is an error. */
  | "never";

/** Which tools for the project's folder a model has, the most first. */
export const PROJECT_TOOLS = ["all", "read", "none"] as const;

/**
 * The scope of a search: this project, with the sessions that other programs held in its folder; the user-wide
 * store; or all of that.
 */
export const SEARCH_SCOPES = ["project", "user", "all"] as const;

export type SearchScope = (typeof SEARCH_SCOPES)[number];

/**
 * Every setting. Files, variables, messages, the template of `rkat init` and
 * the table in the docs come from this table. `*` is a name of the user's choice.
 *
 * It is plain data, because the command reads its settings at every start.
 * Loading a schema library takes longer than starting Node.
 */
export const SETTINGS = {
  model: optional(modelName, "if trusted", "nothing", "The model, as provider/model."),
  max_tokens: optional(
    wholeNumber,
    "lowers",
    "nothing",
    "Maximum output tokens of one model call.",
  ),
  system_prompt: optional(text, "if trusted", "nothing", "The system prompt of new sessions."),
  store: optional(
    storeAddress,
    "never",
    "nothing",
    "The PostgreSQL database that keeps everything, in the place of a file.",
  ),

  "compaction.auto_compact_threshold": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.autoCompactThreshold,
    "if trusted",
    COMPACTED,
    "Tokens at which a history is compacted. If not set, at most 80 % of the model's window.",
  ),
  "compaction.recent_turn_budget": setting(
    wholeNumberOrNone,
    DEFAULT_COMPACTION_CONFIG.recentTurnBudget,
    "if trusted",
    COMPACTED,
    "Recent turns that a compaction keeps if they fit. If not set, more stay while they take two fifths of the threshold.",
  ),
  "compaction.max_summary_tokens": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.maxSummaryTokens,
    "if trusted",
    COMPACTED,
    "Maximum tokens of a summary.",
  ),
  "compaction.min_turns_between_compactions": setting(
    wholeNumber,
    DEFAULT_COMPACTION_CONFIG.minTurnsBetweenCompactions,
    "if trusted",
    COMPACTED,
    "Minimum number of model calls between two compactions.",
  ),
  "compaction.on_summary_failure": setting(
    oneOf("keep", "fallback"),
    "keep",
    "if trusted",
    COMPACTED,
    "If a summary fails: keep the history as it is, or summarise without a model.",
  ),
  "compaction.prune_tool_output": setting(
    truth,
    true,
    "if trusted",
    COMPACTED,
    "Shorten old tool output before anything is summarised.",
  ),
  "compaction.summary_timeout_ms": setting(
    wholeNumber,
    120_000,
    "if trusted",
    COMPACTED,
    "Milliseconds until a summary request is given up.",
  ),

  "compaction.keep_anchors": setting(
    truth,
    true,
    "if trusted",
    COMPACTED,
    "Append paths, names and numbers that a summary lost, if it has room.",
  ),

  "compaction.user_words_tokens": optional(
    wholeNumberOrNone,
    "if trusted",
    COMPACTED,
    "Tokens that the words of people may take below a summary. If not set, three quarters of the threshold; 0 keeps none.",
  ),

  "memory.enabled": setting(
    truth,
    true,
    "switches off",
    "nothing",
    "Whether new sessions can search memory.",
  ),
  "memory.store": setting(
    oneOf("sqlite", "hnsw"),
    "sqlite",
    "if trusted",
    "nothing",
    "How memory is searched: by the index in the database, or by nearest neighbours (needs the package usearch).",
  ),
  "memory.index": setting(
    oneOf("all", "discarded"),
    "all",
    "if trusted",
    "everyone's messages, from memory",
    "Which messages get into memory: all, turn by turn, or only those that a compaction removed.",
  ),
  "memory.min_score": optional(
    share,
    "if trusted",
    "nothing",
    "Results with a lower score are left out. Each store has its own default.",
  ),
  "memory.recall_tokens": setting(
    wholeNumberOrNone,
    1500,
    "lowers",
    "nothing",
    "Tokens that records of memory may take before a prompt that they are about; they come by themselves. 0 for none.",
  ),
  "memory.recall_from": setting(
    oneOf("session", "project"),
    "session",
    "if trusted",
    "nothing",
    "Whose records come back by themselves: of the session itself, or of all sessions of the project.",
  ),
  "memory.cache_mb": optional(
    wholeNumber,
    "lowers",
    "nothing",
    "Megabytes of index to keep in memory (store sqlite). Less makes searches slower. If not set, 16 or more, as the store grows.",
  ),
  "memory.window_size": optional(
    wholeNumber,
    "if trusted",
    COMPACTED,
    "Messages of short-term memory, such as 12. At twice as many, older ones are summarised. If not set, only tokens count.",
  ),
  "memory.pin_budget": optional(
    wholeNumber,
    "if trusted",
    COMPACTED,
    "Maximum tokens of pinned messages. If not set, a quarter of auto_compact_threshold; never more than half of it.",
  ),

  "search.enabled": setting(
    truth,
    true,
    "switches off",
    "nothing",
    "Whether memory can be searched. If false, memory is still filled, but no model can search it.",
  ),
  "search.index_dir": setting(
    text,
    ".rkat/search_index",
    "if trusted",
    "nothing",
    "The folder of the graph that the store hnsw keeps, relative to the project's folder. The store sqlite has its index in the database.",
  ),
  "search.max_results": setting(
    wholeNumber,
    20,
    "lowers",
    "nothing",
    "Results of a search without a limit. A model's memory_search returns 5, and at most 20.",
  ),

  "embeddings.provider": setting(
    oneOf("local", "fast", "openai", "ollama"),
    "local",
    "if trusted",
    "nothing",
    "What makes vectors: counted words, a model on this machine, or a server.",
  ),
  "embeddings.model": optional(
    text,
    "if trusted",
    "nothing",
    "The embedding model. Each provider has a default.",
  ),
  "embeddings.dimensions": optional(
    wholeNumber,
    "if trusted",
    "nothing",
    "Dimensions of a vector, for models that do not report them or can shorten them.",
  ),
  "embeddings.base_url": optional(
    webAddress,
    "if trusted",
    "nothing",
    "The address of openai or ollama. A project's file may only name this machine.",
  ),
  "embeddings.api_key_env": optional(
    variableName,
    "if trusted",
    "nothing",
    "The environment variable with the key for embeddings.",
  ),
  "embeddings.batch_size": setting(
    wholeNumber,
    32,
    "lowers",
    "nothing",
    "Texts in one request to an embedding server.",
  ),
  "approvals.default": optional(
    oneOf(...TOOL_POLICIES),
    "tightens",
    "nothing",
    "What happens to calls of tools that [tools] does not name: run, ask first, or refuse. It does not apply to rkat's own tools.",
  ),
  "approvals.timeout": setting(
    duration,
    600_000,
    "lowers",
    "nothing",
    "How long a turn waits for an answer. Then the turn ends, and the call keeps waiting. A command without a terminal waits only if this is set.",
  ),
  "tools.project": setting(
    oneOf(...PROJECT_TOOLS),
    "all",
    "narrows",
    "nothing",
    "The tools for the project's folder that `rkat run` and `rkat chat` give the model: all, those that only read, or none.",
  ),
  "tools.*.policy": optional(
    oneOf(...TOOL_POLICIES),
    "tightens",
    "nothing",
    'What happens to calls of this tool, or of all tools that match a pattern such as [tools."shell_*"].',
  ),
  "tools.run_command.environment": optional(
    variableNames,
    "if trusted",
    "nothing",
    "Environment variables that commands of run_command see, besides those that are known to be harmless.",
  ),

  "privacy.redact": setting(
    oneOf("memory", "log"),
    "memory",
    "if trusted",
    "its own credentials in what is said from then on",
    "What credentials are kept out of: memory, summaries and knowledge, or everything that is written, the log included.",
  ),

  "privacy.redact_payments": setting(
    truth,
    false,
    "if trusted",
    "its own card numbers and IBANs in what is said from then on",
    "Whether numbers of cards and IBANs are kept out of all that credentials are kept out of.",
  ),

  "sessions.keep_deleted_days": setting(
    wholeNumberOrNone,
    7,
    "if trusted",
    "everyone's deleted sessions",
    "For how many days you can restore a deleted session. 0 deletes at once.",
  ),

  "sessions.keep_archived_days": optional(
    wholeNumberOrNone,
    "if trusted",
    "everyone's archived sessions",
    "For how many days an archived session is kept after its last change. If not set, until you delete it.",
  ),
  "sessions.keep_compacted_days": optional(
    wholeNumberOrNone,
    "if trusted",
    "everyone's messages that were compacted",
    "For how many days log and memory keep the words of messages that a compaction took out of the window. If not set, as long as the session.",
  ),

  "sessions.worktrees": setting(
    oneOf("shared", "apart"),
    "shared",
    "if trusted",
    "its own sessions, when the worktree is removed",
    "Whether the worktrees of a git repository share the store of its main checkout, or each has its own, which is lost with the worktree.",
  ),

  "mcp.tools": setting(
    textList,
    ["default"],
    "if trusted",
    "its own entries, if a model asks",
    'The tools that `rkat mcp` offers: names, "all", or "default" for those that a coding agent needs.',
  ),

  "mcp.scope": setting(
    oneOf(...SEARCH_SCOPES),
    "project",
    "if trusted",
    "nothing",
    "What the clients of `rkat mcp` can search: this project, with what you said in its folder to any agent; the user-wide store ~/.rkat; or all of that.",
  ),

  "mcp.servers.*.command": optional(
    text,
    "if trusted",
    "nothing",
    "The program of an MCP server whose tools `rkat run`, `rkat chat` and `rkat serve` give the model. `rkat mcp add` writes it.",
  ),
  "mcp.servers.*.args": optional(
    argumentList,
    "if trusted",
    "nothing",
    "The arguments of that program.",
  ),
  "mcp.servers.*.environment": optional(
    variableNames,
    "if trusted",
    "nothing",
    "Environment variables that the program sees, besides those that every program needs.",
  ),
  "mcp.servers.*.url": optional(
    webAddress,
    "if trusted",
    "nothing",
    "The address of an MCP server over HTTP, in place of a program.",
  ),
  "mcp.servers.*.api_key_env": optional(
    variableName,
    "if trusted",
    "nothing",
    "The environment variable with the token that is sent to that address.",
  ),
  "mcp.servers.*.tools": optional(
    textList,
    "if trusted",
    "nothing",
    "The server's tools that the model gets. If not set, all.",
  ),
  "mcp.servers.*.timeout": optional(
    duration,
    "if trusted",
    "nothing",
    "How long one call may take. If not set, 60s.",
  ),
  "mcp.servers.*.enabled": optional(
    truth,
    "if trusted",
    "nothing",
    "Whether the server is used. If not set, it is.",
  ),

  "knowledge.enabled": setting(
    truth,
    true,
    "switches off",
    "nothing",
    "Whether the project learns from its sessions, and new sessions from the project.",
  ),
  "knowledge.max_rules": setting(
    wholeNumber,
    20,
    "if trusted",
    "everyone's rules",
    "Maximum number of rules in a system prompt.",
  ),
  "knowledge.min_entries": setting(
    wholeNumber,
    1,
    "if trusted",
    "everyone's rules",
    "Corrections and preferences needed before rules are made.",
  ),
  "knowledge.max_facts": setting(
    wholeNumber,
    10_000,
    "if trusted",
    "everyone's facts",
    "Maximum number of facts.",
  ),
  "knowledge.max_corrections": setting(
    wholeNumber,
    1_000,
    "if trusted",
    "everyone's corrections and preferences",
    "Maximum number of corrections, and of preferences.",
  ),
  "knowledge.eviction": setting(
    oneOf("spare_used", "fifo"),
    "fifo",
    "if trusted",
    "everyone's facts, corrections and preferences",
    "Which entry is removed beyond max_facts or max_corrections: the oldest (fifo), or the oldest that no search found and no prompt showed (spare_used). Pinned entries stay.",
  ),
  "knowledge.model": optional(
    modelName,
    "if trusted",
    "its own rules, when you distill",
    "The model that `rkat knowledge distill` uses to write rules. If not set, rules are made without a model.",
  ),

  "budget.max_total_tokens": optional(
    wholeNumber,
    "lowers",
    "nothing",
    "Maximum input and output tokens of one run.",
  ),
  "budget.max_duration": optional(duration, "lowers", "nothing", "Maximum duration of one run."),
  "budget.max_tool_calls": optional(
    wholeNumber,
    "lowers",
    "nothing",
    "Maximum tool calls of one run.",
  ),

  "capabilities.session_store": setting(
    truth,
    true,
    "if trusted",
    "its own sessions, when the process ends",
    "Sessions outlive the process.",
  ),
  "capabilities.memory_store": setting(
    truth,
    true,
    "switches off",
    "nothing",
    "Memory is kept and can be searched.",
  ),
  "capabilities.session_compaction": setting(
    truth,
    true,
    "switches off",
    "nothing",
    "Histories are compacted.",
  ),

  "providers.*.base_url": optional(
    webAddress,
    "if trusted",
    "nothing",
    "The provider's address. A project's file may only name this machine.",
  ),
  "providers.*.api_key_env": optional(
    variableName,
    "if trusted",
    "nothing",
    "The environment variable with the provider's key.",
  ),

  "context_windows.*": optional(
    wholeNumber,
    "if trusted",
    COMPACTED,
    'Context window of a "provider/model", in tokens.',
  ),

  "prices.*.input": optional(
    amount,
    "if trusted",
    "nothing",
    'US dollars for a million input tokens of a "provider/model". It needs `output` beside it.',
  ),
  "prices.*.output": optional(
    amount,
    "if trusted",
    "nothing",
    "US dollars for a million output tokens.",
  ),
  "prices.*.cache_read": optional(
    amount,
    "if trusted",
    "nothing",
    "US dollars for a million input tokens from the provider's cache. If not set, the provider's usual share of `input`.",
  ),
  "prices.*.cache_write": optional(
    amount,
    "if trusted",
    "nothing",
    "US dollars for a million input tokens that the provider writes into its cache. If not set, its usual share of `input`.",
  ),
} as const;

export type SettingKey = keyof typeof SETTINGS;

export type SettingValue<Key extends SettingKey> =
  (typeof SETTINGS)[Key] extends Setting<infer Value, infer Default>
    ? Value | (undefined extends Default ? undefined : never)
    : never;

/** The setting that a path such as `["providers", "ollama", "base_url"]` names. */
export function settingAt(path: readonly string[]): SettingKey | undefined {
  const at = SETTING_PATTERNS.findIndex(
    (pattern) =>
      pattern.length === path.length &&
      pattern.every((part, index) => part === "*" || part === path[index]),
  );
  return SETTING_KEYS[at];
}

export const SETTING_KEYS = Object.keys(SETTINGS) as readonly SettingKey[];

/** The same keys in parts. A `*` stands for a name that the user chooses. */
export const SETTING_PATTERNS = SETTING_KEYS.map((key): readonly string[] => key.split("."));

/** Only a file that you trust sets what can remove something. */
type Removing = "if trusted" | "never";

function setting<Value, Removes extends Removed>(
  kind: SettingKind<Value>,
  value: NoInfer<Value>,
  project: Removes extends "nothing" ? ProjectRule : Removing,
  removes: Removes,
  description: string,
): Setting<Value, Value> {
  return { kind, default: value, project, removes, description };
}

function optional<Value, Removes extends Removed>(
  kind: SettingKind<Value>,
  project: Removes extends "nothing" ? ProjectRule : Removing,
  removes: Removes,
  description: string,
): Setting<Value, undefined> {
  return { kind, default: undefined, project, removes, description };
}
