import fc from "fast-check";
import { expect, test } from "vitest";
import { trials } from "../../../test/support/trials.ts";
import { PackedTexts, RowsById } from "./line-rows.ts";

const ids = fc.array(fc.oneof(fc.uuid(), fc.string({ unit: "grapheme" })), { maxLength: 2000 });

test("an id has the row that was set last", () => {
  fc.assert(
    fc.property(ids, ids, (some, others) => {
      const rows = new RowsById();
      const expected = new Map<string, number>();
      [...some, ...some.slice(0, 10)].forEach((id, row) => {
        rows.set(id, row);
        expected.set(id, row);
      });
      for (const id of [...some, ...others]) expect(rows.get(id)).toBe(expected.get(id));
    }),
    { numRuns: trials(15, 50) },
  );
});

test("a text has the number that it was given", () => {
  fc.assert(
    fc.property(ids, (given) => {
      const texts = new PackedTexts();
      expect(given.map((text) => texts.add(text))).toEqual(given.map((_, number) => number));
      expect(given.map((_, number) => texts.get(number))).toEqual(given);
      expect([texts.get(-1), texts.get(given.length)]).toEqual([undefined, undefined]);
    }),
    { numRuns: trials(15, 50) },
  );
});
