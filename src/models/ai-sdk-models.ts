import type { LanguageModelV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { SessionError } from "../core/errors.ts";
import type { LanguageModel } from "../core/language-model.ts";
import { normalizeBaseUrl } from "./base-url.ts";
import { contextWindowOf } from "./context-windows.ts";
import { makeModel } from "./from-ai-sdk.ts";
import { openAiCompatible, PROVIDERS, type Provider, type ProviderSettings } from "./providers.ts";

export interface AiSdkModelsOptions {
  /** Keys by provider; they count before the environment's. */
  readonly keys?: Readonly<Record<string, string>>;
  /** Where keys and base URLs are looked up. The process's environment by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Base URLs by provider; they count before the environment's. A provider that rkat does
   * not know is taken for an OpenAI-compatible server: `{ groq: "https://api.groq.com/openai/v1" }`
   * makes `groq/…` work, with the key in `GROQ_API_KEY`.
   */
  readonly baseUrls?: Readonly<Record<string, string>>;
  /** In tokens, by how a model's name begins, with the provider or without. */
  readonly contextWindows?: Readonly<Record<string, number>>;
  /** Passed to a provider with every request, by the AI SDK's name for it. */
  readonly providerOptions?: SharedV4ProviderOptions;
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * Finds models by name: `anthropic/…`, `openai/…`, `google/…`, `ollama/…`,
 * `openai-compatible/…`. The provider of a well-known model can be left out.
 *
 * Throws `MODEL_UNAVAILABLE` when the provider is not known, its package is not
 * installed, or its key is not set.
 */
export function aiSdkModels(
  options: AiSdkModelsOptions = {},
): (name: string) => Promise<LanguageModel> {
  return async (name) => {
    const { providerName, modelId } = splitName(name, options);
    const provider = findProvider(providerName, options);
    const key = findKey(provider, providerName, options);
    const baseURL = findBaseUrl(provider, providerName, options);
    const create = await load(provider, {
      name: providerName,
      baseURL,
      ...(key.secrets ? { apiKey: key.secrets[0] } : {}),
      ...(options.fetch ? { fetch: options.fetch } : {}),
    });
    const id = `${providerName}/${modelId}`;
    const contextWindow = contextWindowOf(id, options.contextWindows);
    return makeModel(create(modelId), {
      id,
      ...key,
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(options.providerOptions ? { providerOptions: options.providerOptions } : {}),
    });
  };
}

/** Names so well known that nobody writes the provider. */
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
    throw unavailable(`"${name}" is not the name of a model. ${allowed(options)}`);
  }
  return { providerName: name.slice(0, slash), modelId };
}

function findProvider(name: string, options: AiSdkModelsOptions): Provider {
  if (Object.hasOwn(PROVIDERS, name)) return PROVIDERS[name] as Provider;
  if (options.baseUrls && Object.hasOwn(options.baseUrls, name)) {
    return openAiCompatible(`${name.toUpperCase().replace(/\W/g, "_")}_API_KEY`);
  }
  throw unavailable(`"${name}" is not a provider that is known here. ${allowed(options)}`);
}

function allowed({ baseUrls = {} }: AiSdkModelsOptions): string {
  const names = new Set([...Object.keys(PROVIDERS), ...Object.keys(baseUrls)]);
  return `Allowed: ${[...names].map((name) => `${name}/<model>`).join(", ")}.`;
}

function findKey(
  provider: Provider,
  providerName: string,
  { keys = {}, env = process.env }: AiSdkModelsOptions,
): { readonly secrets?: readonly [string]; readonly keyVariable?: string } {
  const own = keys[providerName]?.trim();
  if (own) return { secrets: [own] };
  const keyVariable = provider.keyVariables.find((variable) => env[variable]?.trim());
  const found = keyVariable && env[keyVariable]?.trim();
  if (found) return { secrets: [found], keyVariable };
  if (provider.keyOptional) return { keyVariable: provider.keyVariables.join(" or ") };
  throw unavailable(
    `${providerName} needs a key.`,
    `Set ${provider.keyVariables.join(" or ")} in the environment.`,
  );
}

function findBaseUrl(
  provider: Provider,
  providerName: string,
  { baseUrls = {}, env = process.env }: AiSdkModelsOptions,
): string {
  const { baseUrlVariable, baseUrl } = provider;
  const own = baseUrls[providerName] || (baseUrlVariable && env[baseUrlVariable]);
  if (own) return normalizeBaseUrl(own, baseUrl);
  if (baseUrl) return baseUrl;
  throw unavailable(
    `${providerName} needs the base URL of a server.`,
    `Set ${baseUrlVariable} in the environment, such as http://localhost:8080/v1.`,
  );
}

async function load(
  provider: Provider,
  settings: ProviderSettings,
): Promise<(modelId: string) => LanguageModelV4> {
  try {
    return await provider.load(settings);
  } catch (error) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      detail: `${settings.name} needs the package ${provider.package}, which cannot be loaded.`,
      hint: `Install it: npm install ${provider.package}`,
      cause: error,
    });
  }
}

function unavailable(detail: string, hint?: string): SessionError {
  return new SessionError("MODEL_UNAVAILABLE", { detail, ...(hint ? { hint } : {}) });
}
