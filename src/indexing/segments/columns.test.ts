import fc from "fast-check";
import { expect, test } from "vitest";
import {
  BLOCK_SLOTS,
  COLUMNS,
  joinRecords,
  newColumns,
  packColumns,
  packRecords,
  type SlotColumns,
  unpackColumns,
  unpackRecords,
} from "./columns.ts";

const number = fc.oneof(fc.nat(3), fc.nat(0xffff_ffff));
const slotValues = fc.record({
  entry: number,
  length: fc.nat(255),
  session: number,
  role: number,
  speaker: number,
  kind: fc.nat(4),
  time: fc.oneof(fc.constant(Number.NaN), fc.double(), fc.nat(2 ** 41)),
  flags: fc.nat(3),
});

function columnsOf(values: readonly Record<keyof SlotColumns, number>[]): SlotColumns {
  const columns = newColumns(values.length);
  for (const [slot, value] of values.entries()) {
    for (const name of COLUMNS) columns[name][slot] = value[name];
  }
  return columns;
}

test("columns come back as they were, and touch no others", () => {
  const blocks = fc.array(fc.option(slotValues, { freq: 2 }), { maxLength: BLOCK_SLOTS });
  fc.assert(
    fc.property(blocks, fc.nat(3), (some, before) => {
      const columns = columnsOf(
        Array.from({ length: BLOCK_SLOTS }, (_, slot) => some[slot] ?? EMPTY),
      );
      const found = newColumns((before + 2) * BLOCK_SLOTS);
      for (const name of COLUMNS) found[name].fill(7);
      const first = before * BLOCK_SLOTS;
      unpackColumns(packColumns(columns, 0, BLOCK_SLOTS), found, first, BLOCK_SLOTS);
      for (const name of COLUMNS) {
        expect(found[name].slice(first, first + BLOCK_SLOTS)).toEqual(columns[name]);
        const others = [...found[name].slice(0, first), ...found[name].slice(first + BLOCK_SLOTS)];
        expect(others.every((value) => value === 7)).toBe(true);
      }
    }),
  );
});

const EMPTY = { entry: 0, length: 0, session: 0, role: 0, speaker: 0, kind: 0, time: 0, flags: 0 };

test("records come back as they were; of two for a slot, the later counts", () => {
  const records = fc
    .uniqueArray(fc.tuple(number, slotValues), { maxLength: 30, selector: ([slot]) => slot })
    .map((all) => ({
      slots: Uint32Array.from(all, ([slot]) => slot),
      columns: columnsOf(all.map(([, value]) => value)),
    }));
  fc.assert(
    fc.property(records, records, (one, other) => {
      expect(unpackRecords(packRecords(one))).toEqual(one);
      const joined = joinRecords([one, other]);
      const slots = new Set([...one.slots, ...other.slots]);
      expect(new Set(joined.slots)).toEqual(slots);
      for (const [at, slot] of joined.slots.entries()) {
        const from = other.slots.includes(slot) ? other : one;
        const place = from.slots.indexOf(slot);
        for (const name of COLUMNS)
          expect(joined.columns[name][at]).toBe(from.columns[name][place]);
      }
    }),
  );
});
