import { SessionError } from "../core/errors.ts";
import type { LanguageModel } from "../core/language-model.ts";
import {
  callback,
  group,
  listOf,
  positive,
  record,
  recordOf,
  requireOptions,
  someText,
} from "../core/options.ts";
import { allowed, type FindProviderOptions, findProvider, providerNamed } from "./find-provider.ts";
import { makeModel } from "./from-ai-sdk.ts";
import { contextWindowOf } from "./model-family.ts";

export interface AiSdkModelsOptions extends FindProviderOptions {
  /** The context window in tokens, by the start of a model's name, with or without the provider. */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** Passed to the provider with every request. Keys are the AI SDK's names of providers. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const OPTIONS = group({
  contextWindows: recordOf(positive),
  providerOptions: record,
  keys: recordOf(someText),
  env: record,
  baseUrls: recordOf(someText),
  withoutKey: listOf(someText),
  fetch: callback,
});

/**
 * Finds models by name: `anthropic/…`, `openai/…`, `google/…`, `ollama/…`,
 * `openai-compatible/…`. You can leave out the provider of a well-known model.
 *
 * Throws `INVALID_PARAMS` when the name has no provider, and `MODEL_UNAVAILABLE` when
 * the provider is unknown, its package is not installed, or its key is not set.
 */
export function aiSdkModels(
  options: AiSdkModelsOptions = {},
): (name: string) => Promise<LanguageModel> {
  requireOptions("aiSdkModels", OPTIONS, options);
  return async (name) => {
    const { providerName, modelId } = splitName(name, options);
    const { load, ...key } = findProvider(providerName, options);
    const provider = await load();
    const id = `${providerName}/${modelId}`;
    const contextWindow = contextWindowOf(id, options.contextWindows);
    return makeModel(provider.languageModel(modelId), {
      id,
      ...key,
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(options.providerOptions ? { providerOptions: options.providerOptions } : {}),
    });
  };
}

/**
 * Loads nothing, and needs no key.
 *
 * @throws SessionError `INVALID_PARAMS` when the name has no provider, and `MODEL_UNAVAILABLE`
 *   when the provider is unknown.
 */
export function requireKnownProvider(modelName: string, options: AiSdkModelsOptions): void {
  providerNamed(splitName(modelName, options).providerName, options);
}

/** Model names that need no provider. */
const WELL_KNOWN: readonly (readonly [RegExp, string])[] = [
  [/^claude-/, "anthropic"],
  [/^(gpt-|chatgpt-|o[134](-|$))/, "openai"],
  [/^gemini-/, "google"],
];

function splitName(
  name: string,
  options: AiSdkModelsOptions,
): { readonly providerName: string; readonly modelId: string } {
  const slash = name.indexOf("/");
  const wellKnown = WELL_KNOWN.find(([pattern]) => pattern.test(name))?.[1];
  if (slash === -1 && wellKnown) return { providerName: wellKnown, modelId: name };
  const modelId = name.slice(slash + 1);
  if (slash < 1 || modelId === "") {
    throw new SessionError("INVALID_PARAMS", {
      message: `"${name}" is not a model name. ${allowed(options)}`,
    });
  }
  return { providerName: name.slice(0, slash), modelId };
}
