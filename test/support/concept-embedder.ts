import type { Embedder } from "../../src/core/embedder.ts";
import { CALIBRATION_PAIRS } from "../../src/indexing/vectors/store-vectors.ts";

/**
 * An embedder that has learned a few words: those of one line mean the same to it. It does what a
 * model does, and the same in every run: texts that mean the same are alike, others are not.
 */
const CONCEPTS = `
dog greyhound puppy hound
doctor physician surgery
money salary wages paid
car vehicle sedan
holiday vacation trip
`
  .trim()
  .split("\n")
  .map((line) => line.split(" "));

export interface ConceptEmbedderOptions {
  readonly id?: string;
  readonly dimensions?: number;
  /** What is done with the vectors of a call before they are given. */
  readonly spoil?: (
    vectors: Float32Array[],
    texts: readonly string[],
    signal: AbortSignal | undefined,
  ) => readonly Float32Array[] | Promise<readonly Float32Array[]>;
}

export class ConceptEmbedder implements Embedder {
  readonly id: string;
  readonly dimensions: number;
  readonly trained = true;
  /** Every text that it was asked for. */
  readonly asked: string[] = [];
  readonly #spoil: ConceptEmbedderOptions["spoil"];
  readonly #vectors = new Map<string, Float32Array>();

  constructor(options: ConceptEmbedderOptions = {}) {
    this.id = options.id ?? "test/concepts";
    this.dimensions = options.dimensions ?? 256;
    this.#spoil = options.spoil;
  }

  async embed(
    texts: readonly string[],
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly Float32Array[]> {
    this.asked.push(...texts);
    const vectors = texts.map((text) => this.#vectorOf(text));
    return this.#spoil ? this.#spoil(vectors, texts, options.signal) : vectors;
  }

  /** How often it was asked for texts that are not those it is calibrated with. */
  get embedded(): readonly string[] {
    return this.asked.filter((text) => pairOf(text) < 0);
  }

  #vectorOf(text: string): Float32Array {
    const pair = pairOf(text);
    const meanings =
      pair >= 0
        ? [`pair ${pair}`, text]
        : (text.toLowerCase().match(/\p{L}+/gu) ?? []).map(concept);
    const sum = new Float32Array(this.dimensions);
    for (const meaning of meanings) {
      const vector = this.#vectorOfMeaning(meaning);
      for (let index = 0; index < sum.length; index += 1) {
        sum[index] = (sum[index] as number) + (vector[index] as number);
      }
    }
    const length = Math.hypot(...sum) || 1;
    return sum.map((number) => number / length);
  }

  #vectorOfMeaning(meaning: string): Float32Array {
    let vector = this.#vectors.get(meaning);
    if (!vector) {
      vector = new Float32Array(this.dimensions).map(randomNumbers(`${this.id} ${meaning}`));
      this.#vectors.set(meaning, vector);
    }
    return vector;
  }
}

function pairOf(text: string): number {
  return CALIBRATION_PAIRS.findIndex((pair) => pair.includes(text));
}

function concept(word: string): string {
  return CONCEPTS.find((words) => words.includes(word))?.[0] ?? word;
}

/** Numbers from -1 to 1 that follow from a text. */
function randomNumbers(text: string): () => number {
  let state = 1;
  for (const character of text) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}
