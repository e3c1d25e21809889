import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve, sep } from "node:path";
import { SessionError } from "../../core/errors.ts";

/** A model's files, and how its vectors are made. */
export interface FoundModel {
  readonly folder: string;
  readonly onnxFile: string;
  readonly dimensions: number;
  /** The most tokens of a text that the model reads. */
  readonly tokensMax: number;
  /** The text's vector is the mean of its tokens' vectors, or the vector of the first token. */
  readonly pooling: "mean" | "first";
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Repositories of the Hugging Face Hub with the model as ONNX. The hint names the first. */
const REPOSITORIES: Readonly<Record<string, readonly string[]>> = {
  "all-MiniLM-L6-v2": ["sentence-transformers/all-MiniLM-L6-v2", "Xenova/all-MiniLM-L6-v2"],
  "all-MiniLM-L12-v2": ["sentence-transformers/all-MiniLM-L12-v2", "Xenova/all-MiniLM-L12-v2"],
  "bge-small-en-v1.5": ["BAAI/bge-small-en-v1.5", "Xenova/bge-small-en-v1.5"],
  "bge-base-en-v1.5": ["BAAI/bge-base-en-v1.5", "Xenova/bge-base-en-v1.5"],
};

const ONNX_FILES = [
  "onnx/model.onnx",
  "model.onnx",
  "onnx/model_quantized.onnx",
  "model_quantized.onnx",
];

/**
 * Finds a model: a folder, or a name or repository in the cache of the Hugging Face
 * Hub. It downloads nothing.
 *
 * @throws SessionError `MODEL_UNAVAILABLE`. The hint has the command to download the model.
 */
export function findModel(model: string, env: Environment = process.env): FoundModel {
  const repositories = REPOSITORIES[model] ?? (/^[\w.-]+\/[\w.-]+$/.test(model) ? [model] : []);
  const cache = cacheFolder(env);
  const folders = [
    resolve(model),
    ...repositories.flatMap((repository) => snapshots(cache, repository)),
  ];
  for (const folder of folders) {
    const onnxFile = ONNX_FILES.map((file) => join(folder, file)).find(existsSync);
    if (onnxFile && existsSync(join(folder, "tokenizer.json"))) return describe(folder, onnxFile);
  }
  const isFolder = isAbsolute(model) || model.startsWith(".") || existsSync(resolve(model));
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: isFolder
      ? `${resolve(model)} has no ${ONNX_FILES[0]} with a tokenizer.json.`
      : `The embedding model ${model} is neither a folder nor in ${cache}.`,
    hint: repositories[0]
      ? `Download it: hf download ${repositories[0]} --include onnx/model.onnx "*.json" (pip install huggingface_hub). Or name a folder with onnx/model.onnx, tokenizer.json and config.json as model under [embeddings].`
      : `Name a folder with onnx/model.onnx, tokenizer.json and config.json, or one of ${Object.keys(REPOSITORIES).join(", ")}.`,
  });
}

/** The same rules as in the Hub's own programs. */
function cacheFolder(env: Environment): string {
  if (env.HF_HUB_CACHE) return env.HF_HUB_CACHE;
  const home =
    env.HF_HOME ?? join(env.XDG_CACHE_HOME ?? join(homeOf(env), ".cache"), "huggingface");
  return join(home, "hub");
}

/** Without a home nothing is in the cache. */
function homeOf(env: Environment): string {
  try {
    return env.HOME || homedir() || sep;
  } catch {
    return sep;
  }
}

/** The versions of a repository in the cache, the current one first. */
function snapshots(cache: string, repository: string): readonly string[] {
  const folder = join(cache, `models--${repository.replace("/", "--")}`);
  const all = join(folder, "snapshots");
  if (!existsSync(all)) return [];
  const main = join(folder, "refs", "main");
  const current = existsSync(main) ? [readFileSync(main, "utf8").trim()] : [];
  return [...current, ...readdirSync(all)].map((version) => join(all, version));
}

function describe(folder: string, onnxFile: string): FoundModel {
  const config = readJson(join(folder, "config.json"));
  const pooling = readJson(join(folder, "1_Pooling", "config.json"));
  const sentence = readJson(join(folder, "sentence_bert_config.json"));
  const tokenizer = readJson(join(folder, "tokenizer_config.json"));
  const dimensions = Number(config.hidden_size);
  if (!Number.isSafeInteger(dimensions) || dimensions < 1) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: `${join(folder, "config.json")} does not have the dimensions of the model's vectors.`,
      hint: "Add hidden_size to it, as in every model of this kind.",
    });
  }
  const limits = [
    sentence.max_seq_length,
    tokenizer.model_max_length,
    config.max_position_embeddings,
  ];
  return {
    folder,
    onnxFile,
    dimensions,
    // A tokenizer without a limit has a number of thirty digits.
    tokensMax: Math.min(...limits.map(Number).filter((limit) => limit >= 2 && limit < 1e6), 512),
    pooling: pooling.pooling_mode_cls_token === true || /\bbge-/.test(folder) ? "first" : "mean",
  };
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, "utf8"));
}
