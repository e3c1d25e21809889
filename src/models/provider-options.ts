import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { familyOf } from "./model-family.ts";

/**
 * What an engine that keeps histories itself, and rewrites them, asks of a
 * provider. What the user asks for counts first.
 */
export function providerOptionsFor(
  model: LanguageModelV4,
  users: SharedV4ProviderOptions = {},
): SharedV4ProviderOptions {
  const { optionsKey, metaProvider } = familyOf(model.provider);
  const own = OPTIONS[metaProvider]?.(model);
  return own ? { ...users, [optionsKey]: { ...own, ...users[optionsKey] } } : users;
}

type Options = SharedV4ProviderOptions[string];

const OPTIONS: Readonly<Record<string, (model: LanguageModelV4) => Options>> = {
  anthropic: ({ provider, modelId }) => ({
    // Each call of a turn sends what the last one sent, and a little more. Other clouds that
    // have these models refuse the field.
    ...(provider.startsWith("anthropic") ? { cacheControl: { type: "ephemeral" } } : {}),
    // These models bind their thinking to everything before it, which compaction changes;
    // by default the provider would then refuse the whole request.
    ...(/claude-(fable-5-[12]|opus-5-5|sonnet-5-5)/.test(modelId)
      ? { thinking: { blockBinding: { prefixMismatchBehavior: "drop_block" } } }
      : {}),
  }),
  // Nothing is kept at OpenAI, so reasoning travels with the history, encrypted.
  open_ai: () => ({ store: false }),
};
