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
