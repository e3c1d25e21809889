import fc from "fast-check";
import { expect, test } from "vitest";
import { RowCache } from "./code-table.ts";

test("a cache gives the row that a slot was last given, or nothing", () => {
  const step = fc.record({
    slot: fc.integer({ min: 0, max: 30 }),
    byte: fc.nat(255),
    forget: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      // Seven places for thirty slots.
      const cache = new RowCache(3, 21);
      const given = new Map<number, number>();
      for (const { slot, byte, forget } of steps) {
        if (forget) {
          cache.forget(slot, 4);
          for (let at = slot; at < slot + 4; at += 1) given.delete(at);
        } else {
          cache.set(slot, new Uint8Array(3).fill(byte));
          given.set(slot, byte);
          expect([...(cache.get(slot) ?? [])]).toEqual([byte, byte, byte]);
        }
        for (let at = 0; at <= 30; at += 1) {
          const row = cache.get(at);
          if (row) expect([...row]).toEqual(Array(3).fill(given.get(at)));
        }
      }
    }),
  );
});
