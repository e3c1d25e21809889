import type { MemoryFilter } from "../core/memory-store.ts";
import type { DetailColumns, PassageIndex } from "./passage-index.ts";
import { slotTests } from "./slot-filter.ts";

/**
 * The slots that a query is about, a bit each, the lowest bit first; `undefined` when it is
 * about all of them. One test after the other, since most slots fail the first.
 */
export function wantedSlots(index: PassageIndex, filter: MemoryFilter): Uint32Array | undefined {
  let all: DetailColumns | undefined;
  const tests = slotTests(index, filter, () => {
    all ??= index.details(0, index.slots);
    return all;
  });
  if (tests.length === 0) return undefined;
  const wanted = new Uint32Array(Math.ceil(index.slots / 32)).fill(0xffffffff);
  for (const test of tests) {
    for (let word = 0; word < wanted.length; word += 1) {
      let left = wanted[word] ?? 0;
      for (let rest = left; rest !== 0; rest &= rest - 1) {
        const bit = rest & -rest;
        if (!test(32 * word + 31 - Math.clz32(bit))) left &= ~bit;
      }
      wanted[word] = left;
    }
  }
  return wanted;
}
