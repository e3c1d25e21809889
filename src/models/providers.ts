import type { ProviderV4 } from "@ai-sdk/provider";

/** What a provider's package is told. */
export interface ProviderSettings {
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey?: string;
  readonly fetch?: typeof globalThis.fetch;
}

/** A kind of provider: where it is, what it needs, and the package that speaks with it. */
export interface Provider {
  readonly package: string;
  /** Environment variables of its key, the first that is set counts. */
  readonly keyVariables: readonly string[];
  /** Set where servers without a key are common. */
  readonly keyOptional?: true;
  readonly baseUrlVariable?: string;
  /** Not given where every user has a server of their own. */
  readonly baseUrl?: string;
  load(settings: ProviderSettings): Promise<ProviderV4>;
}

/** The packages are optional: each is loaded when the first model of its provider is. */
export const PROVIDERS: Readonly<Record<string, Provider>> = {
  anthropic: {
    package: "@ai-sdk/anthropic",
    keyVariables: ["ANTHROPIC_API_KEY"],
    baseUrlVariable: "ANTHROPIC_BASE_URL",
    baseUrl: "https://api.anthropic.com/v1",
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/anthropic")).createAnthropic(settings),
  },
  openai: {
    package: "@ai-sdk/openai",
    keyVariables: ["OPENAI_API_KEY"],
    baseUrlVariable: "OPENAI_BASE_URL",
    baseUrl: "https://api.openai.com/v1",
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/openai")).createOpenAI(settings),
  },
  google: {
    package: "@ai-sdk/google",
    keyVariables: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    baseUrlVariable: "GOOGLE_GENERATIVE_AI_BASE_URL",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    load: async ({ name: _, ...settings }) =>
      (await import("@ai-sdk/google")).createGoogle(settings),
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

/** Any server that speaks OpenAI's chat completions. */
export function openAiCompatible(keyVariable: string): Provider {
  return {
    package: "@ai-sdk/openai-compatible",
    keyVariables: [keyVariable],
    keyOptional: true,
    load: async (settings) =>
      (await import("@ai-sdk/openai-compatible")).createOpenAICompatible({
        ...settings,
        // Without it a stream says nothing of its tokens, and compaction would have to guess.
        includeUsage: true,
      }),
  };
}
