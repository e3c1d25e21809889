import { expect, test } from "vitest";
import { decisionsIn } from "./session-facts.ts";

test.each([
  ["We will use a perfect hash instead of a trie.", undefined],
  ["We settled on pnpm. It is faster in CI.", "We settled on pnpm. It is faster in CI."],
  [
    "Done. I'll keep the old numbering because links point to it.",
    "I'll keep the old numbering because links point to it.",
  ],
  ["- Decided: the table stays.", undefined],
  ["Let's go with the table.", undefined],
  ["I'm going to use spawn instead of exec, because exec cuts the output.", undefined],
])("a decision is kept with its reason: %s", (text, found = text) => {
  expect(decisionsIn(text)).toEqual([found]);
});

test.each([
  "Now let me update the executeBash method.",
  "Now let me update the executeBash method to use spawn instead of exec.",
  "OK, great. I'll rewrite the parser rather than patch it.",
  "Next, I need to look at the tests instead of the code.",
  "Updating the method to return a list instead of a string.",
  "Should we use a table instead of a switch?",
  "> We decided to drop it all.",
])("a step that is announced, a question and a quote are none: %s", (text) => {
  expect(decisionsIn(text)).toEqual([]);
});

test("a hostile text takes no long", () => {
  for (const piece of ["ok, ", "we use ", ". ", "now now ", "instead of "]) {
    expect(decisionsIn(piece.repeat(100_000)).length).toBeGreaterThanOrEqual(0);
  }
});
