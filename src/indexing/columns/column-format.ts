import type { DetailColumns, PassageColumns } from "../../search/passage-index.ts";
import { damagedIndex } from "../head.ts";

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

export function emptySlot(columns: SlotColumns, slot: number): void {
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
      // Larger numbers are copied first, since they have to be aligned.
      const values = width === 1 ? bytes : new kind(new Uint8Array(bytes).buffer);
      if (width === 0) column.fill(values[0] as number, first, first + slots);
      else column.set(values, first);
    }
    at = end;
  }
  return at;
}

/** Bytes of a number; 0 stands for one number of the column's own kind. */
type Width = 0 | keyof typeof WIDTHS;
const WIDTHS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array } as const;

/** How numbers of so many bytes are read; `undefined` when the column cannot have them. */
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
