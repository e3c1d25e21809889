import fc from "fast-check";
import { expect, test } from "vitest";
import type { Run } from "../port/index-store.ts";
import { linksOf, PADS } from "./runs.ts";

/** Runs somewhere, with room between them; all but the last are used up to where the next begins. */
const runs = fc
  .array(fc.record({ size: fc.integer({ min: 1, max: 9 }), left: fc.nat(8), far: fc.nat(50) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((all) => {
    let end = 0;
    return all.map(({ size, left, far }): Run => {
      const first = end + far + PADS;
      end = first + size + PADS;
      return { first, size, used: Math.max(1, size - left) };
    });
  });

test("from any passage of a session, the two before and the two after are a step or a link away", () => {
  fc.assert(
    fc.property(runs, (all) => {
      const links = new Map(linksOf(all).map(({ slot, to }) => [slot, to]));
      const slots = all.flatMap(({ first, used }) =>
        Array.from({ length: used }, (_, index) => first + index),
      );
      const taken = new Set(slots);
      const at = (slot: number) => (taken.has(slot) ? slot : links.get(slot));
      for (const [index, slot] of slots.entries()) {
        for (const away of [-2, -1, 1, 2]) {
          const expected = slots[index + away];
          // The second passage of the last run may be still to come.
          if (expected === undefined) continue;
          expect(at(slot + away)).toBe(expected);
        }
      }
      for (const slot of links.keys()) expect(taken.has(slot)).toBe(false);
    }),
  );
});
