import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Numbers in a vector of the model. */
export const SIZE = 16;

const WORDS = `the tests pass on node 24 a deploy of billing service failed friday why did fail
  oranges grow well near warm seas word first last`.split(/\s+/);
const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"];

/**
 * Writes a sentence transformer of the least size, in the files and the format that real
 * ones have: WordPiece, and a graph that looks each token's vector up in a table.
 */
export function writeTinySentenceModel(
  folder: string,
  options: { readonly tokensMax?: number } = {},
) {
  const vocabulary = [
    ...SPECIAL,
    ...WORDS,
    ...[..."abcdefghijklmnopqrstuvwxyz"].map((letter) => `##${letter}`),
  ];
  const table = vocabulary.flatMap((_, token) => vectorOf(token));
  const files = {
    "onnx/model.onnx": lookupModel(vocabulary.length, table),
    "config.json": json({ hidden_size: SIZE, max_position_embeddings: 512 }),
    "sentence_bert_config.json": json({ max_seq_length: options.tokensMax ?? 64 }),
    "tokenizer_config.json": json({ tokenizer_class: "BertTokenizer", model_max_length: 512 }),
    "tokenizer.json": json(wordPieces(vocabulary)),
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}

/** What the model makes of these tokens, the frame around them included. */
export function meanVector(words: readonly string[]): Float32Array {
  const all = ["[CLS]", ...words, "[SEP]"].map((word) => [...SPECIAL, ...WORDS].indexOf(word));
  const sum = Array.from({ length: SIZE }, (_, place) =>
    all.reduce((total, token) => total + (vectorOf(token)[place] ?? 0), 0),
  );
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (number) => number / length);
}

/** Like chance, and the same each time. The frame around a text says next to nothing. */
function vectorOf(token: number): number[] {
  return Array.from({ length: SIZE }, (_, place) => {
    const noise = Math.sin((token + 1) * 12.9898 + place * 78.233) * 43758.5453;
    return Math.fround((noise - Math.floor(noise) - 0.5) * (token < SPECIAL.length ? 0.01 : 1));
  });
}

/** A `tokenizer.json` of words and their pieces. */
export function wordPieces(vocabulary: readonly string[]) {
  const token = (content: string) => ({
    id: SPECIAL.indexOf(content),
    content,
    special: true,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  });
  const frame = (id: string) => ({ SpecialToken: { id, type_id: 0 } });
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: SPECIAL.map(token),
    normalizer: {
      type: "BertNormalizer",
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: {
      type: "TemplateProcessing",
      single: [frame("[CLS]"), { Sequence: { id: "A", type_id: 0 } }, frame("[SEP]")],
      pair: [],
      special_tokens: Object.fromEntries(
        ["[CLS]", "[SEP]"].map((id) => [id, { id, ids: [SPECIAL.indexOf(id)], tokens: [id] }]),
      ),
    },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((word, index) => [word, index])),
    },
  };
}

/** An ONNX model, written by hand: `last_hidden_state = Gather(table, input_ids)`. */
function lookupModel(rows: number, table: readonly number[]): Buffer {
  const FLOAT = 1;
  const INT64 = 7;
  const tensor = message(
    number(1, rows),
    number(1, SIZE),
    number(2, FLOAT),
    text(8, "table"),
    bytes(9, Buffer.from(Float32Array.from(table).buffer)),
  );
  const node = message(
    text(1, "table"),
    text(1, "input_ids"),
    text(2, "last_hidden_state"),
    text(4, "Gather"),
  );
  const dimension = (size: string | number) =>
    bytes(1, typeof size === "string" ? message(text(2, size)) : message(number(1, size)));
  const value = (name: string, type: number, shape: readonly (string | number)[]) =>
    message(
      text(1, name),
      bytes(
        2,
        message(bytes(1, message(number(1, type), bytes(2, message(...shape.map(dimension)))))),
      ),
    );
  const tokens = ["texts", "tokens"];
  const graph = message(
    bytes(1, node),
    text(2, "lookup"),
    bytes(5, tensor),
    bytes(11, value("input_ids", INT64, tokens)),
    bytes(11, value("attention_mask", INT64, tokens)),
    bytes(12, value("last_hidden_state", FLOAT, [...tokens, SIZE])),
  );
  const opset = message(text(1, ""), number(2, 17));
  return message(number(1, 8), bytes(7, graph), bytes(8, opset));
}

/** Protocol buffers: each field a key and its content. */
function message(...fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields);
}

function number(field: number, value: number): Buffer {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function text(field: number, value: string): Buffer {
  return bytes(field, Buffer.from(value));
}

function bytes(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint((field << 3) | 2), varint(value.length), value]);
}

function varint(value: number): Buffer {
  const digits: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return Buffer.from([...digits, rest]);
    digits.push((rest & 127) | 128);
  }
}

function json(value: unknown): string {
  return JSON.stringify(value);
}
