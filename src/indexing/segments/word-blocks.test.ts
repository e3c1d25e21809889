import { expect, test } from "vitest";
import { type Postings, unitePostings } from "../passages/passage-index.ts";
import { WordWriter, wordBytes } from "./word-block.ts";
import { WordBlocks } from "./word-blocks.ts";

/** Slots with changing hits, so that they take room. */
function postings(first: number, count: number): Postings {
  const slots = Uint32Array.from({ length: count }, (_, index) => first + 3 * index);
  return { slots, hits: Uint8Array.from(slots, (slot) => 1 + (slot % 13)) };
}

const FEW = Array.from({ length: 300 }, (_, index) => `few${String(index).padStart(3, "0")}`);
const WORDS: readonly (readonly [string, Postings])[] = [
  ["a", postings(0, 9000)],
  ...FEW.map((word, at) => [word, postings(at, 9)] as const),
  ["many", postings(1, 20_000)],
  ["more", postings(5, 7000)],
  ["z", postings(7, 1)],
];

function written(whole: boolean) {
  const writer = new WordWriter({ whole });
  for (const [word, where] of WORDS) writer.add(word, where);
  return writer.take();
}

test.each([
  ["one block", true],
  ["blocks of a page, with words that do not fit one", false],
])("a word is found in %s when it is there, and only then", (_, whole) => {
  const blocks = new WordBlocks(written(whole));
  const known = new Map(WORDS);
  for (const word of [...known.keys(), "", "0", "few", "few1500", "man", "many1", "zz"]) {
    const where = known.get(word);
    const found = unitePostings([...blocks.postings(wordBytes(word))]);
    expect(found, word).toEqual(unitePostings(where ? [where] : []));
    const behind = WORDS.filter(([other]) => other >= word).slice(0, 3);
    expect([...blocks.words(wordBytes(word))].slice(0, 3), word).toEqual(behind);
  }
});

test("a word of several blocks is whole, and its neighbours are not part of it, when its first block is gone", () => {
  const rows = written(false);
  const first = rows.findIndex((row) => Buffer.from(row.first).toString() === "many");
  const left = rows.filter((_, at) => at !== first);
  const blocks = new WordBlocks(left);
  const found = unitePostings([...blocks.postings(wordBytes("many"))]);
  expect(found.slots).toEqual(postings(1, 20_000).slots.slice(8000));
  const words = new Map(blocks.words());
  expect([...words.keys()]).toEqual(WORDS.map(([word]) => word));
  expect(words.get("many")).toEqual(found);
  expect(words.get("few299")).toEqual(postings(299, 9));
});
