import fc from "fast-check";
import { expect, test } from "vitest";
import { indexedEntry, inMemoryIndex } from "../../../test/support/in-memory-index.ts";
import { trials } from "../../../test/support/trials.ts";
import type { PassageIndex, Postings } from "../passages/passage-index.ts";
import { RANKING } from "./ranking-weights.ts";
import { BLOCK, halvesAt, WordAmounts } from "./word-amounts.ts";
import { BOUND_MAX, passOnSummary, wordSummary } from "./word-summaries.ts";

const WORDS = "oak elm ash fir".split(" ");

/** Most texts have none of the words, so that a word is alone in its block, or in the next one. */
const text = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("We sailed.", "Nothing else?") },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 })
      .chain((words) => fc.constantFrom(words.join(" "), `${words.join(" ")}?`)),
  },
);

const entries = fc.array(
  fc.record({
    content: text,
    sessionId: fc.constantFrom("one", "two", "three"),
    speaker: fc.oneof({ weight: 9, arbitrary: fc.constant("user") }, fc.constant("Ash")),
  }),
  { minLength: 1, maxLength: 150, size: "max" },
);

type Said = Pick<Parameters<typeof indexedEntry>[0], "content" | "sessionId">;

const indexOf = (said: readonly Said[]) =>
  inMemoryIndex(
    said.map((rest, turn) => indexedEntry({ id: `${turn}`, turn, kind: "message", ...rest })),
  );

const copyOf = ({ slots, hits }: Postings): Postings => ({ slots, hits });

/** The most that the word adds, by block. */
function exactBounds(index: PassageIndex, postings: Postings): number[] {
  const word = new WordAmounts(index, RANKING);
  const halves = halvesAt(RANKING);
  return Array.from({ length: Math.ceil(index.slots / BLOCK) }, (_, block) => {
    word.moveTo(block);
    word.read(postings);
    const added = [...word.amounts].map((amount, at) => {
      const slot = block * BLOCK + at;
      if (!index.columns.session[slot]) return 0;
      return amount / (amount + (halves[index.columns.length[slot] ?? 0] ?? 0));
    });
    return Math.max(...added);
  });
}

test("a word adds no more to a passage than the upper bound of its block, also when postings were added", () => {
  fc.assert(
    fc.property(entries, fc.nat(150), (said, count) => {
      const [before, after] = [indexOf(said.slice(0, count)), indexOf(said)];
      const changed = Array.from({ length: after.slots }, (_, slot) => slot).filter(
        (slot) => linkOf(before, slot) !== linkOf(after, slot),
      );
      const links = { ...after.links, version: 1, changedSince: () => changed };
      for (const word of WORDS) {
        const [old, all] = [copyOf(before.postings(word)), copyOf(after.postings(word))];
        const added = {
          slots: all.slots.slice(old.slots.length),
          hits: all.hits.slice(old.hits.length),
        };
        wordSummary(before, old, RANKING);
        passOnSummary(old, all, added);
        const grown = wordSummary({ ...after, links }, all, RANKING);
        const made = wordSummary(after, copyOf(all), RANKING);
        for (const summary of [grown, made]) {
          const upperBounds = new Map(
            [...summary.blocks].map((block, at) => [block, summary.upperBounds[at] ?? 0]),
          );
          for (const [block, exact] of exactBounds(after, all).entries()) {
            expect((upperBounds.get(block) ?? 0) / BOUND_MAX).toBeGreaterThanOrEqual(exact);
          }
        }
        expect(Object.groupBy(grown.blocks, String)).toEqual(Object.groupBy(made.blocks, String));
        expect(countsOf(grown)).toEqual(countsOf(made));
      }
    }),
    { numRuns: trials(60, 200) },
  );
});

test("how often sessions say a word is counted for each index by itself, however many sessions another has", () => {
  const ofSessions = (count: number) =>
    indexOf(
      Array.from({ length: 3 * count }, (_, at) => ({
        content: at % 2 === 0 ? "An oak, an oak." : "An oak.",
        sessionId: `session ${at % count}`,
      })),
    );
  const counts = (index: PassageIndex) =>
    [...wordSummary(index, copyOf(index.postings("oak")), RANKING).said].sort();
  const [few, many] = [ofSessions(2), ofSessions(40)];
  const alone = counts(few);
  expect(alone).toEqual([3, 6]);
  expect(counts(many)).toHaveLength(40);
  expect(counts(few)).toEqual(alone);
});

function linkOf({ columns: { session, entry } }: PassageIndex, slot: number) {
  return session[slot] ? 0 : (entry[slot] ?? 0);
}

function countsOf({ sessions, said }: ReturnType<typeof wordSummary>) {
  return new Map([...sessions].map((session, at) => [session, said[at]]));
}
