import { expect, test } from "vitest";
import type { Segment } from "../port/index-store.ts";
import { WordWriter } from "./word-block.ts";
import { WordLists } from "./word-blocks.ts";

const SEGMENTS = [["apple", "azure", "bean"], ["amber"], ["arbor", "atlas"]];

function rowsOf(words: readonly string[]) {
  const writer = new WordWriter({ whole: true });
  for (const word of words) writer.add(word, { slots: Uint32Array.of(0), hits: Uint8Array.of(1) });
  return writer.take();
}

test.each([1, 12, 1_000])(
  "the words of a letter are those of all segments, with room for %i characters",
  (charactersMax) => {
    const lists = new WordLists(charactersMax);
    const segments = SEGMENTS.map((_, number) => ({ number })) as unknown as Segment[];
    for (const letter of ["a", "b", "a", "a"]) {
      const asking = lists.of(letter, segments, new Map());
      let step = asking.next();
      while (!step.done) {
        const [{ args }] = step.value as unknown as [{ args: [{ segment: number }[]] }];
        const rows = args[0].map(({ segment }) => rowsOf(SEGMENTS[segment] ?? []));
        step = asking.next([rows] as never);
      }
      const expected = SEGMENTS.map((words) => words.filter((word) => word.startsWith(letter)));
      expect(step.value).toEqual(expected.map((words) => words.join("\n")));
    }
  },
);
