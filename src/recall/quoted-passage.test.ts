import { expect, test } from "vitest";
import { summaryMessage } from "../core/message.ts";
import { shownBy } from "./quoted-passage.ts";

test("what a summary quotes but for a greeting is shown, and what it has half of is not", () => {
  const isShown = shownBy([
    summaryMessage(
      "They talked.\n• The cluster has Node 20 only. … Never add a dependency.\n• Hello.",
    ),
  ]);
  expect(isShown({ content: "Hi! The cluster has Node 20 only.\nNever add a dependency." })).toBe(
    true,
  );
  expect(isShown({ content: "The cluster has Node 20 only. The pool has Node 22." })).toBe(false);
  expect(isShown({ content: "Ok. Yes." })).toBe(false);
});
