import { createHash } from "node:crypto";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { requireHome } from "../config/config-places.ts";
import type { Environment } from "../config/config-source.ts";
import { errorText, SessionError } from "../core/errors.ts";
import { FastEmbedder } from "../embedders/fast/fast-embedder.ts";
import {
  type FoundModel,
  kindOf,
  lookForModel,
  missingModel,
} from "../embedders/fast/find-model.ts";
import { readStaticTable, requireNumbers } from "../embedders/fast/static-table.ts";
import { makeFolders } from "../files/make-folders.ts";
import { inWorkFolder } from "../files/new-file.ts";

/** A model that `rkat embeddings install` copied. */
export interface InstalledModel {
  readonly name: string;
  readonly folder: string;
  /** "static table" or "sentence transformer (ONNX)". */
  readonly kind: string;
  readonly dimensions: number;
  readonly bytes: number;
}

/** The folder of the models that you installed. */
export function modelsFolder(env: Environment): string {
  return join(requireHome(env), ".rkat", "models");
}

/**
 * Copies a model that you have, whole or not at all. `use` puts it into the settings, and nothing stays of the copy if it
 * fails.
 *
 * @throws SessionError `INVALID_PARAMS` or `MODEL_UNAVAILABLE` with the reason why it cannot be used
 */
export async function installModel(
  given: string,
  { env, cwd }: { readonly env: Environment; readonly cwd: string },
  use: (model: InstalledModel) => Promise<void>,
): Promise<InstalledModel> {
  const found = modelAt(given, cwd, env);
  await tryModel(found);
  const models = modelsFolder(env);
  makeFolders(models, 0o700);
  let folder: string | undefined;
  try {
    return await inWorkFolder(join(models, "install"), async (work) => {
      const copy = join(work, "model");
      const { bytes, hash } = await copyFiles(found, copy);
      const name = `${nameOf(found.folder)}-${hash}`;
      const target = join(models, name);
      if (!existsSync(target)) {
        renameSync(copy, target);
        folder = target;
      }
      const { dimensions } = found;
      const model = { name, folder: target, kind: kindOf(found), dimensions, bytes };
      await use(model);
      return model;
    });
  } catch (error) {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

const USABLE =
  "rkat uses sentence transformers as ONNX (onnx/model.onnx) and static tables (model.safetensors, as model2vec makes them), each with tokenizer.json and config.json.";

/** The model in a folder, around a file, or in the cache of the Hugging Face Hub. */
function modelAt(given: string, cwd: string, env: Environment): FoundModel {
  const path = resolve(cwd, given);
  const there = statSync(path, { throwIfNoEntry: false });
  if (!there) return lookForModel(given, env) ?? missingModel(given, env);
  const folder = there.isDirectory() ? path : folderAround(path);
  const files = statSync(folder).isDirectory() ? readdirSync(folder) : [];
  const isFile = !there.isDirectory();
  const gguf = (isFile ? [path] : files).find((file) => extname(file).toLowerCase() === ".gguf");
  const isModel = !isFile || [".onnx", ".safetensors"].includes(extname(path));
  const found = isModel ? lookForModel(folder, env) : undefined;
  if (found) return found;
  throw new SessionError("INVALID_PARAMS", {
    message: gguf
      ? `rkat cannot use GGUF, and ${path} has no other form of the model.`
      : `${path} is no model that rkat can use.`,
    hint: gguf
      ? `${USABLE} A server such as Ollama can use GGUF: provider = "ollama" under [embeddings].`
      : USABLE,
  });
}

/** The model's folder: some of its files are in a folder below. */
function folderAround(file: string): string {
  const folder = dirname(file);
  return ["onnx", "0_StaticEmbedding"].includes(basename(folder)) ? dirname(folder) : folder;
}

/** Whether it makes vectors here. A table is read whole, so that no question finds what is broken in it. */
async function tryModel(found: FoundModel): Promise<void> {
  if ("tableFile" in found) {
    const table = readStaticTable(found.tableFile);
    if (table) requireNumbers(table);
  }
  const embedder = new FastEmbedder({ model: found.folder });
  const [vector] = await embedder.embed(["Hello."], { signal: AbortSignal.timeout(TRIAL_MS) });
  if (vector?.length === found.dimensions && vector.every(Number.isFinite)) return;
  throw new SessionError("MODEL_UNAVAILABLE", {
    message: `${found.folder} makes vectors of ${vector?.length} dimensions, and its config.json says ${found.dimensions}.`,
  });
}

const TRIAL_MS = 120_000;

/** Files that are copied beside the model and its tokenizer, where they are there. */
const SMALL_FILES = [
  "config.json",
  "tokenizer_config.json",
  "sentence_bert_config.json",
  "config_sentence_transformers.json",
  "1_Pooling/config.json",
];

const BYTES_MAX = 4e9;

/** Copies the files that make the vectors, and returns their size and a hash of their names and bytes. */
async function copyFiles(found: FoundModel, to: string) {
  const { folder, tokenizerFile } = found;
  const model = "tableFile" in found ? found.tableFile : found.onnxFile;
  const small = SMALL_FILES.filter((name) => existsSync(join(folder, name)));
  const names = [...[model, tokenizerFile].map((file) => relative(folder, file)), ...small];
  const hash = createHash("sha256");
  let bytes = 0;
  for (const name of names) {
    makeFolders(dirname(join(to, name)), 0o700);
    const source = await open(join(folder, name));
    const copy = await open(join(to, name), "wx", 0o600);
    try {
      const { size } = await source.stat();
      hash.update(JSON.stringify([name.replaceAll("\\", "/"), size]));
      for await (const chunk of source.createReadStream({ autoClose: false })) {
        bytes += chunk.length;
        if (bytes > BYTES_MAX) throw new Error(`it has more than ${BYTES_MAX} bytes`);
        hash.update(chunk);
        await copy.writeFile(chunk);
      }
      await copy.sync();
    } catch (error) {
      throw new SessionError("NOT_POSSIBLE", {
        message: `${join(folder, name)} cannot be copied: ${errorText(error)}.`,
      });
    } finally {
      await Promise.all([source.close(), copy.close()]);
    }
  }
  return { bytes, hash: hash.digest("hex").slice(0, 16) };
}

/** A short name for people. A folder in the cache of the Hub is named after a version. */
function nameOf(folder: string): string {
  const [repository, snapshots, last = ""] = folder.split(/[/\\]/).slice(-3);
  const name = snapshots === "snapshots" ? (repository?.split("--").at(-1) ?? last) : last;
  const plain = name.replaceAll(/[^\w.-]/g, "-").replace(/^[.-]+/, "");
  return plain.replace(/-[0-9a-f]{16}$/, "").slice(0, 60) || "model";
}
