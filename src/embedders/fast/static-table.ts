import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Tokenizer } from "@huggingface/tokenizers";
import { errorText, SessionError } from "../../core/errors.ts";

/** A table with a vector for each token (model2vec, StaticEmbedding), in a file of safetensors. */
export interface StaticTable {
  readonly file: string;
  readonly dimensions: number;
  readonly vectors: Tensor;
  /** The weight of each token. Without it, all count the same. */
  readonly weights?: Tensor | undefined;
  /** The row of each token. Without it, a token's row is its number. */
  readonly rows?: Tensor | undefined;
}

/** An array of numbers in a file. */
interface Tensor {
  readonly type: string;
  readonly shape: readonly number[];
  /** Its first byte in the file. */
  readonly start: number;
  readonly bytes: number;
}

/** Headers of real tables have some hundred bytes. */
const HEADER_BYTES_MAX = 1_000_000;
/** The same as in the index. */
const DIMENSIONS_MAX = 4096;

/**
 * Reads what a file of safetensors has, without its numbers. Undefined if it is no static table: a sentence transformer
 * has such a file too.
 *
 *     8 bytes     {"embeddings": {"dtype": "F32", "shape": [29528, 256], "data_offsets": [0, 30236672]}}     numbers
 *     its length ─┘
 *
 * @throws SessionError `MODEL_UNAVAILABLE` with what is wrong with the file
 */
export function readStaticTable(file: string): StaticTable | undefined {
  const opened = openSync(file, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const found = fstatSync(opened);
    if (!found.isFile()) throw new Error("is no file");
    const length = found.size < 8 ? 0 : Number(readBytes(opened, 0, 8).getBigUint64(0, true));
    if (length < 2 || length > Math.min(found.size - 8, HEADER_BYTES_MAX)) {
      throw new Error("has no header of safetensors");
    }
    const header = new TextDecoder().decode(readBytes(opened, 8, length));
    const tensors = tensorsOf(JSON.parse(header), 8 + length, found.size);
    const vectors = tensors.get("embeddings") ?? tensors.get("embedding.weight");
    if (!vectors) return undefined;
    const [weights, rows] = [tensors.get("weights"), tensors.get("mapping")];
    requireKind(vectors, 2, FRACTIONS);
    if (weights) requireKind(weights, 1, FRACTIONS);
    if (rows) requireKind(rows, 1, WHOLE);
    const [count = 0, dimensions = 0] = vectors.shape;
    if (count < 1 || dimensions < 1 || dimensions > DIMENSIONS_MAX) {
      throw new Error(`has ${count} vectors of ${dimensions} numbers`);
    }
    return { file, dimensions, vectors, weights, rows };
  } catch (error) {
    throw unusable(file, error instanceof SyntaxError ? "has no header of safetensors" : error);
  } finally {
    closeSync(opened);
  }
}

function unusable(file: string, problem: unknown): SessionError {
  return new SessionError("MODEL_UNAVAILABLE", {
    message: `${file} ${typeof problem === "string" ? problem : errorText(problem)}.`,
    hint: "Get the model's files again, or take another one.",
  });
}

/** Every byte after the header belongs to one tensor, as the format says. */
function tensorsOf(header: unknown, start: number, end: number): ReadonlyMap<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, value] of Object.entries(header ?? {})) {
    if (name !== "__metadata__") tensors.set(name, tensorOf(value, start));
  }
  let at = start;
  for (const tensor of [...tensors.values()].sort((one, other) => one.start - other.start)) {
    if (tensor.start !== at) throw new Error("has numbers that overlap, or a gap between them");
    at += tensor.bytes;
  }
  if (at !== end) throw new Error("has fewer or more bytes than its header says");
  return tensors;
}

function tensorOf(value: unknown, start: number): Tensor {
  const { dtype: type, shape, data_offsets: place } = (value ?? {}) as Record<string, unknown>;
  if (typeof type === "string" && areSizes(shape) && areSizes(place) && place.length === 2) {
    const [from = 0, to = 0] = place;
    const bytes = to - from;
    const size = NUMBERS[type]?.size;
    const isRight = size === undefined || shape.reduce((all, each) => all * each, size) === bytes;
    // Other programs' kinds of numbers only have to be passed over.
    if (bytes >= 0 && isRight) return { type, shape, start: start + from, bytes };
  }
  throw new Error("has a header that contradicts itself");
}

function areSizes(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);
}

function requireKind({ type, shape }: Tensor, axes: number, types: readonly string[]): void {
  if (shape.length !== axes) throw new Error(`has numbers in ${shape.length} dimensions`);
  if (!types.includes(type)) throw new Error(`has numbers of the kind ${type}`);
}

interface NumberKind {
  readonly size: number;
  read(bytes: DataView, at: number): number;
}

/** The kinds of numbers, as the format names them. */
const NUMBERS: Readonly<Record<string, NumberKind>> = {
  F64: { size: 8, read: (bytes, at) => bytes.getFloat64(at, true) },
  F32: { size: 4, read: (bytes, at) => bytes.getFloat32(at, true) },
  F16: { size: 2, read: (bytes, at) => halfOf(bytes.getUint16(at, true)) },
  BF16: { size: 2, read: (bytes, at) => upperHalfOf(bytes.getUint16(at, true)) },
  I8: { size: 1, read: (bytes, at) => bytes.getInt8(at) },
  I32: { size: 4, read: (bytes, at) => bytes.getInt32(at, true) },
  I64: { size: 8, read: (bytes, at) => Number(bytes.getBigInt64(at, true)) },
};

const FRACTIONS = ["F64", "F32", "F16", "BF16", "I8"];
const WHOLE = ["I32", "I64"];

/** A number of 16 bits: 1 for the sign, 5 for the exponent, 10 for the fraction. */
function halfOf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  if (exponent === 31) return fraction === 0 ? sign / 0 : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15));
}

const FOUR_BYTES = new DataView(new ArrayBuffer(4));

/** The number of 32 bits that begins with these. */
function upperHalfOf(bits: number): number {
  FOUR_BYTES.setUint16(0, bits);
  return FOUR_BYTES.getFloat32(0);
}

/** A text is cut at so many tokens, as model2vec does. */
const TOKENS_MAX = 512;

/** The fields of a `tokenizer.json` that are read beside the list of tokens. */
export interface TokenizerFile {
  readonly model?: { readonly unk_token?: unknown } | null;
  readonly truncation?: { readonly max_length?: unknown } | null;
}

/** Makes vectors from a table, as model2vec does. It reads the rows that a text needs, so a large table starts fast. */
export class TableReader {
  readonly #table: StaticTable;
  readonly #tokenizer: Tokenizer;
  readonly #opened: number;
  readonly #numbers: NumberKind;
  readonly #row: DataView;
  readonly #weights: Float64Array | undefined;
  readonly #rows: Float64Array | undefined;
  /** It stands for what the list of tokens lacks, and says nothing. */
  readonly #unknown: number | undefined;
  readonly #charactersMax: number;
  readonly #tokensMax: number;

  /** @throws SessionError `MODEL_UNAVAILABLE` when the table and the list of tokens do not belong together */
  constructor(table: StaticTable, tokenizer: Tokenizer, { model, truncation }: TokenizerFile) {
    const { file, dimensions, vectors } = table;
    const numbers = NUMBERS[vectors.type];
    if (!numbers) throw unusable(file, `has numbers of the kind ${vectors.type}`);
    this.#table = table;
    this.#tokenizer = tokenizer;
    this.#numbers = numbers;
    this.#opened = openSync(file, "r");
    this.#row = new DataView(new ArrayBuffer(dimensions * numbers.size));
    this.#weights = readList(this.#opened, table.weights);
    this.#rows = readList(this.#opened, table.rows);
    const tokens: ReadonlyMap<string, number> = tokenizer.get_vocab(true);
    const unknown = model?.unk_token;
    this.#unknown = typeof unknown === "string" ? tokens.get(unknown) : undefined;
    const { max_length: limit } = truncation ?? {};
    this.#tokensMax = typeof limit === "number" && limit > 0 ? limit : TOKENS_MAX;
    const [count = 0] = vectors.shape;
    const lists = [this.#weights, this.#rows].filter((list) => list !== undefined);
    const isTooShort = lists.some(({ length }) => length < tokens.size);
    if (isTooShort || (!this.#rows && count !== tokens.size)) {
      throw unusable(file, `has ${count} vectors, and its tokenizer.json ${tokens.size} tokens`);
    }
    // Behind its end are other numbers of the file.
    const end = Math.min(...lists.map(({ length }) => length), this.#rows ? Infinity : count);
    for (const [name, token] of tokens) {
      if (!(token < end))
        throw unusable(file, `has no vector for "${name}", which is token ${token}`);
    }
    if (this.#rows?.some((row) => !(row >= 0 && row < count))) {
      throw unusable(file, "names vectors that it does not have");
    }
    this.#charactersMax = TOKENS_MAX * medianLength(tokens.keys());
  }

  /** The mean of the vectors of the text's tokens. Zeros if it has none. */
  embed(text: string): Float64Array {
    const tokens = this.#tokensOf(text);
    const sum = new Float64Array(this.#table.dimensions);
    for (const token of tokens) {
      this.#readRow(this.#rows?.[token] ?? token);
      const weight = this.#weights?.[token] ?? 1;
      const { size, read } = this.#numbers;
      for (let place = 0; place < sum.length; place += 1) {
        sum[place] = (sum[place] ?? 0) + read(this.#row, place * size) * weight;
      }
    }
    if (sum.some((number) => !Number.isFinite(number))) {
      throw unusable(this.#table.file, NO_NUMBERS);
    }
    return sum.map((number) => number / (tokens.length || 1));
  }

  #tokensOf(text: string): readonly number[] {
    // A character takes two units of a string at most.
    const characters = [...text.slice(0, 2 * this.#charactersMax)];
    const { ids } = this.#tokenizer.encode(characters.slice(0, this.#charactersMax).join(""), {
      add_special_tokens: false,
    });
    const known = ids.slice(0, this.#tokensMax).filter((token: number) => token !== this.#unknown);
    return known.slice(0, TOKENS_MAX);
  }

  #readRow(row: number): void {
    const { byteLength } = this.#row;
    const at = this.#table.vectors.start + row * byteLength;
    if (readSync(this.#opened, this.#row, 0, byteLength, at) === byteLength) return;
    throw unusable(this.#table.file, "has changed");
  }
}

/**
 * Reads all vectors of a table.
 *
 * @throws SessionError `MODEL_UNAVAILABLE` when one of their numbers is none
 */
export function requireNumbers({ file, vectors }: StaticTable): void {
  const numbers = NUMBERS[vectors.type];
  const opened = openSync(file, "r");
  try {
    for (let at = 0; numbers && at < vectors.bytes; at += PART_BYTES) {
      const part = readBytes(opened, vectors.start + at, Math.min(PART_BYTES, vectors.bytes - at));
      for (let place = 0; place < part.byteLength; place += numbers.size) {
        if (!Number.isFinite(numbers.read(part, place))) throw unusable(file, NO_NUMBERS);
      }
    }
  } finally {
    closeSync(opened);
  }
}

const PART_BYTES = 2 ** 20;
const NO_NUMBERS = "has vectors that are no numbers";

function medianLength(tokens: Iterable<string>): number {
  const lengths = Array.from(tokens, (token: string) => [...token].length).sort(
    (one, other) => one - other,
  );
  const [lower = 1, upper = 1] = [(lengths.length - 1) / 2, lengths.length / 2].map(
    (middle) => lengths[Math.floor(middle)],
  );
  return Math.max(1, Math.floor((lower + upper) / 2));
}

function readList(opened: number, tensor: Tensor | undefined): Float64Array | undefined {
  const numbers = tensor && NUMBERS[tensor.type];
  if (!numbers) return undefined;
  const bytes = readBytes(opened, tensor.start, tensor.bytes);
  return Float64Array.from({ length: tensor.shape[0] ?? 0 }, (_, at) =>
    numbers.read(bytes, at * numbers.size),
  );
}

function readBytes(opened: number, start: number, length: number): DataView {
  const bytes = new DataView(new ArrayBuffer(length));
  for (let at = 0; at < length; ) {
    const read = readSync(opened, bytes, at, length - at, start + at);
    if (read === 0) throw new Error("is shorter than its header says");
    at += read;
  }
  return bytes;
}
