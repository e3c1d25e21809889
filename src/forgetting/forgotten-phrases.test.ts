import fc from "fast-check";
import { expect, test } from "vitest";
import { ANY_CHARACTER } from "../../test/support/any-character.ts";
import { trials } from "../../test/support/trials.ts";
import { ForgottenPhrases, wordsOf } from "./forgotten-phrases.ts";

const texts = (...all: string[]) => new ForgottenPhrases(all);
const PIN = 'My PIN is "4711",\nnever tell it to the staff of the bank.';

test("a text is removed from another, and the rest stays as it is", () => {
  expect(texts(PIN).removeFrom(`He said: ${PIN} (then left)`, "whole")).toBe(
    "He said: [forgotten]. (then left)",
  );
  expect(texts(PIN).removeFrom("He left his PIN at home.", "part")).toBe(
    "He left his PIN at home.",
  );
});

test("a text is found as JSON has it, however often it was put into JSON", () => {
  const once = JSON.stringify({ content: PIN, score: 1 });
  const twice = JSON.stringify([once]);
  expect(texts(PIN).removeFrom(once, "whole")).toBe('{"content":"[forgotten].","score":1}');
  expect(texts(PIN).removeFrom(twice, "whole")).not.toContain("4711");
});

test("a copy of a part of the text is removed", () => {
  const summary = "- first asked: My PIN is 4711, never tell it to…\n- rain";
  expect(texts(PIN).removeFrom(summary, "part")).toBe("- first asked: [forgotten]…\n- rain");
  expect(texts(PIN).removeFrom(summary, "whole")).toBe(summary);
});

test("a common phrase is forgotten only where it stands alone", () => {
  const said = texts("Yes!", "go on", "hunter2");
  expect(said.removeFrom("yes", "part")).toBe("yes");
  expect(said.removeFrom("Yes", "whole")).toBe("[forgotten]");
  expect(said.removeFrom("Yes, we go on.", "part")).toBe("Yes, we go on.");
  expect(said.removeFrom("the password is hunter2.", "whole")).toBe("the password is [forgotten].");
});

test("a number among the names is found in any groups", () => {
  const said = new ForgottenPhrases([], ["4821193211"]);
  expect(said.removeFrom("send 48 21 19-32.11 to 4821 193 211, not 4821 193 212", "whole")).toBe(
    "send [forgotten] to [forgotten], not 4821 193 212",
  );
});

test.each([
  [
    "UTF-16 in the other order",
    (text: string) => Buffer.from(text, "utf16le").swap16().toString("base64"),
  ],
  ["signs of a direction", (text: string) => [...text].join("\u2068")],
  ["tags", (text: string) => [...text].join("\u{e0041}")],
  [
    "bold letters",
    (text: string) =>
      text.replace(/[a-z]/g, (one) => String.fromCodePoint(0x1d3b9 + one.charCodeAt(0))),
  ],
  [
    "circles",
    (text: string) =>
      text.replace(/[a-z]/g, (one) => String.fromCodePoint(0x246f + one.charCodeAt(0))),
  ],
])("a copy with %s is a copy", (_, written) => {
  expect(texts(PIN).removeFrom(`He said ${written(PIN)}`, "whole")).not.toContain(
    written(PIN).slice(4, 40),
  );
});

test("several texts that touch leave one marker", () => {
  const said = texts("the red kite tore", "red kite tore the sail of Ann");
  expect(said.removeFrom("Then the red kite tore the sail of Ann.", "whole")).toBe(
    "Then [forgotten].",
  );
});

test("a script without spaces is read character by character", () => {
  const said = texts("彼女は東京都に住んでいますと言った");
  expect(said.removeFrom("要約: 彼女は東京都に住んで…", "part")).toBe("要約: [forgotten]…");
  expect(said.removeFrom("東京都の天気", "part")).toBe("東京都の天気");
});

test("a text is in another when all of it is", () => {
  expect(texts(PIN).isIn(`> ${PIN.replace("\n", " ")}`)).toBe(true);
  expect(texts(PIN).isIn("My PIN is 4711, never tell it to the staff")).toBe(false);
  expect(texts("?!").isIn("?!")).toBe(false);
});

test("the words are those that one pattern finds", () => {
  const unspaced =
    "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
  const pattern = new RegExp(
    `(?<!\\\\)\\\\+[bfnrt]|[${unspaced}]|[[\\p{L}\\p{M}\\p{N}]--[${unspaced}]]+`,
    "gv",
  );
  const telling = fc.constantFrom(
    ..."\\\\\\nbfrta1 .東あ〇。々é\u0301ส\ud800\udc00".split(""),
    "\u{20000}",
    "𝐀",
  );
  const texts = fc.oneof(
    fc.array(telling, { maxLength: 30 }).map((units) => units.join("")),
    fc.string({ unit: ANY_CHARACTER, maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const plainly = Array.from(text.matchAll(pattern), ({ 0: word, index }) => ({
        word,
        start: index,
        end: index + word.length,
      }));
      expect(wordsOf(text)).toEqual(plainly.filter(({ word }) => !word.startsWith("\\")));
    }),
    { numRuns: trials(25, 1000) },
  );
});

test("the removed text is the text that a comparison of words finds", () => {
  const word = fc.constantFrom(..."a b c d1 東 京 x, \\n 4711".split(" "));
  const forgotten = fc.array(fc.array(word, { maxLength: 14 }), { maxLength: 4 });
  const text = fc.array(fc.oneof(word, fc.constant("other")), { maxLength: 30 });
  const cases = fc.tuple(forgotten, text, text, fc.nat({ max: 4 }));
  fc.assert(
    fc.property(cases, ([forgotten, before, after, which]) => {
      const texts = forgotten.map((words) => words.join(" "));
      const own = [...before, ...(forgotten[which] ?? []), ...after].join(" ");
      for (const part of ["whole", "part"] as const) {
        expect(new ForgottenPhrases(texts).removeFrom(own, part)).toBe(
          plainlyWithout(texts, own, part),
        );
      }
    }),
    { numRuns: trials(25, 1000) },
  );
});

function plainlyWithout(texts: readonly string[], text: string, of: "whole" | "part"): string {
  const words = wordsOf(text);
  const known = texts.map((one) => wordsOf(one).map(({ word }) => word));
  const same = (at: number, some: readonly string[]) =>
    some.length > 0 && some.every((word, index) => words[at + index]?.word === word);
  if (known.some((some) => some.length === words.length && same(0, some))) return "[forgotten]";
  const counted = known.filter((some) => {
    const letters = some.join("");
    return some.length < 3 ? /\d/.test(letters) && letters.length >= 4 : letters.length >= 8;
  });
  const parts = counted.flatMap((some) => some.slice(7).map((_, at) => some.slice(at, at + 8)));
  const found = words.flatMap(({ start }, at) =>
    [...counted, ...(of === "part" ? parts : [])]
      .filter((some) => same(at, some))
      .map((some) => ({ start, end: words[at + some.length - 1]?.end ?? start })),
  );
  const goes = Array.from(text, () => false);
  for (const { start, end } of found) goes.fill(true, start, end);
  // Ranges that only touch are one.
  return Array.from(text, (character, at) =>
    goes[at] ? (goes[at - 1] ? "" : "[forgotten]") : character,
  ).join("");
}
