import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { BagOfWordsEmbedder, hashedWords, LocalEmbedder } from "./word-embedders.ts";

async function bucketsOf(embedder: LocalEmbedder | BagOfWordsEmbedder, text: string) {
  const [vector = new Float32Array()] = await embedder.embed([text]);
  return [...vector.entries()].filter(([, value]) => value > 0).map(([bucket]) => bucket);
}

describe("LocalEmbedder", () => {
  test.each([
    ["hello", [25]],
    ["rest", [35]],
    ["authentication", [37]],
    ["rust", [51]],
    ["HELLO", [25]],
  ])("puts %s in bucket %j", async (text, buckets) => {
    expect(await bucketsOf(new LocalEmbedder(), text)).toEqual(buckets);
  });

  test("splits an identifier at every character but letters and digits", async () => {
    const [whole, parts] = await new LocalEmbedder().embed(["memory_search", "memory search"]);
    expect(whole).toEqual(parts);
  });
});

describe("BagOfWordsEmbedder", () => {
  test.each([
    ["hello", [2258]],
    ["Hello", [2258]],
    ["REST", [3028]],
    ["authentication", [632]],
    ["rust", [2020]],
    ["memory_search", [678]],
  ])("puts %s in bucket %j", async (text, buckets) => {
    expect(await bucketsOf(new BagOfWordsEmbedder(), text)).toEqual(buckets);
  });

  test("keeps the punctuation of a word", async () => {
    const embedder = new BagOfWordsEmbedder();
    expect(await bucketsOf(embedder, "rust.")).not.toEqual(await bucketsOf(embedder, "rust"));
  });
});

test("the short way to a bucket is the exact one", () => {
  const hash64 = (text: string, seed: bigint, factor: bigint, dimensions: number) => {
    let hash = seed;
    for (const byte of new TextEncoder().encode(text)) {
      hash = BigInt.asUintN(64, hash * factor + BigInt(byte));
    }
    return Number(hash % BigInt(dimensions));
  };
  fc.assert(
    fc.property(
      fc.string({ unit: ANY_CHARACTER, minLength: 1 }),
      fc.constantFrom(1, 2, 100, 128, 384, 4096, 65_536, 100_000),
      (word, dimensions) => {
        const vector = hashedWords([word], dimensions, { seed: 5381, factor: 33 });
        expect(vector.indexOf(1)).toBe(hash64(word, 5381n, 33n, dimensions));
      },
    ),
  );
});
