import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../../test/support/any-character.ts";
import { trials } from "../../../test/support/trials.ts";
import { fitLines, oneLine, printable, textWidth, withOwnControls, wrapText } from "./printable.ts";

test("control sequences in a text do not reach the terminal", () => {
  expect(printable("a\u001b[2Jb\u0007\u009bc\td\r\ne\rf")).toBe("a�[2Jb��c\td\ne�f");
});

test("of what reaches a terminal unchecked, only rkat's colours and its own line stay", () => {
  const own = "\r\u001b[2K\u001b[31mred\u001b[39m\r\n\tend\n";
  expect(withOwnControls(own)).toBe(own);
  expect(withOwnControls("y\r\u001b[2Kn")).toBe("y��[2Kn");
  expect(withOwnControls("\u001b[8mhidden\u001b[0m \u001b[30mblack")).toBe(
    "�[8mhidden�[0m �[30mblack",
  );
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
  const texts = fc.array(fc.oneof(telling, fc.string({ unit: ANY_CHARACTER, maxLength: 2 })));
  const letters = new Intl.Segmenter();
  fc.assert(
    fc.property(texts, (parts) => {
      const text = parts.join("");
      fc.pre(stripVTControlCharacters(text) === text);
      const widths = Array.from(letters.segment(text), ({ segment }) => textWidth(segment));
      expect(textWidth(text)).toBe(widths.reduce((sum, width) => sum + width, 0));
    }),
    { numRuns: trials(150, 2000) },
  );
});

test("a line that is cut leaves room for the ellipsis, and one that fits is whole", () => {
  expect(oneLine("東京都", 6)).toBe("東京都");
  expect(oneLine("東京都", 5)).toBe("東京…");
  expect(oneLine(`${"a\u0301".repeat(50_000)}`, 4)).toBe("a\u0301a\u0301a\u0301…");
});

test("a long line is broken between words, and a command stays in one piece", () => {
  const hint =
    "hint: Ask for an export of your data, and name the file: `rkat import chatgpt ~/Downloads/export.zip`.";
  expect(wrapText(`error: No file.\n${hint}\n`, 60)).toBe(
    "error: No file.\nhint: Ask for an export of your data, and name the file:\n  `rkat import chatgpt ~/Downloads/export.zip`.\n",
  );
  expect(wrapText(hint, 200)).toBe(hint);
});

test("the lines of an indented line are indented, and a word that is too long stays whole", () => {
  const path = `/${"long".repeat(10)}`;
  expect(wrapText(`  one two three ${path}: no`, 12)).toBe(
    `  one two\n    three\n    ${path}:\n    no`,
  );
});

test("spaces between columns stay", () => {
  expect(wrapText("on   session   one two", 18)).toBe("on   session   one\n  two");
});

test("colours take no room, and an odd backtick is a letter", () => {
  const line = `\u001b[36mhint:\u001b[39m say \`rkat`;
  expect(wrapText(line, 15)).toBe(line);
  expect(wrapText("one ` two three", 9)).toBe("one ` two\n  three");
});

const ID = "claude-code:0d5c2f6e-3b1a-4a54-9d5f-6f1f2a7b8c9d:7";

test("a long line is broken between its parts, and an id stays in one piece", () => {
  const line = `0.85  turn 1 · user · 2026-11-02T09:00:24.000Z · id ${ID} · in ~/.rkat`;
  expect(fitLines(`${line}\n  text\n`, 80)).toBe(
    `0.85  turn 1 · user · 2026-11-02T09:00:24.000Z ·\n    id ${ID} · in ~/.rkat\n  text\n`,
  );
  expect(fitLines(line, 200)).toBe(line);
  const title = `"${"Why did build 1042 fail? ".repeat(2).trim()}"`;
  expect(fitLines(`  → codex ${title} in /home/ada/app on main`, 80)).toBe(
    `  → codex ${title}\n    in /home/ada/app on main`,
  );
  const command = `  → cd -- /home/ada/projects/shop && claude --resume ${ID}`;
  expect(fitLines(command, 80)).toBe(
    `  → cd -- /home/ada/projects/shop &&\n    claude --resume ${ID}`,
  );
  expect(fitLines("no-place-to-break".repeat(9), 20)).toBe("no-place-to-break".repeat(9));
});

test("colours take no room", () => {
  const dim = (text: string) => `\u001b[2m${text}\u001b[22m`;
  const line = `${dim("turn 1")} · ${dim("user")} · ${dim("a".repeat(60))}`;
  expect(fitLines(line, 80)).toBe(line);
});
