import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { wordPieces } from "./tiny-sentence-model.ts";

/** The tokens of the table. The second stands for everything else. */
export const TOKENS =
  "[PAD] [UNK] [CLS] [SEP] the deploy of billing service failed on friday why did fail oranges grow well near warm seas a tests pass node 24 . ##s ##ed".split(
    " ",
  );

/** Numbers in a vector of the table. */
export const SIZE = 8;

/** A tensor as a file of safetensors has it. */
export interface WrittenTensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The bytes of a file of safetensors. `change` makes its header a wrong one. */
export function safetensors(
  tensors: Readonly<Record<string, WrittenTensor>>,
  change: (header: Record<string, { data_offsets: number[] }>) => unknown = (header) => header,
): Buffer {
  let at = 0;
  const header = Object.fromEntries(
    Object.entries(tensors).map(([name, { dtype, shape, bytes }]) => {
      const data_offsets = [at, at + bytes.length];
      at += bytes.length;
      return [name, { dtype, shape, data_offsets }];
    }),
  );
  const text = Buffer.from(JSON.stringify(change(header)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...Object.values(tensors).map(({ bytes }) => bytes)]);
}

/** A number of the table, exact in each kind of number that tests write it in. */
export function numberAt(row: number, place: number): number {
  return ((row * 37 + place * 11 + row * place) % 127) - 63;
}

/** `rows` vectors as `bytesOf` writes each number. */
export function vectors(
  dtype: string,
  bytesOf: (number: number) => Uint8Array,
  rows = TOKENS.length,
): WrittenTensor {
  const numbers = Array.from({ length: rows * SIZE }, (_, at) =>
    numberAt(Math.floor(at / SIZE), at % SIZE),
  );
  return { dtype, shape: [rows, SIZE], bytes: Buffer.concat(numbers.map(bytesOf)) };
}

export const float32 = (number: number) => new Uint8Array(new Float32Array([number]).buffer);

/** Writes a model of the kind that model2vec makes, with 32-bit numbers unless `table` is another file. */
export function writeTinyTable(
  folder: string,
  table: Uint8Array = safetensors({ embeddings: vectors("F32", float32) }),
  place = ".",
): void {
  for (const [name, content] of Object.entries({
    [join(place, "model.safetensors")]: table,
    [join(place, "tokenizer.json")]: JSON.stringify(wordPieces(TOKENS)),
    "config.json": '{"model_type":"model2vec","normalize":true}',
  })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}
