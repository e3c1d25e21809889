import assert from "node:assert/strict";
import type { Embedder } from "../core/embedder.ts";
import { expects, inWords, type Law } from "./law.ts";

const TEXTS = [
  "The tests pass on Node 24.",
  "東京都に住んでいます",
  "cafe\u0301 \u0000 \ud800 🎉",
  "a",
];

/** The promises of every embedder. */
export const embedderLaws: readonly Law<Embedder>[] = inWords([
  {
    name: "vectors have as many numbers as the embedder says",
    async holds(open) {
      const embedder = await open();
      expects(embedder.dimensions > 0, "at least one dimension", embedder.dimensions);
      for (const vector of await embedder.embed([...TEXTS, ""])) {
        assert.equal(vector.length, embedder.dimensions);
      }
    },
  },
  {
    name: "vectors have length 1",
    async holds(open) {
      const embedder = await open();
      for (const vector of await embedder.embed(TEXTS)) {
        const length = Math.sqrt(dot(vector, vector));
        if (embedder.givesZeros && length === 0) continue;
        expects(Math.abs(length ** 2 - 1) < 1e-4, "a vector of length 1", length);
      }
    },
  },
  {
    name: "a text without words gives zeros",
    async holds(open) {
      for (const vector of await (await open()).embed(["", " \n\t "])) {
        expects(
          vector.every((number) => number === 0),
          "a vector of zeros",
          vector,
        );
      }
    },
  },
  {
    name: "the same text gives the same vector, alone and among others",
    async holds(open) {
      const embedder = await open();
      const together = await embedder.embed(TEXTS);
      for (const [index, text] of TEXTS.entries()) {
        assert.deepEqual((await embedder.embed([text]))[0], together[index]);
      }
    },
  },
  {
    name: "vectors come in the order of the texts",
    async holds(open) {
      const embedder = await open();
      const there = await embedder.embed(TEXTS);
      const back = await embedder.embed(TEXTS.toReversed());
      assert.deepEqual(back.toReversed(), there);
    },
  },
  {
    name: "no texts give no vectors",
    async holds(open) {
      assert.deepEqual(await (await open()).embed([]), []);
    },
  },
  {
    name: "texts that share words are more alike than texts that do not",
    async holds(open) {
      const [text, like, unlike] = await (await open()).embed([
        "the deploy of the billing service failed on friday",
        "why did the deploy of the billing service fail",
        "oranges grow well near warm seas",
      ]);
      expects(text && like && unlike, "a vector for each of three texts", [text, like, unlike]);
      const [near, far] = [dot(text, like), dot(text, unlike)];
      expects(near > far, `a likeness above ${far} for a text with the same words`, near);
    },
  },
]);

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}
