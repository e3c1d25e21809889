import fc from "fast-check";
import { expect, test } from "vitest";
import type { Postings } from "../passages/passage-index.ts";
import { compareWords } from "./sorted-words.ts";
import { packWords, WordBlock, WordWriter, wordBytes } from "./word-block.ts";
import { blockWords } from "./word-blocks.ts";

const word = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.stringMatching(/^[a-z]{1,8}$/),
  fc.constantFrom("🎂", "\ufa0e", "東京", "=7f", "e\u0301", "z".repeat(150)),
);

const postings = fc
  .uniqueArray(
    fc.tuple(
      fc.oneof(fc.nat(300), fc.nat(0xffff_ffff)),
      fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 255 })),
    ),
    { minLength: 1, maxLength: 40, selector: ([slot]) => slot },
  )
  .map((pairs): Postings => {
    const sorted = pairs.toSorted(([one], [other]) => one - other);
    return {
      slots: Uint32Array.from(sorted, ([slot]) => slot),
      hits: Uint8Array.from(sorted, ([, hits]) => hits),
    };
  });

const words = fc
  .uniqueArray(fc.tuple(word, postings), { maxLength: 60, selector: ([text]) => text })
  .map((all) => all.toSorted(([one], [other]) => compareWords(one, other)));

test("words are packed and come back", () => {
  fc.assert(
    fc.property(words, (all) => {
      const packed = packWords(all);
      expect(packed === null ? [] : [...blockWords(new WordBlock(packed))]).toEqual(all);
    }),
  );
});

test("a word is found in a packed block when it is there, and only then", () => {
  fc.assert(
    fc.property(words, word, (all, other) => {
      const packed = packWords(all);
      if (packed === null) return;
      const block = new WordBlock(packed);
      const known = new Map(all);
      for (const asked of [other, ...known.keys()]) {
        const bytes = wordBytes(asked);
        const index = block.search(bytes);
        expect(block.has(index, bytes)).toBe(known.has(asked));
        if (known.has(asked)) expect(block.postings(index)).toEqual(known.get(asked));
      }
    }),
  );
});

test("blocks follow each other in the order of words, and of the places of a frequent word", () => {
  const many = (count: number): Postings => ({
    slots: Uint32Array.from({ length: count }, (_, index) => 3 * index),
    hits: new Uint8Array(count).fill(1),
  });
  const all: [string, Postings][] = [
    ...Array.from({ length: 2000 }, (_, index): [string, Postings] => [
      `a${String(index).padStart(4, "0")}`,
      many(1 + (index % 9)),
    ]),
    ["frequent", many(20_000)],
    ["more", many(2)],
  ];
  const writer = new WordWriter();
  for (const [text, where] of all) writer.add(text, where);
  const blocks = writer.take();
  expect(blocks.length).toBeGreaterThan(5);
  for (const [index, { first, slot }] of blocks.entries()) {
    const before = blocks[index - 1];
    if (before) {
      expect(Buffer.compare(before.first, first) || before.slot - slot).toBeLessThan(0);
    }
  }
  const found = new Map<string, number[]>();
  for (const { data } of blocks) {
    for (const [text, { slots }] of blockWords(new WordBlock(data))) {
      found.set(text, [...(found.get(text) ?? []), ...slots]);
    }
  }
  expect([...found]).toEqual(all.map(([text, { slots }]) => [text, [...slots]]));
});

test("words are compared as their UTF-8 is", () => {
  fc.assert(
    fc.property(word, word, (one, other) => {
      const expected = Buffer.compare(Buffer.from(one), Buffer.from(other));
      expect(Math.sign(compareWords(one, other))).toBe(expected);
    }),
  );
});
