import { SETTING_KEYS, SETTINGS, type SettingKey } from "./settings.ts";

/** The `config.toml` that `rkat init` writes: every setting, commented out, with its default. */
export function configTemplate(): string {
  const lines = [
    "# Settings of this project. All are optional. The values here are defaults and examples.",
    "# To set one, remove the # before it and before the [section] above it, or write both below.",
    "# `rkat config` shows the values in force, and where each comes from.",
  ];
  let section = "";
  for (const key of SETTING_KEYS) {
    if (SETTINGS[key].project === "never") continue;
    const place = placeOf(key);
    if (place.section !== section) lines.push("", `# [${place.section}]`);
    else if (section === "") lines.push("");
    section = place.section;
    lines.push(`# ${SETTINGS[key].description}`, `# ${place.name} = ${example(key)}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Examples for settings without a default. */
const EXAMPLES: Partial<Record<SettingKey, string>> = {
  model: '"anthropic/claude-sonnet-4-5"',
  max_tokens: "8192",
  system_prompt: '"You are a careful engineer."',
  "compaction.user_words_tokens": "20000",
  "sessions.keep_archived_days": "365",
  "sessions.keep_compacted_days": "90",
  "memory.min_score": "0.3",
  "memory.cache_mb": "16",
  "embeddings.model": '"all-MiniLM-L6-v2"',
  "embeddings.dimensions": "384",
  "embeddings.base_url": '"http://127.0.0.1:11434/v1"',
  "embeddings.api_key_env": '"OPENAI_API_KEY"',
  "budget.max_total_tokens": "200000",
  "budget.max_duration": '"30m"',
  "budget.max_tool_calls": "100",
  "providers.*.base_url": '"http://127.0.0.1:11434/v1"',
  "providers.*.api_key_env": '"OLLAMA_API_KEY"',
  "context_windows.*": "131072",
  "prices.*.input": "3",
  "prices.*.output": "15",
  "prices.*.cache_read": "0.3",
  "prices.*.cache_write": "3.75",
  "approvals.default": '"ask"',
  "tools.*.policy": '"ask"',
  "tools.run_command.environment": '["SSH_AUTH_SOCK"]',
  "mcp.servers.*.command": '"npx"',
  "mcp.servers.*.args": '["-y", "@modelcontextprotocol/server-github"]',
  "mcp.servers.*.environment": '["GITHUB_TOKEN"]',
  "mcp.servers.*.url": '"https://mcp.example.com/mcp"',
  "mcp.servers.*.api_key_env": '"GITHUB_TOKEN"',
  "mcp.servers.*.tools": '["search_issues"]',
  "mcp.servers.*.timeout": '"60s"',
  "mcp.servers.*.enabled": "true",
  "memory.window_size": "12",
  "memory.pin_budget": "20000",
  "knowledge.model": '"anthropic/claude-haiku-4-5"',
};

function placeOf(key: SettingKey): { readonly section: string; readonly name: string } {
  if (key === "context_windows.*") return { section: "context_windows", name: '"ollama/llama3.2"' };
  const end = key.lastIndexOf(".");
  return {
    section: key
      .slice(0, Math.max(0, end))
      .replace("tools.*", "tools.shell")
      .replace("servers.*", "servers.github")
      .replace("prices.*", 'prices."my-server/my-model"')
      .replace("*", "ollama"),
    name: key.slice(end + 1),
  };
}

function example(key: SettingKey): string {
  const { kind, default: value } = SETTINGS[key];
  const write = kind.write as (value: unknown) => string;
  return EXAMPLES[key] ?? write(value);
}
