import type { Embedder } from "rkat";
import { CALIBRATION_PAIRS } from "../src/vectors/calibration.ts";
import { contentWords } from "./data/vocabulary.ts";

const DIMENSIONS = 384;
const WORDS_MAX = 12;

const ANSWERS = new Map(CALIBRATION_PAIRS);
/** So many give a question and its answer a cosine of about 0.5. */
const ANSWER_WORDS = 3;

/**
 * Stands for a trained model where only speed is measured: the same text always
 * gives the same vector, texts that share words are close, and so the messages
 * about one topic are a cluster. It knows nothing of meaning, but of the texts that stores
 * ask every embedder for to learn what its cosines mean: there it is about as good as a model.
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
  // No model gives nothing but zeros, and a store would ask for such a vector again and again.
  for (const word of words.length > 0 ? words : [text]) addWord(word, vector);
  let squares = 0;
  for (let at = 0; at < DIMENSIONS; at += 1) squares += (vector[at] as number) ** 2;
  const length = Math.sqrt(squares);
  if (length > 0) for (let at = 0; at < DIMENSIONS; at += 1) (vector[at] as number) /= length;
  return vector;
}

/** Numbers from -1 to 1 that only depend on the word, by xorshift. */
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
