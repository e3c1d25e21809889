import { existsSync, readdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, isAbsolute, join, resolve, sep } from "node:path";
import { fileProblem, SessionError } from "../../core/errors.ts";
import { readStaticTable } from "./static-table.ts";

/** A model's files, and how its vectors are made. */
export type FoundModel = SentenceModel | TableModel;

export interface SentenceModel extends ModelFiles {
  readonly onnxFile: string;
  /** The most tokens of a text that the model reads. */
  readonly tokensMax: number;
  /** The text's vector is the mean of its tokens' vectors, or the vector of the first token. */
  readonly pooling: "mean" | "first";
}

/** A static table: it needs no runtime. */
interface TableModel extends ModelFiles {
  readonly tableFile: string;
}

interface ModelFiles {
  readonly folder: string;
  readonly tokenizerFile: string;
  readonly dimensions: number;
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
 * Hub. It downloads nothing. A name is never a folder of the current one, where a stranger may have put a model.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when its files cannot be used
 */
export function lookForModel(
  model: string,
  env: Environment = process.env,
): FoundModel | undefined {
  const cache = cacheFolder(env);
  const kept = repositoriesOf(model)?.flatMap((repository) => snapshots(cache, repository));
  for (const folder of kept ?? [resolve(model)]) {
    const found = modelIn(folder);
    if (found) return found;
  }
  return undefined;
}

/** @throws SessionError `MODEL_UNAVAILABLE`. The hint has the command to download the model. */
export function missingModel(model: string, env: Environment = process.env): never {
  const repository = repositoriesOf(model)?.[0];
  const isThere = existsSync(resolve(model));
  const isFolder = !repository && (isThere || isAbsolute(model) || model.startsWith("."));
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: isFolder
      ? `${resolve(model)} has no ${ONNX_FILES[0]} with a tokenizer.json, and no static table.`
      : `The embedding model ${model} is ${repository ? "not" : "neither a folder nor"} in ${cacheFolder(env)}.`,
    hint:
      repository && isThere
        ? `If you mean the folder here, name it ./${model}.`
        : repository
          ? `Download it: hf download ${repository} --include onnx/model.onnx "*.json" (pip install huggingface_hub). Or name a folder with a model as model under [embeddings].`
          : `Name a folder with tokenizer.json, config.json and onnx/model.onnx or model.safetensors, or one of ${Object.keys(REPOSITORIES).join(", ")}.`,
  });
}

/** The repositories of a name; undefined for a folder. */
function repositoriesOf(model: string): readonly string[] | undefined {
  return REPOSITORIES[model] ?? (/^[\w-][\w.-]*\/[\w.-]+$/.test(model) ? [model] : undefined);
}

/** The kind of model, for people. */
export function kindOf(found: FoundModel): string {
  return "tableFile" in found ? "static table" : "sentence transformer (ONNX)";
}

/** The name of a folder that `rkat embeddings install` made: it ends with a hash of the files, so it says which model it is. */
export function installedName(folder: string): string | undefined {
  const name = basename(folder);
  return /-[0-9a-f]{16}$/.test(name) ? name : undefined;
}

/** Folders that may have a static table. A repository may have the same table as ONNX, which another runtime reads. */
const TABLE_FOLDERS = [".", "0_StaticEmbedding"];

function modelIn(folder: string): FoundModel | undefined {
  for (const place of TABLE_FOLDERS) {
    const tableFile = join(folder, place, "model.safetensors");
    const tokenizerFile = join(folder, place, "tokenizer.json");
    if (!existsSync(tableFile) || !existsSync(tokenizerFile)) continue;
    const table = readStaticTable(tableFile);
    if (table) return { folder, tokenizerFile, tableFile, dimensions: table.dimensions };
  }
  const tokenizerFile = join(folder, "tokenizer.json");
  const onnxFile = ONNX_FILES.map((file) => join(folder, file)).find(existsSync);
  return onnxFile && existsSync(tokenizerFile)
    ? sentenceModel(folder, onnxFile, tokenizerFile)
    : undefined;
}

/** The same rules as in the Hub's own programs. An empty variable counts as none: it would name the folder of the command. */
function cacheFolder(env: Environment): string {
  if (env.HF_HUB_CACHE) return env.HF_HUB_CACHE;
  const home =
    env.HF_HOME || join(env.XDG_CACHE_HOME || join(homeOf(env), ".cache"), "huggingface");
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

function sentenceModel(folder: string, onnxFile: string, tokenizerFile: string): SentenceModel {
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
    tokenizerFile,
    onnxFile,
    dimensions,
    // A tokenizer without a limit has a number of thirty digits.
    tokensMax: Math.min(...limits.map(Number).filter((limit) => limit >= 2 && limit < 1e6), 512),
    pooling: pooling.pooling_mode_cls_token === true || /\bbge-/.test(folder) ? "first" : "mean",
  };
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) return {};
  try {
    return Object(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw new SessionError("MODEL_UNAVAILABLE", {
      message: `${file} cannot be read: ${fileProblem(error)}.`,
      cause: error,
    });
  }
}
