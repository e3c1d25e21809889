import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { editsAllowed, nearWords } from "./near-words.ts";

test("the near words are those that a comparison with each word finds", () => {
  const letters = fc.string({
    unit: fc.constantFrom("a", "b", "c", "ü"),
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(
      letters,
      fc.uniqueArray(letters, { maxLength: 40 }),
      fc.nat(2),
      (word, list, limit) => {
        const found = nearWords(word, limit, list.sort().join("\n"));
        const plainly = list.filter((other) => {
          const edits = editsBetween(word, other);
          const alike = word[0] === other[0] || (word[0] === other[1] && word[1] === other[0]);
          return edits > 0 && edits <= limit && alike;
        });
        expect(new Set(found.map((near) => near.word))).toEqual(new Set(plainly));
        for (const near of found) expect(near.edits).toBe(editsBetween(word, near.word));
      },
    ),
    { numRuns: trials(300, 3000) },
  );
});

/** Letters to add, drop, change or swap, each place once. */
function editsBetween(one: string, other: string): number {
  const known: number[][] = [];
  const at = (a: number, b: number): number => known[a]?.[b] ?? 0;
  for (let a = 0; a <= one.length; a += 1) {
    known.push([]);
    for (let b = 0; b <= other.length; b += 1) {
      const ways = [a + b];
      if (a > 0) ways.push(at(a - 1, b) + 1);
      if (b > 0) ways.push(at(a, b - 1) + 1);
      if (a > 0 && b > 0) ways.push(at(a - 1, b - 1) + (one[a - 1] === other[b - 1] ? 0 : 1));
      if (a > 1 && b > 1 && one[a - 1] === other[b - 2] && one[a - 2] === other[b - 1])
        ways.push(at(a - 2, b - 2) + 1);
      known[a]?.push(a * b === 0 ? a + b : Math.min(...ways));
    }
  }
  return at(one.length, other.length);
}

test.each([
  ["hazlenut", "hazelnut"],
  ["alergi", "allergi"],
  ["kubernetse", "kubernetes"],
  ["ahzelnut", "hazelnut"],
])("%s is near %s", (word, near) => {
  const list = "allergi\nharbour\nhazelnut\nkubernetes\nviking";
  expect(nearWords(word, editsAllowed(word), list)[0]?.word).toBe(near);
});

test.each(["port", "2.14.3", "deadbeef41", "invoice_parser.ts", "東京都庁前", "a".repeat(41)])(
  "%s has to be right",
  (word) => {
    expect(editsAllowed(word)).toBe(0);
  },
);

test("a word that begins with another letter is another word", () => {
  expect(nearWords("hiking", 1, "biking\nviking")).toEqual([]);
});
