import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/support/obey.ts";
import { execFile } from "../../../test/support/start-process.ts";
import {
  meanVector,
  SIZE,
  writeTinySentenceModel,
} from "../../../test/support/tiny-sentence-model.ts";
import { embedderLaws } from "../../testing/embedder-laws.ts";
import { openEmbedder } from "../open-embedder.ts";
import { FastEmbedder } from "./fast-embedder.ts";
import { lookForModel, missingModel } from "./find-model.ts";

async function tinyModel(options?: Parameters<typeof writeTinySentenceModel>[1]): Promise<string> {
  const folder = await temporaryFolder();
  writeTinySentenceModel(folder, options);
  return folder;
}

let loaded: Promise<FastEmbedder> | undefined;

/** An embedder that many tests ask: to load a model takes most of their time. */
function loadedEmbedder(): Promise<FastEmbedder> {
  const load = async () => {
    const embedder = new FastEmbedder({ model: await tinyModel() });
    await embedder.embed(["word"]);
    return embedder;
  };
  loaded ??= load();
  return loaded;
}

describe("Embedder: fast", () => {
  for (const law of embedderLaws) {
    test(law.name, async () => {
      const embedder = await loadedEmbedder();
      await law.holds(async () => embedder);
    });
  }
});

test("a vector is the mean of the tokens' vectors, as long as 1", async () => {
  const embedder = await openEmbedder({ provider: "fast", model: await tinyModel() });
  const [vector] = await embedder.embed(["The tests pass on Friday"]);
  const expected = meanVector(["the", "tests", "pass", "on", "friday"]);
  expect(embedder.dimensions).toBe(SIZE);
  for (const [place, number] of (vector ?? []).entries()) {
    expect(number).toBeCloseTo(expected[place] ?? 0, 5);
  }
});

test("where the model says so, it is the vector of the first token", async () => {
  const model = await tinyModel();
  mkdirSync(join(model, "1_Pooling"));
  writeFileSync(join(model, "1_Pooling", "config.json"), '{"pooling_mode_cls_token":true}');
  const embedder = new FastEmbedder({ model });
  const [one, other] = await embedder.embed(["warm seas", "the deploy failed"]);
  expect(one).toEqual(other);
});

test("a text is cut at the model's limit, and still ends as a text does", async () => {
  const embedder = new FastEmbedder({ model: await tinyModel({ tokensMax: 6 }) });
  const [whole, longer] = await embedder.embed([
    "first word word word",
    `first word word word last ${"last ".repeat(5000)}`,
  ]);
  expect(longer).toEqual(whole);
});

test("an abort ends the wait for a model that is still loading", async () => {
  const embedder = new FastEmbedder({ model: await tinyModel() });
  const controller = new AbortController();
  const reason = new Error("enough");
  const work = embedder.embed(["word"], { signal: controller.signal });
  controller.abort(reason);
  await expect(work).rejects.toBe(reason);
  expect(await embedder.embed(["word"])).toHaveLength(1);
});

test("an abort ends the work of many texts", async () => {
  const embedder = await loadedEmbedder();
  const controller = new AbortController();
  const reason = new Error("enough");
  const work = embedder.embed(Array<string>(100_000).fill("word"), { signal: controller.signal });
  setTimeout(() => controller.abort(reason), 20);
  await expect(work).rejects.toBe(reason);
  expect(await embedder.embed(["word"])).toHaveLength(1);
});

test("a question does not wait until many texts are done", async () => {
  const embedder = await loadedEmbedder();
  const order: string[] = [];
  const many = embedder.embed(Array<string>(500).fill("word")).then(() => order.push("many"));
  await embedder.embed(["why"]).then(() => order.push("question"));
  await many;
  expect(order).toEqual(["question", "many"]);
});

test("a model that cannot be read is an error, and the next call loads it again", async () => {
  const model = await tinyModel();
  const embedder = new FastEmbedder({ model });
  writeFileSync(join(model, "onnx", "model.onnx"), "not a model");
  const failure = { code: "MODEL_UNAVAILABLE", message: expect.stringContaining(model) };
  await expect(embedder.embed(["text"])).rejects.toMatchObject(failure);
  await expect(embedder.embed(["text"])).rejects.toMatchObject(failure);
});

test("a name is found in the usual cache of the Hugging Face Hub", async () => {
  const HF_HOME = await temporaryFolder();
  const repository = join(HF_HOME, "hub", "models--BAAI--bge-small-en-v1.5");
  for (const version of ["0ld", "c0ffee"]) {
    writeTinySentenceModel(join(repository, "snapshots", version));
  }
  mkdirSync(join(repository, "refs"));
  writeFileSync(join(repository, "refs", "main"), "c0ffee\n");
  for (const name of ["bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"]) {
    const found = lookForModel(name, { HF_HOME });
    expect(found).toMatchObject({ pooling: "first", dimensions: SIZE, tokensMax: 64 });
    expect(found?.folder).toBe(join(repository, "snapshots", "c0ffee"));
  }
  rmSync(join(repository, "snapshots", "c0ffee"), { recursive: true });
  expect(lookForModel("bge-small-en-v1.5", { HF_HOME })?.folder).toMatch(/0ld$/);
  expect(new FastEmbedder({ model: "bge-small-en-v1.5", env: { HF_HOME } }).id).toBe(
    `fast/bge-small-en-v1.5/${SIZE}`,
  );
});

test("a name is no folder of the current one, where a stranger may have put a model", async () => {
  const here = await temporaryFolder();
  const HF_HOME = join(here, "none");
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(here);
  for (const model of ["all-MiniLM-L6-v2", "BAAI/bge-small-en-v1.5"]) {
    writeTinySentenceModel(join(here, model));
    expect(() => new FastEmbedder({ model, env: { HF_HOME } })).toThrow(
      expect.objectContaining({
        message: `The embedding model ${model} is not in ${join(HF_HOME, "hub")}.`,
        hint: `If you mean the folder here, name it ./${model}.`,
      }),
    );
    expect(new FastEmbedder({ model: `./${model}`, env: { HF_HOME } }).dimensions).toBe(SIZE);
  }
});

test("an empty variable names no cache, so a model in the folder of a command is not found", () => {
  const HOME = join(tmpdir(), "somebody");
  for (const env of [{ HF_HOME: "" }, { XDG_CACHE_HOME: "" }, { HF_HUB_CACHE: "" }]) {
    expect(() => missingModel("all-MiniLM-L6-v2", { HOME, ...env })).toThrow(
      `not in ${join(HOME, ".cache", "huggingface", "hub")}.`,
    );
  }
});

test("a model that is not here is named, with the command that fetches it", async () => {
  const HF_HOME = await temporaryFolder();
  await expect(openEmbedder({ provider: "fast", env: { HF_HOME } })).rejects.toMatchObject({
    code: "MODEL_UNAVAILABLE",
    message: `The embedding model all-MiniLM-L6-v2 is not in ${join(HF_HOME, "hub")}.`,
    hint: expect.stringContaining(
      'hf download sentence-transformers/all-MiniLM-L6-v2 --include onnx/model.onnx "*.json"',
    ),
  });
  expect(() => new FastEmbedder({ model: HF_HOME, env: {} })).toThrow(
    `${HF_HOME} has no onnx/model.onnx`,
  );
  expect(() => new FastEmbedder({ model: "no such model", env: { HF_HOME } })).toThrow(
    "neither a folder nor in",
  );
  await expect(
    openEmbedder({ provider: "fast", model: await tinyModel(), dimensions: 384 }),
  ).rejects.toThrow(`vectors with ${SIZE} dimensions, not 384`);
});

test("packages that are not installed are named, with the command that installs them", async () => {
  const program = `
    import module from "node:module";
    module.findPackageJSON = () => undefined;
    module.syncBuiltinESMExports();
    const { FastEmbedder } = await import("./src/embedders/fast/fast-embedder.ts");
    try { new FastEmbedder(); } catch ({ code, message, hint }) { console.log(JSON.stringify({ code, message, hint })); }`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    "--no-warnings",
    "--input-type=module-typescript",
    "--eval",
    program,
  ]);
  expect(JSON.parse(stdout)).toEqual({
    code: "MODEL_UNAVAILABLE",
    message: 'provider = "fast" needs the packages onnxruntime-web and @huggingface/tokenizers.',
    hint: "Install it: npm install onnxruntime-web @huggingface/tokenizers",
  });
});
