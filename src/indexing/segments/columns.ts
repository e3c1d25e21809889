import type { IndexedPassage } from "../passages/indexed-passages.ts";
import type { DetailColumns, PassageColumns } from "../passages/passage-index.ts";
import { damagedIndex } from "../port/asking.ts";
import type { ColumnBlockRow } from "../port/index-store.ts";
import type { Link } from "./runs.ts";

/** All columns of slots. */
export type SlotColumns = PassageColumns & DetailColumns;

type ColumnKind = Uint8ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor;

/** The columns in the order in which they are packed; details are next to each other. */
const KINDS: Readonly<Record<keyof SlotColumns, ColumnKind>> = {
  entry: Uint32Array,
  length: Uint8Array,
  session: Uint32Array,
  role: Uint32Array,
  speaker: Uint32Array,
  kind: Uint8Array,
  time: Float64Array,
  flags: Uint8Array,
};

export const COLUMNS = Object.keys(KINDS) as (keyof SlotColumns)[];

export function newColumns(slots: number): SlotColumns {
  return mapColumns((name) => new KINDS[name](slots) as never);
}

export function grownColumns(columns: SlotColumns, slots: number): SlotColumns {
  const larger = newColumns(slots);
  for (const name of COLUMNS) larger[name].set(columns[name]);
  return larger;
}

function mapColumns(of: (name: keyof SlotColumns) => never): SlotColumns {
  return Object.fromEntries(COLUMNS.map((name) => [name, of(name)])) as unknown as SlotColumns;
}

/** Copies all columns of one slot. */
export function copySlot(from: SlotColumns, at: number, to: SlotColumns, slot: number): void {
  for (const name of COLUMNS) to[name][slot] = from[name][at] as number;
}

/** Copies the slots from `start` up to `end` to `first` and the slots behind it. */
export function copySlots(
  from: SlotColumns,
  [start, end]: readonly [number, number],
  to: SlotColumns,
  first: number,
): void {
  for (const name of COLUMNS) to[name].set(from[name].subarray(start, end), first);
}

function emptySlot(columns: SlotColumns, slot: number): void {
  for (const name of COLUMNS) columns[name][slot] = 0;
}

/**
 * Packs some slots: for each column how many bytes a number takes, and the numbers. Width 0 is one number
 * that is the same in all slots.
 */
export function packColumns(columns: SlotColumns, first: number, slots: number): Uint8Array {
  const parts = COLUMNS.flatMap((name) => {
    const values = columns[name].subarray(first, first + slots);
    const width = widthOf(values);
    const packed = width === 0 ? values.slice(0, 1) : new WIDTHS[width](values);
    return [Uint8Array.of(width), bytesOf(packed)];
  });
  return Buffer.concat(parts);
}

/** Copies packed columns into those that `into` has, and returns where the packed ones end. */
export function unpackColumns(
  packed: Uint8Array,
  into: Partial<SlotColumns>,
  first: number,
  slots: number,
  from = 0,
  names: readonly (keyof SlotColumns)[] = COLUMNS,
): number {
  let at = from;
  for (const name of names) {
    const width = packed[at] as Width;
    const kind = width === 0 ? KINDS[name] : fitting(KINDS[name], width);
    const end = at + 1 + (kind?.BYTES_PER_ELEMENT ?? 0) * (width === 0 ? 1 : slots);
    if (!kind || end > packed.length) throw damagedIndex("columns");
    const column = into[name];
    if (column) {
      const bytes = packed.subarray(at + 1, end);
      const values = width === 1 ? bytes : numbersIn(bytes, kind);
      if (width === 0) column.fill(values[0] as number, first, first + slots);
      else column.set(values, first);
    }
    at = end;
  }
  return at;
}

/** The numbers in some bytes, until the next call. They are copied, since they have to be aligned. */
function numbersIn(
  bytes: Uint8Array,
  kind: ColumnKind | Uint16ArrayConstructor,
): Uint8Array | Uint16Array | Uint32Array | Float64Array {
  if (bytes.length > ALIGNED.length) return new kind(new Uint8Array(bytes).buffer);
  ALIGNED.set(bytes);
  return new kind(ALIGNED.buffer, 0, bytes.length / kind.BYTES_PER_ELEMENT);
}

/** Bytes of a number; 0 stands for one number of the column's own kind. */
type Width = 0 | keyof typeof WIDTHS;
const WIDTHS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array } as const;

/** The array that reads numbers of this width; `undefined` when the column cannot have them. */
function fitting(column: ColumnKind, width: Exclude<Width, 0>) {
  const isWhole = column !== Float64Array;
  return width === 8
    ? isWhole
      ? undefined
      : column
    : width > 0 && isWhole && width <= column.BYTES_PER_ELEMENT
      ? WIDTHS[width]
      : undefined;
}

function widthOf(values: Uint8Array | Uint32Array | Float64Array): Width {
  if (values.every((value) => Object.is(value, values[0]))) return 0;
  if (values instanceof Float64Array) return 8;
  let most = 0;
  for (const value of values) most = Math.max(most, value);
  return most < 2 ** 8 ? 1 : most < 2 ** 16 ? 2 : 4;
}

function bytesOf(values: ArrayBufferView): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/**
 * The columns of slots are kept in blocks of 512 slots. Those of the newest entries are records next to
 * the words of their segment, until small segments become a larger one.
 *
 * An empty slot has no session. If a link begins there, its `entry` is the slot that it stands for.
 */
export const BLOCK_SLOTS = 512;

/** Room for one column of a block: a search unpacks all blocks, and new room for each takes longer than the numbers. */
const ALIGNED = new Uint8Array(BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT);

/** Slots in any order, with their columns. */
export interface SlotRecords {
  readonly slots: Uint32Array;
  /** By position in `slots`. */
  readonly columns: SlotColumns;
}

/** The columns that are the same in all slots of an entry. */
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
