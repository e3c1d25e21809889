import type { IndexedPassage } from "../../search/indexed-passages.ts";
import type { Link } from "../entries/runs.ts";
import { damagedIndex } from "../head.ts";
import type { ColumnBlockRow } from "../index-store.ts";
import {
  copySlot,
  emptySlot,
  newColumns,
  packColumns,
  type SlotColumns,
  unpackColumns,
} from "./column-format.ts";

/**
 * The columns of slots are kept in blocks of 512 slots. Those of the newest entries are records next to
 * the words of their segment, until small segments become a larger one.
 *
 * An empty slot has no session. If a link begins there, its `entry` is the slot that it stands for.
 */
export const BLOCK_SLOTS = 512;

/** Slots in any order, with their columns. */
export interface SlotRecords {
  readonly slots: Uint32Array;
  /** By position in `slots`. */
  readonly columns: SlotColumns;
}

/** What is the same in all slots of an entry. */
export interface EntryColumns {
  readonly session: number;
  readonly role: number;
  readonly speaker: number;
  readonly kind: number;
  readonly time: number;
}

/** The columns of entries, and of the empty slots where links begin. */
export function recordsOf(
  entries: readonly {
    readonly slot: number;
    readonly passages: readonly IndexedPassage[];
    readonly columns: EntryColumns;
  }[],
  links: readonly Link[],
): SlotRecords {
  const count = entries.reduce((sum, { passages }) => sum + passages.length, links.length);
  const slots = new Uint32Array(count);
  const columns = newColumns(count);
  let at = 0;
  for (const { slot, passages, columns: own } of entries) {
    for (const [index, { length, flags }] of passages.entries()) {
      slots[at] = slot + index;
      columns.entry[at] = slot;
      columns.length[at] = length;
      columns.session[at] = own.session;
      columns.role[at] = own.role;
      columns.speaker[at] = own.speaker;
      columns.kind[at] = own.kind;
      columns.time[at] = own.time;
      columns.flags[at] = flags;
      at += 1;
    }
  }
  for (const { slot, to } of links) {
    slots[at] = slot;
    columns.entry[at] = to;
    at += 1;
  }
  return { slots, columns };
}

export function packRecords({ slots, columns }: SlotRecords): Uint8Array | null {
  if (slots.length === 0) return null;
  const packed = packColumns(columns, 0, slots.length);
  const bytes = new Uint8Array(4 + 4 * slots.length + packed.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, slots.length, true);
  for (const [index, slot] of slots.entries()) view.setUint32(4 + 4 * index, slot, true);
  bytes.set(packed, 4 + 4 * slots.length);
  return bytes;
}

export function unpackRecords(bytes: Uint8Array | null): SlotRecords {
  if (bytes === null) return { slots: new Uint32Array(), columns: newColumns(0) };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.length < 4 ? 0 : view.getUint32(0, true);
  if (count === 0 || 4 + 4 * count > bytes.length) throw damagedIndex("columns");
  const slots = new Uint32Array(count);
  for (const index of slots.keys()) slots[index] = view.getUint32(4 + 4 * index, true);
  const columns = newColumns(slots.length);
  const end = unpackColumns(bytes, columns, 0, slots.length, 4 + 4 * slots.length);
  if (end !== bytes.length) throw damagedIndex("columns");
  return { slots, columns };
}

/** All records; for a slot that several have, those given last. */
export function joinRecords(all: readonly SlotRecords[]): SlotRecords {
  const places = new Map<number, readonly [SlotRecords, number]>();
  for (const records of all) {
    for (const [at, slot] of records.slots.entries()) places.set(slot, [records, at]);
  }
  const columns = newColumns(places.size);
  for (const [index, [from, at]] of [...places.values()].entries()) {
    copySlot(from.columns, at, columns, index);
  }
  return { slots: Uint32Array.from(places.keys()), columns };
}

/** The blocks that slots are in, each once. */
export function blocksOf(...slots: readonly ArrayLike<number>[]): number[] {
  const blocks = new Set<number>();
  for (const some of slots) {
    for (let at = 0; at < some.length; at += 1) {
      blocks.add(Math.floor((some[at] as number) / BLOCK_SLOTS));
    }
  }
  return [...blocks];
}

/** The column blocks of a generation as they are after some slots get records and others are emptied. */
export function changedBlocks(
  known: readonly ColumnBlockRow[],
  generation: number,
  changed: number,
  records: SlotRecords,
  emptied: readonly number[] = [],
): ColumnBlockRow[] {
  const blocks = new Map<number, SlotColumns>();
  for (const { block, data } of known) {
    const columns = newColumns(BLOCK_SLOTS);
    const end = unpackColumns(data, columns, 0, BLOCK_SLOTS);
    if (end !== data.length) throw damagedIndex("columns");
    blocks.set(block, columns);
  }
  for (const [at, slot] of records.slots.entries()) {
    const block = Math.floor(slot / BLOCK_SLOTS);
    const columns = blocks.get(block) ?? newColumns(BLOCK_SLOTS);
    blocks.set(block, columns);
    copySlot(records.columns, at, columns, slot % BLOCK_SLOTS);
  }
  for (const slot of emptied) {
    const columns = blocks.get(Math.floor(slot / BLOCK_SLOTS));
    if (columns) emptySlot(columns, slot % BLOCK_SLOTS);
  }
  return [...blocks].map(([block, columns]) => ({
    generation,
    block,
    changed,
    data: packColumns(columns, 0, BLOCK_SLOTS),
  }));
}
