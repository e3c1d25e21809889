import fc from "fast-check";
import { expect, test } from "vitest";
import { type Postings, postingsBesides, unitePostings, withPostings } from "./passage-index.ts";

/** A slot always has the same hits. */
const lists = fc
  .uniqueArray(fc.nat(300))
  .map((slots) => Uint32Array.from(slots).sort())
  .map((slots): Postings => ({ slots, hits: Uint8Array.from(slots, (slot) => 1 + (slot % 15)) }));

test("a list with what is found besides has all of both, each once", () => {
  fc.assert(
    fc.property(lists, lists, (known, found) => {
      const added = postingsBesides(known, found);
      expect(Array.from(added.slots)).toEqual(
        Array.from(found.slots).filter((slot) => !known.slots.includes(slot)),
      );
      expect(withPostings(known, added)).toEqual(unitePostings([known, found]));
    }),
  );
});
