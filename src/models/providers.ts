import type { ProviderV3, ProviderV4 } from "@ai-sdk/provider";

/** The settings of a provider's package. */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** A model as a provider's package makes it: for the AI SDK 7, or for 6. */
export type AiSdkProvider = ProviderV4 | ProviderV3;

/** A kind of provider. */
export interface Provider {
  /** Undefined when it comes with rkat. */
  readonly package?: string;
  /** Environment variables for its key. The first that is set wins. */
  readonly keyVariables: readonly string[];
  /** Servers without a key are common. */
  readonly keyOptional?: true;
  readonly baseUrlVariable?: string;
  /** Undefined when every user has their own server. */
  readonly baseUrl?: string;
  /** The headers of a plain request. Default: the key as a bearer token. */
  headers?(key: string): Readonly<Record<string, string>>;
  load(settings: ProviderSettings): Promise<AiSdkProvider>;
}

/** The packages are loaded lazily, with the first model of the provider. All but the one for OpenAI's protocol are optional. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    package: "@ai-sdk/anthropic",
    keyVariables: ["ANTHROPIC_API_KEY"],
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    baseUrl: "https://api.anthropic.com/v1",
    headers: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/anthropic").catch(missing)).createAnthropic(settings),
  },
  openai: {
    package: "@ai-sdk/openai",
    keyVariables: ["OPENAI_API_KEY"],
    baseUrlVariable: "OPENAI_BASE_URL",
    baseUrl: "https://api.openai.com/v1",
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/openai").catch(missing)).createOpenAI(settings),
  },
  google: {
    package: "@ai-sdk/google",
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    headers: (key) => ({ "x-goog-api-key": key }),
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/google").catch(missing)).createGoogleGenerativeAI(settings),
  },
  ollama: {
    ...openAiCompatible("OLLAMA_API_KEY"),
    baseUrlVariable: "OLLAMA_HOST",
    baseUrl: "http://localhost:11434/v1",
  },
  "openai-compatible": {
    ...openAiCompatible("OPENAI_COMPATIBLE_API_KEY"),
    baseUrlVariable: "OPENAI_COMPATIBLE_BASE_URL",
  },
};

/** An import whose failure is handled is no error of esbuild and Bun, which look for each package of a program. */
function missing(error: unknown): never {
  throw error;
}

/** Any server with OpenAI's chat completions API. */
export function openAiCompatible(keyVariable: string): Provider {
  return {
    keyVariables: [keyVariable],
    keyOptional: true,
    load: async (settings) =>
      (await import("@ai-sdk/openai-compatible")).createOpenAICompatible({
        ...settings,
        // Without it streams have no token counts, and compaction would have to estimate.
        includeUsage: true,
      }),
  };
}

/** A provider of models, and the parts that it lacks to be used. */
export interface ProviderState {
  readonly name: string;
  /** Left out where it comes with rkat. */
  readonly package?: string;
  readonly installed: boolean;
  /** The variable that holds its key. Left out where no key is needed. */
  readonly keyVariable?: string;
  readonly hasKey: boolean;
  /** The variable that has to name its server, where none is known. */
  readonly lacksAddress?: string;
}

/** The state of every provider. `settings` may name another variable for its key. */
export function providerStates(
  settings: Readonly<Record<string, { readonly api_key_env?: string; readonly base_url?: string }>>,
  env: Readonly<Record<string, string | undefined>>,
): readonly ProviderState[] {
  return Object.entries(PROVIDERS).map(([name, provider]) => {
    const own = settings[name]?.api_key_env;
    const variables = own === undefined ? provider.keyVariables : [own];
    const set = variables.find((variable) => env[variable]?.trim());
    const { baseUrl = settings[name]?.base_url, baseUrlVariable = "" } = provider;
    const lacksAddress = baseUrl === undefined && !env[baseUrlVariable];
    const { package: packageName } = provider;
    const keyVariable = set ?? (provider.keyOptional ? undefined : variables[0]);
    return {
      name,
      ...(packageName === undefined ? {} : { package: packageName }),
      installed: packageName === undefined || isInstalled(packageName),
      hasKey: set !== undefined,
      ...(lacksAddress ? { lacksAddress: baseUrlVariable } : {}),
      ...(keyVariable === undefined ? {} : { keyVariable }),
    };
  });
}

function isInstalled(packageName: string): boolean {
  try {
    import.meta.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}
