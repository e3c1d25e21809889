import type { Embedder } from "../core/embedder.ts";
import { SessionError } from "../core/errors.ts";
import { flag, group, record, requireOptions, someText, text, whole } from "../core/options.ts";

export type EmbedderProvider = "local" | "fast" | "openai" | "ollama";

export interface EmbedderSettings {
  /** `local` counts words, `fast` runs a model on this machine, the others use a server. Default `local`. */
  readonly provider?: EmbedderProvider;
  /** Each provider has a default. */
  readonly model?: string;
  /** Dimensions of a vector. Default: the model's own. */
  readonly dimensions?: number;
  /** The address of `openai` or `ollama`. */
  readonly baseUrl?: string;
  /** The key of `openai`. Default: `OPENAI_API_KEY` of the environment. */
  readonly apiKey?: string;
  /** Whether the server gets the key. Default true. */
  readonly sendsKey?: boolean;
  /** Texts in one request to a server. Default 32. */
  readonly batchSize?: number;
  /** The number of retries after a temporary failure of a server. Default 3. */
  readonly maxRetries?: number;
  /** Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const OPTIONS = group({
  provider: someText,
  model: text,
  dimensions: whole(1),
  baseUrl: someText,
  apiKey: someText,
  sendsKey: flag,
  batchSize: whole(1),
  maxRetries: whole(0),
  env: record,
});

/**
 * Opens an embedder by the name of its provider. Package and model are loaded lazily,
 * with the first text.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when a model or a key is missing. The hint says how to get it.
 */
export async function openEmbedder(settings: EmbedderSettings = {}): Promise<Embedder> {
  requireOptions("openEmbedder", OPTIONS, settings);
  const { provider = "local" } = settings;
  // A caller without types may name any provider.
  if (Object.hasOwn(OPEN, provider)) return await OPEN[provider](settings);
  const known = Object.keys(OPEN).map((name) => `"${name}"`);
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: `No embedder has the provider "${provider}".`,
    hint: `Use ${known.slice(0, -1).join(", ")} or ${known.at(-1)}.`,
  });
}

const OPEN: Readonly<Record<EmbedderProvider, (settings: EmbedderSettings) => Promise<Embedder>>> =
  {
    async local({ model = "djb2", ...settings }) {
      const options = settings.dimensions === undefined ? {} : { dimensions: settings.dimensions };
      if (model === "djb2") {
        return new (await import("./word-embedders.ts")).LocalEmbedder(options);
      }
      if (model === "bag-of-words") {
        return new (await import("./word-embedders.ts")).BagOfWordsEmbedder(options);
      }
      throw unknownModel("local", model, '"djb2" (128 dimensions) and "bag-of-words" (4096)');
    },

    async fast({ model, dimensions, env }) {
      const { FastEmbedder } = await import("./fast/fast-embedder.ts");
      const embedder = new FastEmbedder({ ...(model ? { model } : {}), ...(env ? { env } : {}) });
      if (dimensions === undefined || dimensions === embedder.dimensions) return embedder;
      throw new SessionError("MODEL_UNAVAILABLE", {
        message: `${embedder.id} makes vectors with ${embedder.dimensions} dimensions, not ${dimensions}.`,
        hint: "Remove the setting dimensions. The model has its own.",
      });
    },

    openai: (settings) => openRemote("openai", "text-embedding-3-small", settings),
    ollama: (settings) => openRemote("ollama", "nomic-embed-text", settings),
  };

async function openRemote(
  name: "openai" | "ollama",
  usualModel: string,
  {
    model = usualModel,
    dimensions,
    baseUrl,
    apiKey,
    sendsKey,
    batchSize,
    maxRetries,
    env,
  }: EmbedderSettings,
): Promise<Embedder> {
  const [{ findProvider }, { makeEmbedder }] = await Promise.all([
    import("../models/find-provider.ts"),
    import("../models/embedder-from-ai-sdk.ts"),
  ]);
  const { load, ...key } = findProvider(name, {
    ...(baseUrl === undefined ? {} : { baseUrls: { [name]: baseUrl } }),
    ...(apiKey === undefined ? {} : { keys: { [name]: apiKey } }),
    ...(env === undefined ? {} : { env }),
    ...(sendsKey === false ? { withoutKey: [name] } : {}),
  });
  return makeEmbedder(model, async () => (await load()).embeddingModel(model), {
    id: `${name}/${model}`,
    ...key,
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(batchSize === undefined ? {} : { batchSize }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
  });
}

function unknownModel(provider: string, model: string, known: string): SessionError {
  return new SessionError("MODEL_UNAVAILABLE", {
    message: `${provider} has no embedding model "${model}".`,
    hint: `It has ${known}.`,
  });
}
