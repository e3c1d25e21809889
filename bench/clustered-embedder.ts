import type { Embedder } from "rkat";
import { CALIBRATION_PAIRS } from "../src/indexing/vectors/store-vectors.ts";
import { contentWords } from "./data/vocabulary.ts";

const DIMENSIONS = 384;
const WORDS_MAX = 12;

const ANSWERS = new Map(CALIBRATION_PAIRS);
/** This many give a question and its answer a cosine of about 0.5. */
const ANSWER_WORDS = 3;

/**
 * Stands in for a trained model where only speed is measured. The same text always has
 * the same vector, and texts that share words are close, so the messages about one topic
 * form a cluster. It knows no meaning, except for the pairs with which stores calibrate an
 * embedder: there it is about as good as a model.
 */
export function clusteredEmbedder(): Embedder {
  return {
    id: `bench/clustered/${DIMENSIONS}`,
    dimensions: DIMENSIONS,
    trained: true,
    embed: async (texts) => texts.map(vectorOf),
  };
}

function vectorOf(text: string): Float32Array {
  const vector = new Float32Array(DIMENSIONS);
  const meant = contentWords(ANSWERS.get(text) ?? "").slice(0, ANSWER_WORDS);
  const words = [...contentWords(text), ...meant].slice(0, WORDS_MAX);
  // No model returns only zeros, and a store would ask for such a vector again and again.
  for (const word of words.length > 0 ? words : [text]) addWord(word, vector);
  let squares = 0;
  for (let at = 0; at < DIMENSIONS; at += 1) squares += (vector[at] as number) ** 2;
  const length = Math.sqrt(squares);
  if (length > 0) for (let at = 0; at < DIMENSIONS; at += 1) (vector[at] as number) /= length;
  return vector;
}

/** Adds numbers from -1 to 1 that depend on the word alone, by xorshift. */
function addWord(word: string, vector: Float32Array): void {
  let state = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) {
    state = Math.imul(state ^ word.charCodeAt(at), 0x01000193);
  }
  for (let at = 0; at < DIMENSIONS; at += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    (vector[at] as number) += state / 2 ** 31;
  }
}
