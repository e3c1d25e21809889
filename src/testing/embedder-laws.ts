import assert from "node:assert/strict";
import type { Embedder } from "../core/embedder.ts";
import { expects, type Law, lawsOf } from "./law.ts";

const TEXTS = [
  "The tests pass on Node 24.",
  "東京都に住んでいます",
  "cafe\u0301 \u0000 \ud800 🎉",
  "a",
];

/** The promises of every embedder. */
export const embedderLaws: readonly Law<Embedder>[] = lawsOf({
  "vectors have as many numbers as the embedder says": async (embedder) => {
    expects(embedder.dimensions > 0, "at least one dimension", embedder.dimensions);
    for (const vector of await embedder.embed([...TEXTS, ""])) {
      assert.equal(vector.length, embedder.dimensions);
    }
  },
  "vectors have length 1": async (embedder) => {
    for (const vector of await embedder.embed(TEXTS)) {
      const length = Math.sqrt(dot(vector, vector));
      if (embedder.givesZeros && length === 0) continue;
      expects(Math.abs(length ** 2 - 1) < 1e-4, "a vector of length 1", length);
    }
  },
  "a text without words gives zeros": async (embedder) => {
    for (const vector of await embedder.embed(["", " \n\t "])) {
      expects(
        vector.every((number) => number === 0),
        "a vector of zeros",
        vector,
      );
    }
  },
  "the same text gives the same vector, alone and among others": async (embedder) => {
    const together = await embedder.embed(TEXTS);
    for (const [index, text] of TEXTS.entries()) {
      assert.deepEqual((await embedder.embed([text]))[0], together[index]);
    }
  },
  "vectors come in the order of the texts": async (embedder) => {
    const there = await embedder.embed(TEXTS);
    const back = await embedder.embed(TEXTS.toReversed());
    assert.deepEqual(back.toReversed(), there);
  },
  "no texts give no vectors": async (embedder) => {
    assert.deepEqual(await embedder.embed([]), []);
  },
  "texts that share words are more alike than texts that do not": async (embedder) => {
    const [text, like, unlike] = await embedder.embed([
      "the deploy of the billing service failed on friday",
      "why did the deploy of the billing service fail",
      "oranges grow well near warm seas",
    ]);
    expects(text && like && unlike, "a vector for each of three texts", [text, like, unlike]);
    const [near, far] = [dot(text, like), dot(text, unlike)];
    expects(near > far, `a likeness above ${far} for a text with the same words`, near);
  },
});

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}
