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

test("a union has each slot of all lists once, with its largest hits, however long the lists are", () => {
  const list = (most: number) =>
    fc.dictionary(fc.nat(400).map(String), fc.integer({ min: 1, max: 15 }), {
      maxKeys: most,
      size: "max",
    });
  fc.assert(
    fc.property(fc.array(fc.oneof(list(400), list(4)), { maxLength: 6 }), (lists) => {
      const hits = new Map<number, number>();
      for (const [slot, hit] of lists.flatMap((list) => Object.entries(list))) {
        hits.set(Number(slot), Math.max(hit, hits.get(Number(slot)) ?? 0));
      }
      const found = unitePostings(lists.map(postingsOf));
      expect(found).toEqual(postingsOf(Object.fromEntries(hits)));
    }),
  );
});

function postingsOf(list: Readonly<Record<string, number>>): Postings {
  const slots = Uint32Array.from(Object.keys(list), Number).sort();
  return { slots, hits: Uint8Array.from(slots, (slot) => list[slot] ?? 0) };
}
