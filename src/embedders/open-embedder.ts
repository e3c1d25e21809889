import type { Embedder } from "../core/embedder.ts";
import { SessionError } from "../core/errors.ts";

export type EmbedderProvider = "local" | "fast" | "openai" | "ollama";

export interface EmbedderSettings {
  /** `local` counts words, `fast` runs a model here, the others ask a server. Default `local`. */
  readonly provider?: EmbedderProvider;
  /** Of the provider; it has a usual one. */
  readonly model?: string;
  /** Numbers in a vector. The model's own number by default. */
  readonly dimensions?: number;
  /** Where `openai` or `ollama` is reached. */
  readonly baseUrl?: string;
  /** The key of `openai`. Default: what `OPENAI_API_KEY` holds. */
  readonly apiKey?: string;
  /** Texts in a request to a server. Default 32. */
  readonly batchSize?: number;
  /** The process's environment by default. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens an embedder by its name. Its package and its model are loaded with the
 * first text, so that one that is not used costs nothing.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when a model or a key is missing; it says how to get it.
 */
export function openEmbedder(settings: EmbedderSettings = {}): Promise<Embedder> {
  return OPEN[settings.provider ?? "local"](settings);
}

const OPEN: Readonly<Record<EmbedderProvider, (settings: EmbedderSettings) => Promise<Embedder>>> =
  {
    async local({ model = "djb2", ...settings }) {
      const options = settings.dimensions === undefined ? {} : { dimensions: settings.dimensions };
      if (model === "djb2") {
        return new (await import("./local-embedder.ts")).LocalEmbedder(options);
      }
      if (model === "bag-of-words") {
        return new (await import("./bag-of-words-embedder.ts")).BagOfWordsEmbedder(options);
      }
      throw unknownModel("local", model, '"djb2" (128 numbers) and "bag-of-words" (4096)');
    },

    async fast({ model, dimensions, env }) {
      const { FastEmbedder } = await import("./fast/fast-embedder.ts");
      const embedder = new FastEmbedder({ ...(model ? { model } : {}), ...(env ? { env } : {}) });
      if (dimensions === undefined || dimensions === embedder.dimensions) return embedder;
      throw new SessionError("MODEL_UNAVAILABLE", {
        message: `${embedder.id} makes vectors of ${embedder.dimensions} numbers, not of ${dimensions}.`,
        hint: "Leave dimensions out: the model knows them.",
      });
    },

    openai: (settings) => openRemote("openai", "text-embedding-3-small", settings),
    ollama: (settings) => openRemote("ollama", "nomic-embed-text", settings),
  };

async function openRemote(
  name: "openai" | "ollama",
  usualModel: string,
  { model = usualModel, dimensions, baseUrl, apiKey, batchSize, env }: EmbedderSettings,
): Promise<Embedder> {
  const [{ findProvider }, { makeEmbedder }] = await Promise.all([
    import("../models/find-provider.ts"),
    import("../models/embedder-from-ai-sdk.ts"),
  ]);
  const { load, ...key } = findProvider(name, {
    ...(baseUrl === undefined ? {} : { baseUrls: { [name]: baseUrl } }),
    ...(apiKey === undefined ? {} : { keys: { [name]: apiKey } }),
    ...(env === undefined ? {} : { env }),
  });
  return makeEmbedder(model, async () => (await load()).embeddingModel(model), {
    id: `${name}/${model}`,
    ...key,
    ...(dimensions === undefined ? {} : { dimensions }),
    ...(batchSize === undefined ? {} : { batchSize }),
  });
}

function unknownModel(provider: string, model: string, known: string): SessionError {
  return new SessionError("MODEL_UNAVAILABLE", {
    message: `${provider} has no embedding model "${model}".`,
    hint: `It has ${known}.`,
  });
}
