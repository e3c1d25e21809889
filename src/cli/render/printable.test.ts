import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { oneLine, printable, textWidth } from "./printable.ts";

test("control sequences in a text do not reach the terminal", () => {
  expect(printable("a\u001b[2Jb\u0007\u009bc\td\r\ne\rf")).toBe("a�[2Jb��c\td\ne�f");
});

test("a text is cut to the columns of a terminal", () => {
  expect(oneLine("one\n  two\tthree", 80)).toBe("one two three");
  expect(oneLine("one two three", 8)).toBe("one two…");
  expect(oneLine("会議の記録", 7)).toBe("会議の…");
  expect(textWidth("会議 ok 👍")).toBe(10);
});

test("a text is as wide as its letters together, with any joiner between them", () => {
  const telling = fc.constantFrom(
    ..."a é a\u0301 東 🎉 👍🏽 👩‍👩‍👧 🇩🇪 \u1100 \u1161 가 각 \u0e33 ก क \u094d त \u0600 \uff9e \ud83c".split(
      " ",
    ),
    "\r",
    "\n",
  );
  const texts = fc.array(fc.oneof(telling, fc.string({ unit: "binary", maxLength: 2 })));
  const letters = new Intl.Segmenter();
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join("");
      fc.pre(stripVTControlCharacters(text) === text);
      const widths = Array.from(letters.segment(text), ({ segment }) => textWidth(segment));
      expect(textWidth(text)).toBe(widths.reduce((sum, width) => sum + width, 0));
    }),
    { numRuns: trials(400, 2000) },
  );
});

test("a line that is cut leaves room for the ellipsis, and one that fits is whole", () => {
  expect(oneLine("東京都", 6)).toBe("東京都");
  expect(oneLine("東京都", 5)).toBe("東京…");
  expect(oneLine(`${"a\u0301".repeat(50_000)}`, 4)).toBe("a\u0301a\u0301a\u0301…");
});
