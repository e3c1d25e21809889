/**
 * Context windows in tokens, by the start of a model's name. The longest match wins.
 * Models without a certain value are not listed: no window is better than a wrong one.
 */
const CONTEXT_WINDOWS: Readonly<Record<string, number>> = {
  "claude-": 200_000,
  "claude-opus-4-6": 1_000_000,
  "claude-opus-4-7": 1_000_000,
  "claude-opus-4-8": 1_000_000,
  "claude-sonnet-4-6": 1_000_000,
  "claude-fable-": 1_000_000,
  "claude-opus-5": 1_000_000,
  "claude-sonnet-5": 1_000_000,
  "claude-haiku-5": 1_000_000,
  "gpt-4o": 128_000,
  "gpt-4-turbo": 128_000,
  "gpt-4.1": 1_047_576,
  "gpt-5": 400_000,
  "gpt-5-chat": 128_000,
  "gpt-5.1-chat": 128_000,
  "gpt-5.2-chat": 128_000,
  "gpt-5.3-chat": 128_000,
  "gpt-5.4": 1_050_000,
  "gpt-5.4-mini": 400_000,
  "gpt-5.4-nano": 400_000,
  "gpt-5.5": 1_050_000,
  "gpt-5.6": 1_050_000,
  "gpt-6": 1_050_000,
  o1: 200_000,
  o3: 200_000,
  "o4-mini": 200_000,
  "gemini-2.0-flash": 1_048_576,
  "gemini-2.5-flash": 1_048_576,
  "gemini-2.5-pro": 1_048_576,
  "gemini-3": 1_048_576,
  "gemini-4": 1_048_576,
};

/** The table is for these providers. Other servers set their own windows. */
const LISTED_PROVIDERS = new Set(["anthropic", "openai", "google"]);

/**
 * The context window of a `provider/model`, if it is known. `overrides` wins. Its keys
 * are also starts of names, with or without the provider.
 */
export function contextWindowOf(
  id: string,
  overrides: Readonly<Record<string, number>> = {},
): number | undefined {
  const slash = id.indexOf("/");
  const model = id.slice(slash + 1);
  const override = longestPrefix(overrides, id) ?? longestPrefix(overrides, model);
  if (override !== undefined) return override;
  return LISTED_PROVIDERS.has(id.slice(0, slash))
    ? longestPrefix(CONTEXT_WINDOWS, model)
    : undefined;
}

function longestPrefix(table: Readonly<Record<string, number>>, name: string): number | undefined {
  const keys = Object.keys(table).filter((key) => name.startsWith(key));
  const longest = keys.sort((a, b) => b.length - a.length)[0];
  return longest === undefined ? undefined : table[longest];
}
