import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";
import type { Tokenizer } from "@huggingface/tokenizers";
import type { Answer, Request } from "./fast-embedder.ts";
import type { FoundModel, SentenceModel } from "./find-model.ts";
import { readStaticTable, TableReader } from "./static-table.ts";

/** Runs a model in a thread, because one text takes milliseconds to seconds of computation. */
const loading = loadModel(workerData);
// The failure is the answer to each request.
loading.catch(() => {});

parentPort?.on("message", async ({ id, text }: Request) => {
  parentPort?.postMessage(await answer(id, text));
});

async function answer(id: number, text: string): Promise<Answer> {
  try {
    const model = await loading;
    return { id, vector: await model.embed(text) };
  } catch (error) {
    return { id, error };
  }
}

/** A loaded model. */
interface Model {
  embed(text: string): Promise<Float32Array>;
}

async function loadModel(found: FoundModel): Promise<Model> {
  const { Tokenizer } = await import("@huggingface/tokenizers");
  const described = await readJson(found.tokenizerFile);
  const tokenizer = new Tokenizer(
    described,
    await readJson(join(found.folder, "tokenizer_config.json")).catch(() => ({})),
  );
  if ("onnxFile" in found) return loadSentenceModel(found, tokenizer);
  const table = readStaticTable(found.tableFile);
  if (!table) throw new Error(`${found.tableFile} has changed.`);
  const reader = new TableReader(table, tokenizer, described);
  return { embed: async (text) => normalized(reader.embed(text)) };
}

/**
 * Loads a model that a runtime computes.
 *
 * Texts are not batched. On a CPU a batch is not faster, because of its padding, and
 * without one a text always has exactly the same vector.
 */
async function loadSentenceModel(
  { onnxFile, tokensMax, pooling }: SentenceModel,
  tokenizer: Tokenizer,
): Promise<Model> {
  const { InferenceSession, Tensor } = await import("onnxruntime-web");
  const session = await InferenceSession.create(await readFile(onnxFile), {
    executionProviders: ["wasm"],
  });
  return {
    async embed(text) {
      const tokens = withinLimit(tokenizer.encode(text).ids, tokensMax);
      const tensor = (numberOf: (token: number) => number) =>
        new Tensor(
          "int64",
          BigInt64Array.from(tokens, (token) => BigInt(numberOf(token))),
          [1, tokens.length],
        );
      const inputs = {
        input_ids: tensor((token) => token),
        attention_mask: tensor(() => 1),
        token_type_ids: tensor(() => 0),
      };
      const known = Object.entries(inputs).filter(([name]) => session.inputNames.includes(name));
      const outputs = Object.values(await session.run(Object.fromEntries(known)));
      const output = outputs.find(({ dims }) => dims.length === 3) ?? outputs[0];
      if (!(output?.data instanceof Float32Array)) {
        throw new Error(`${onnxFile} gives ${output?.type ?? "nothing"}, not 32-bit numbers.`);
      }
      const size = output.dims.at(-1) ?? 0;
      return normalized(pooled(output.data, size, pooling));
    },
  };
}

/** Keeps the last token, which marks the end of the text. */
function withinLimit(tokens: readonly number[], max: number): readonly number[] {
  return tokens.length <= max ? tokens : [...tokens.slice(0, max - 1), ...tokens.slice(-1)];
}

/** Combines the vectors of all tokens into one. */
function pooled(data: Float32Array, size: number, pooling: SentenceModel["pooling"]): Float64Array {
  const sum = new Float64Array(size);
  const used = pooling === "first" ? size : data.length;
  for (let index = 0; index < used; index += 1) {
    const place = index % size;
    sum[place] = (sum[place] ?? 0) + (data[index] ?? 0);
  }
  return sum;
}

function normalized(vector: Float64Array): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (number) => (length === 0 ? 0 : number / length));
}

async function readJson(file: string): Promise<object> {
  const text = await readFile(file, "utf8");
  try {
    return Object(JSON.parse(text));
  } catch (error) {
    throw new Error(`${file} is no JSON.`, { cause: error });
  }
}
