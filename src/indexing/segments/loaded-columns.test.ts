import fc from "fast-check";
import { expect, test } from "vitest";
import { blockOf } from "../score/word-amounts.ts";
import { BLOCK_SLOTS, COLUMNS, copySlot, newColumns, packColumns } from "./columns.ts";
import { LoadedColumns } from "./loaded-columns.ts";

const BLOCKS = 3;
const SLOTS = BLOCKS * BLOCK_SLOTS;

const slot = fc.nat(SLOTS - 1);
const step = fc.oneof(
  fc.record({
    type: fc.constant("records" as const),
    slots: fc.uniqueArray(slot),
    value: fc.nat(),
  }),
  fc.record({ type: fc.constant("block" as const), block: fc.nat(BLOCKS - 1) }),
  fc.record({ type: fc.constant("ask" as const), slot }),
  fc.record({ type: fc.constant("session" as const), session: fc.nat(3) }),
);

test("a block that cannot be read is an error, whichever of its columns is damaged", () => {
  const packed = packColumns(newColumns(BLOCK_SLOTS), 0, BLOCK_SLOTS);
  for (let length = 0; length < packed.length; length += 1) {
    const room = new LoadedColumns();
    room.clear(SLOTS);
    expect(() => room.putBlock(0, packed.subarray(0, length))).toThrow(
      "columns of it cannot be read",
    );
  }
});

test("whenever details or a session's blocks are asked for, they are what was last said of the slots", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const said = newColumns(SLOTS);
      const pack = (block: number) => packColumns(said, block * BLOCK_SLOTS, BLOCK_SLOTS);
      const room = new LoadedColumns();
      room.clear(SLOTS);
      for (let block = 0; block < BLOCKS; block += 1) room.putBlock(block, pack(block));
      for (const step of steps) {
        if (step.type === "records") {
          // Records of a small segment: no block has them yet.
          const columns = newColumns(step.slots.length);
          for (const name of COLUMNS) columns[name].fill(step.value % 256);
          columns.session.fill(step.value % 4);
          for (const [at, slot] of step.slots.entries()) copySlot(columns, at, said, slot);
          room.putRecords({ slots: Uint32Array.from(step.slots), columns });
        } else if (step.type === "block") {
          room.putBlock(step.block, pack(step.block));
        } else if (step.type === "session") {
          room.upTo(SLOTS);
          const slots = [...said.session.keys()].filter((at) => said.session[at] === step.session);
          const blocks = [...room.blocksOf(step.session)];
          expect(blocks).toEqual(expect.arrayContaining(slots.map(blockOf)));
          expect(blocks).toEqual([...new Set(blocks)].sort((one, other) => one - other));
        } else {
          const { time, role, speaker, kind } = room.details(step.slot, step.slot + 1);
          expect([time, role, speaker, kind].map((column) => column[step.slot])).toEqual(
            [said.time, said.role, said.speaker, said.kind].map((column) => column[step.slot]),
          );
        }
      }
      const { entry, length, session, flags } = room.upTo(SLOTS);
      expect({ entry, length, session, flags }).toEqual({
        entry: said.entry,
        length: said.length,
        session: said.session,
        flags: said.flags,
      });
      const details = room.details(0, SLOTS);
      for (const name of ["role", "speaker", "kind", "time"] as const) {
        expect(details[name]).toEqual(said[name]);
      }
    }),
  );
});
