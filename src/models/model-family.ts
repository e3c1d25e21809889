import type { SharedV4ProviderMetadata, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { ProviderMeta } from "../core/message.ts";

/** Models that accept each other's signatures, with their names in the AI SDK and in our messages. */
export interface ModelFamily {
  /** The key of the AI SDK's provider options and metadata. */
  readonly optionsKey: string;
  /** `provider` in a block's meta. */
  readonly metaProvider: string;
  /** Accepts reasoning without a signature. */
  readonly unsignedReasoning: boolean;
}

const FAMILIES: readonly (ModelFamily & { readonly provider: RegExp })[] = [
  // Before Google: Anthropic's models on Vertex are `vertex.anthropic.messages`.
  row(/anthropic/, "anthropic", "anthropic"),
  row(/^google|vertex/, "google", "gemini"),
  row(/^openai(\.|$)/, "openai", "open_ai"),
  row(/^azure(\.|$)/, "azure", "open_ai"),
];

/** The family of an AI SDK provider, such as `openai.responses`. */
export function familyOf(aiSdkProvider: string): ModelFamily {
  const known = FAMILIES.find(({ provider }) => provider.test(aiSdkProvider));
  if (known) return known;
  const name = aiSdkProvider.split(".")[0] || aiSdkProvider;
  return { optionsKey: name, metaProvider: name, unsignedReasoning: true };
}

/** Provider metadata as the `meta` of a block. The provider wants it back with the block. */
export function toMeta(
  family: ModelFamily,
  metadata: SharedV4ProviderMetadata,
): ProviderMeta | undefined {
  const own = metadata[family.optionsKey] ?? Object.values(metadata)[0] ?? {};
  const fields = Object.entries(own).filter(([, value]) => value !== null && value !== undefined);
  if (fields.length === 0) return undefined;
  return { ...Object.fromEntries(fields), provider: family.metaProvider };
}

/** The reverse of `toMeta`. Empty for a block of another family. */
export function fromMeta(
  family: ModelFamily,
  meta: ProviderMeta | undefined,
): { readonly providerOptions?: SharedV4ProviderOptions } {
  if (meta?.provider !== family.metaProvider) return {};
  const { provider: _, ...fields } = meta;
  return { providerOptions: { [family.optionsKey]: fields as SharedV4ProviderOptions[string] } };
}

function row(provider: RegExp, optionsKey: string, metaProvider: string) {
  return { provider, optionsKey, metaProvider, unsignedReasoning: false };
}

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
