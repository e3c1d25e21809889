import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type InMemoryIndex,
  indexedEntry,
  inMemoryIndex,
} from "../../../test/support/in-memory-index.ts";
import { trials } from "../../../test/support/trials.ts";
import { fuseLikeness, type Likenesses } from "./fuse-likeness.ts";

const WORDS = "boat mast sail rope oar hull paint carpenter harbour storm".split(" ");

const indexOf = (contents: readonly string[]) =>
  inMemoryIndex(
    contents.map((content, turn) =>
      indexedEntry({
        id: `${turn}`,
        sessionId: `${turn % 3}`,
        turn,
        kind: "message",
        content,
        speaker: turn % 2 === 0 ? "Ada" : "Nils",
      }),
    ),
  );

/** The likeness of each passage by its slot. Passages with even slots are the nearest. */
function likenessesOf(likeness: readonly number[], { slots, columns }: InMemoryIndex) {
  const of = (some: readonly number[]) =>
    some.map((slot) => ({ slot, likeness: likeness[slot % likeness.length] ?? 0 }));
  const likenesses: Likenesses = {
    nearest: Array.from({ length: Math.floor(slots / 2) }, (_, half) => 2 * half).filter(
      (slot) => columns.session[slot] !== 0,
    ),
    of,
    most: Math.max(0, ...likeness),
  };
  const fuse = (index: InMemoryIndex, query: Parameters<typeof fuseLikeness>[1], most = 0) => {
    const { near, finish } = fuseLikeness(index, query, {
      ...likenesses,
      most: Math.max(likenesses.most, most),
    });
    return { near, found: finish(of(near)) };
  };
  return { fuse };
}

describe("words and likeness together", () => {
  test("what is left out could not have been a result", () => {
    const contents = fc.array(
      fc
        .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 90 })
        .map((all) => all.join(" ")),
      { minLength: 1, maxLength: 40 },
    );
    fc.assert(
      fc.property(
        contents,
        fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.uniqueArray(fc.constantFrom(...WORDS, "Ada"), { minLength: 1, maxLength: 4 }),
        fc.record({
          limit: fc.integer({ min: 1, max: 12 }),
          minMatch: fc.constantFrom(0, 0.3, 0.6),
          explain: fc.boolean(),
        }),
        (texts, likeness, words, options) => {
          const index = indexOf(texts);
          const query = { ...options, text: words.join(" ") };
          const { fuse } = likenessesOf(likeness, index);
          expect(fuse(index, query).found).toEqual(fuse(index, query, Infinity).found);
        },
      ),
      { numRuns: trials(30, 500) },
    );
  });

  test("vectors that count words find nothing by themselves, and decide between entries whose words say the same", () => {
    const index = indexOf(["The mast of a boat.", "A boat with a mast.", "Nobody rowed today."]);
    const { slots, columns } = index;
    const all = Array.from({ length: slots }, (_, slot) => slot).filter(
      (slot) => columns.session[slot] !== 0,
    );
    const of = (some: readonly number[]) =>
      some.map((slot) => ({ slot, likeness: [0.2, 0.9, 3][all.indexOf(slot)] ?? 0 }));
    const found = (counted: boolean) => {
      const likenesses = { nearest: all, of, most: 3, counted };
      const { near, finish } = fuseLikeness(index, { text: "boat mast", limit: 5 }, likenesses);
      return finish(of(near)).map(({ slot }) => index.entryAt(slot)?.id);
    };
    expect(found(true)).toEqual(["1", "0"]);
    expect(found(false)).toContain("2");
  });

  test("passages are only read that can be among the results", () => {
    const said = ["The mast of the boat.", "The boat has a mast.", "Nobody rowed today."];
    const index = indexOf([...said, ...Array(20).fill("Nobody rowed today.")]);
    const { fuse } = likenessesOf([0.1], index);
    const { near, found } = fuse(index, { text: "boat mast", limit: 2 });
    expect(found.map(({ slot }) => index.entryAt(slot)?.id)).toEqual(["0", "1"]);
    expect(near.map((slot) => index.entryAt(slot)?.id)).toEqual(["0"]);
  });
});
