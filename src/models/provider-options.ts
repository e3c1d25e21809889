import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { familyOf } from "./model-family.ts";

/** Provider options for an engine that keeps and rewrites histories itself. The user's options win. */
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
    // Each call of a turn repeats the last one and adds a little, so caching pays. Other clouds
    // with these models refuse the field.
    ...(provider.startsWith("anthropic") ? { cacheControl: { type: "ephemeral" } } : {}),
    // These models bind thinking to everything before it. Compaction changes that, and by default
    // the provider would refuse the whole request.
    ...(/claude-(fable-5-[12]|opus-5-5|sonnet-5-5)/.test(modelId)
      ? { thinking: { blockBinding: { prefixMismatchBehavior: "drop_block" } } }
      : {}),
  }),
  // Nothing is stored at OpenAI. Encrypted reasoning is part of the history.
  open_ai: () => ({ store: false }),
};
