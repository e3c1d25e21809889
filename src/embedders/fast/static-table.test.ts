import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/obey.ts";
import { wordPieces } from "../../../test/support/tiny-sentence-model.ts";
import {
  float32,
  numberAt,
  SIZE,
  safetensors,
  TOKENS,
  vectors,
  type WrittenTensor,
  writeTinyTable,
} from "../../../test/support/tiny-static-table.ts";
import { embedderLaws } from "../../testing/embedder-laws.ts";
import { FastEmbedder } from "./fast-embedder.ts";
import { readStaticTable, TableReader, type TokenizerFile } from "./static-table.ts";

async function tableOf(file: Uint8Array): Promise<string> {
  const folder = await temporaryFolder();
  writeTinyTable(folder, file);
  return folder;
}

async function readerOf(file: Uint8Array, change: Partial<TokenizerFile> = {}) {
  const table = readStaticTable(join(await tableOf(file), "model.safetensors"));
  if (!table) throw new Error("This is no table.");
  const described = { ...wordPieces(TOKENS), ...change };
  return new TableReader(table, new Tokenizer(described, {}), described);
}

/** The formula, written out: the mean of the rows, each times its weight, without tokens that are unknown. */
function mean(
  tokens: readonly string[],
  weightOf = (_token: number) => 1,
  rowOf = (token: number) => token,
): number[] {
  return Array.from({ length: SIZE }, (_, place) => {
    let sum = 0;
    for (const token of tokens.map((each) => TOKENS.indexOf(each))) {
      sum += numberAt(rowOf(token), place) * weightOf(token);
    }
    return tokens.length === 0 ? 0 : sum / tokens.length;
  });
}

/** The two upper bytes of a number of 32 bits. */
const bfloat16 = (number: number) => float32(number).slice(2);

/** A whole number below 2048 in 16 bits, by the definition of the format. */
function float16(number: number): Uint8Array {
  const exponent = number === 0 ? -15 : Math.floor(Math.log2(Math.abs(number)));
  const fraction = number === 0 ? 0 : (Math.abs(number) / 2 ** exponent - 1) * 1024;
  const bits = (number < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
  return Uint8Array.of(bits & 255, bits >> 8);
}

const KINDS: readonly (readonly [string, (number: number) => Uint8Array])[] = [
  ["F64", (number) => new Uint8Array(new Float64Array([number]).buffer)],
  ["F32", float32],
  ["F16", float16],
  ["BF16", bfloat16],
  ["I8", (number) => new Uint8Array(Int8Array.of(number).buffer)],
];

const float32s = (numbers: readonly number[]): WrittenTensor => ({
  dtype: "F32",
  shape: [numbers.length],
  bytes: Buffer.concat(numbers.map(float32)),
});

const int64s = (numbers: readonly number[]): WrittenTensor => ({
  dtype: "I64",
  shape: [numbers.length],
  bytes: new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer),
});

describe("Embedder: a static table", () => {
  for (const law of embedderLaws) {
    test(law.name, async () => {
      const embedder = new FastEmbedder({ model: await tableOf(tiny()) });
      await law.holds(async () => embedder);
    });
  }
});

const tiny = () => safetensors({ embeddings: vectors("F32", float32) });

describe("a vector of a text", () => {
  test.each(KINDS)("is the mean of its tokens' vectors in %s", async (kind, bytesOf) => {
    const reader = await readerOf(safetensors({ embeddings: vectors(kind, bytesOf) }));
    expect([...reader.embed("The deploy failed on Friday.")]).toEqual(
      mean(["the", "deploy", "failed", "on", "friday", "."]),
    );
    expect([...reader.embed("oranges zebra tests")]).toEqual(mean(["oranges", "tests"]));
    expect([...reader.embed("zebra")]).toEqual(mean([]));
  });

  test("counts each token by its weight, and takes the row that it is mapped to", async () => {
    const weightOf = (token: number) => (token % 4) + 0.5;
    const rowOf = (token: number) => (token * 3) % 5;
    const reader = await readerOf(
      safetensors({
        mapping: int64s(TOKENS.map((_, token) => rowOf(token))),
        embeddings: vectors("F32", float32, 5),
        weights: float32s(TOKENS.map((_, token) => weightOf(token))),
      }),
    );
    const tokens = ["warm", "seas", "near", "oranges"];
    expect([...reader.embed("warm seas near oranges")]).toEqual(mean(tokens, weightOf, rowOf));
  });

  test("ends where the tables' own program cuts a text", async () => {
    const reader = await readerOf(tiny());
    const many = Array<string>(512).fill("a");
    // The median length of a token is 4.
    expect([...reader.embed(`${many.join(" ")} seas`)]).toEqual(mean(many));
    const long = `${" ".repeat(512 * 4 - 4)}warm seas`;
    expect([...reader.embed(long)]).toEqual(mean(["warm"]));
    expect([...reader.embed(`🎉${" ".repeat(512 * 4 - 5)}warm seas`)]).toEqual(mean(["warm"]));
    const short = await readerOf(tiny(), { truncation: { max_length: 2 } });
    expect([...short.embed("zebra warm seas")]).toEqual(mean(["warm"]));
  });

  test("is made from a table in the other place too, and under its other name", async () => {
    const folder = await temporaryFolder();
    const file = safetensors({ "embedding.weight": vectors("F32", float32) });
    writeTinyTable(folder, file, "0_StaticEmbedding");
    const embedder = new FastEmbedder({ model: folder });
    expect([embedder.dimensions, embedder.givesZeros]).toEqual([SIZE, true]);
    const [vector = []] = await embedder.embed(["warm seas"]);
    const expected = mean(["warm", "seas"]);
    for (const [place, number] of vector.entries()) {
      expect(number).toBeCloseTo((expected[place] ?? 0) / Math.hypot(...expected), 6);
    }
  });
});

test("the file of a sentence transformer is no table", async () => {
  const file = safetensors({ "embeddings.word_embeddings.weight": vectors("F32", float32) });
  expect(readStaticTable(join(await tableOf(file), "model.safetensors"))).toBeUndefined();
});

type Header = Record<string, { data_offsets: number[]; shape?: unknown; dtype?: unknown }>;

const changed = (change: (header: Header) => unknown) =>
  safetensors(
    { embeddings: vectors("F32", float32), weights: float32s(TOKENS.map(() => 1)) },
    (header) => {
      change(header);
      return header;
    },
  );

const BYTES = TOKENS.length * SIZE * 4;

function withLength(length: bigint): Buffer {
  const file = tiny();
  file.writeBigUInt64LE(length);
  return file;
}

describe("a file is refused", () => {
  test.each<[string, Uint8Array, string]>([
    ["without bytes", new Uint8Array(), "no header"],
    ["of a few bytes", Buffer.from("GGUF"), "no header"],
    ["with a header of 2^63 bytes", withLength(2n ** 63n), "no header"],
    ["with a header longer than the file", withLength(100_000n), "no header"],
    ["with a header of no JSON", withLength(50n), "no header"],
    ["with bytes left over", Buffer.concat([tiny(), Buffer.alloc(4)]), "more bytes"],
    ["with too few bytes", tiny().subarray(0, -4), "fewer"],
    [
      "with an offset out of range",
      changed((all) => (all.weights = at(BYTES, 1e15, 28))),
      "header",
    ],
    ["with offsets below 0", changed((all) => (all.weights = at(-112, 0, 28))), "header"],
    [
      "with offsets that end before they begin",
      changed((all) => (all.weights = at(112, 0, 28))),
      "header",
    ],
    [
      "with tensors that overlap",
      changed((all) => (all.weights = at(0, 4 * TOKENS.length, TOKENS.length))),
      "overlap",
    ],
    ["with a gap", changed((all) => delete all.embeddings), "gap"],
    [
      "with a shape of other bytes",
      changed((all) => (all.weights = at(BYTES, BYTES + 4 * TOKENS.length, 3))),
      "header",
    ],
    [
      "with a shape below 0",
      changed((all) => Object.assign(all.embeddings ?? {}, { shape: [-1, -8] })),
      "header",
    ],
    [
      "with a shape of text",
      changed((all) => Object.assign(all.embeddings ?? {}, { shape: "8" })),
      "header",
    ],
    [
      "with a tensor that is null",
      changed((all) => Object.assign(all, { weights: null })),
      "header",
    ],
    [
      "with whole numbers",
      safetensors({ embeddings: { dtype: "I32", shape: [1, 1], bytes: new Uint8Array(4) } }),
      "kind I32",
    ],
    [
      "with numbers of an unknown kind",
      safetensors({ embeddings: { dtype: "F4", shape: [1, 1], bytes: new Uint8Array(4) } }),
      "kind F4",
    ],
    ["with one axis", safetensors({ embeddings: float32s([1]) }), "in 1 dimensions"],
    [
      "without a vector",
      safetensors({ embeddings: { dtype: "F32", shape: [0, 8], bytes: new Uint8Array() } }),
      "0 vectors",
    ],
    [
      "with vectors of more numbers than fit",
      safetensors({ embeddings: { dtype: "I8", shape: [1, 5000], bytes: new Uint8Array(5000) } }),
      "5000 numbers",
    ],
  ])("%s", async (_, file, said) => {
    const place = join(await tableOf(file), "model.safetensors");
    expect(() => readStaticTable(place)).toThrow(
      expect.objectContaining({
        code: "MODEL_UNAVAILABLE",
        message: expect.stringContaining(said),
      }),
    );
  });

  test("with another number of vectors than tokens", async () => {
    const file = safetensors({ embeddings: vectors("F32", float32, TOKENS.length - 1) });
    await expect(readerOf(file)).rejects.toThrow(`${TOKENS.length - 1} vectors`);
  });

  test("whose tokens have other numbers than its rows", async () => {
    const id = TOKENS.length + 2;
    const added = { id, content: "[MORE]", special: false, normalized: false };
    const described = { ...wordPieces(TOKENS), added_tokens: [added] };
    // Behind the vectors are other numbers, which are none of a token.
    const embeddings = vectors("F32", float32, id);
    const weights = float32s(Array(id).fill(1));
    const place = await tableOf(safetensors({ embeddings, weights }));
    const table = readStaticTable(join(place, "model.safetensors"));
    const make = () => table && new TableReader(table, new Tokenizer(described, {}), described);
    expect(make).toThrow(`has no vector for "[MORE]", which is token ${id}`);
  });

  test("that maps a token to a row that is not there", async () => {
    const mapping = int64s(TOKENS.map((_, token) => (token === 3 ? 5 : 0)));
    const file = safetensors({ mapping, embeddings: vectors("F32", float32, 5) });
    await expect(readerOf(file)).rejects.toThrow("does not have");
  });

  test("when a text needs a vector that is no number, or that is gone", async () => {
    const broken = vectors("F32", (number) =>
      float32(number === numberAt(4, 0) ? Number.NaN : number),
    );
    const reader = await readerOf(safetensors({ embeddings: broken }));
    expect(() => reader.embed("the")).toThrow("no numbers");
    const file = join(await tableOf(tiny()), "model.safetensors");
    const described = wordPieces(TOKENS);
    const table = readStaticTable(file);
    const other = table && new TableReader(table, new Tokenizer(described, {}), described);
    const { length } = readFileSync(file);
    truncateSync(file, length - 40);
    expect(() => other?.embed("warmed")).toThrow("has changed");
  });
});

/** A place in the file, described as so many numbers. */
function at(from: number, to: number, count: number) {
  return { data_offsets: [from, to], shape: [count], dtype: "F32" };
}
