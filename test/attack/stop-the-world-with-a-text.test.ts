import * as fc from "fast-check";
import { expect, test } from "vitest";
import { HOSTILE_TEXTS, hostileTexts } from "../../bench/hostile/hostile-texts.ts";
import { policyOf } from "../../src/agent/tool-policy.ts";
import { trials } from "../support/trials.ts";

/** A reader whose time grows with the square of the text takes minutes for one of these. */
const CHARACTERS = 200_000;

/** Marks that the engine sorts when it normalises them. They are two kinds, and the second stands between letters that folding takes away. */
const MARKS = [
  `a${"\u0301".repeat(CHARACTERS / 2)}${"\u0316".repeat(CHARACTERS / 2)}`,
  `ก${`${"\u0e48".repeat(25)}\u0640${"\u0e38".repeat(24)}\u0640`.repeat(CHARACTERS / 51)}`,
];

for (const [kind, { read, pieces }] of Object.entries(HOSTILE_TEXTS)) {
  test(`no text makes the reader of ${kind} stop the world`, () => {
    for (const text of [...hostileTexts(pieces, trials(3, 400), CHARACTERS), ...MARKS]) read(text);
  });
}

test("a policy's pattern means the same as a regular expression, without its backtracking", () => {
  const characters = fc.constantFrom("a", "b", "*", ".");
  const pattern = fc.string({ unit: characters, maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 8 });
  fc.assert(
    fc.property(pattern, name, (some, given) => {
      fc.pre(some.includes("*") && some !== "*");
      const expression = new RegExp(`^${some.replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
      const expected = expression.test(given) ? "deny" : "allow";
      expect(policyOf({ name: given, builtin: false }, { [some]: "deny" })).toBe(expected);
    }),
    { numRuns: trials(60, 20_000) },
  );
});
