import type { PassageColumns } from "../../../search/passage-index.ts";
import { damagedIndex } from "./memory-damage.ts";

type ColumnKind = Uint8ArrayConstructor | Uint32ArrayConstructor | Float64ArrayConstructor;

/** The columns in the order in which they are packed. */
const KINDS: Readonly<Record<keyof PassageColumns, ColumnKind>> = {
  entry: Uint32Array,
  length: Uint8Array,
  session: Uint32Array,
  role: Uint32Array,
  speaker: Uint32Array,
  kind: Uint8Array,
  time: Float64Array,
  flags: Uint8Array,
};

export const COLUMNS = Object.keys(KINDS) as (keyof PassageColumns)[];

export function newColumns(slots: number): PassageColumns {
  return mapColumns((name) => new KINDS[name](slots) as never);
}

/** The first `slots` of each, without copying them. */
export function columnsUpTo(columns: PassageColumns, slots: number): PassageColumns {
  return mapColumns((name) => columns[name].subarray(0, slots) as never);
}

export function grownColumns(columns: PassageColumns, slots: number): PassageColumns {
  const larger = newColumns(slots);
  for (const name of COLUMNS) larger[name].set(columns[name]);
  return larger;
}

function mapColumns(of: (name: keyof PassageColumns) => never): PassageColumns {
  return Object.fromEntries(COLUMNS.map((name) => [name, of(name)])) as unknown as PassageColumns;
}

/** Copies one slot, all that is known of it. */
export function copySlot(from: PassageColumns, at: number, to: PassageColumns, slot: number): void {
  for (const name of COLUMNS) to[name][slot] = from[name][at] as number;
}

export function emptySlot(columns: PassageColumns, slot: number): void {
  for (const name of COLUMNS) columns[name][slot] = 0;
}

/**
 * Columns from `first` on, so many slots: for each, how many bytes a number takes, and the
 * numbers. One that is the same in all slots is there once, and takes no bytes.
 */
export function packColumns(columns: PassageColumns, first: number, slots: number): Uint8Array {
  const parts = COLUMNS.flatMap((name) => {
    const values = columns[name].subarray(first, first + slots);
    const width = widthOf(values);
    const packed = width === 0 ? values.slice(0, 1) : new WIDTHS[width](values);
    return [Uint8Array.of(width), bytesOf(packed)];
  });
  return Buffer.concat(parts);
}

/** Puts packed columns in their place, which takes copying and no more: all of them are read at the first search. */
export function unpackColumns(
  packed: Uint8Array,
  into: PassageColumns,
  first: number,
  slots: number,
  from = 0,
): void {
  let at = from;
  for (const name of COLUMNS) {
    const width = packed[at] as Width;
    const kind: ColumnKind | Uint16ArrayConstructor | undefined =
      width === 0 ? KINDS[name] : WIDTHS[width];
    const end = at + 1 + (kind?.BYTES_PER_ELEMENT ?? 0) * (width === 0 ? 1 : slots);
    if (!kind || end > packed.length) throw damagedIndex("columns");
    const bytes = packed.subarray(at + 1, end);
    if (width === 1) into[name].set(bytes, first);
    else {
      // A copy, since larger numbers must not begin anywhere.
      const values = new kind(new Uint8Array(bytes).buffer);
      if (width === 0) into[name].fill(values[0] as number, first, first + slots);
      else into[name].set(values, first);
    }
    at = end;
  }
}

/** By how many bytes a number takes; 0 stands for one number of the column's own kind. */
type Width = 0 | keyof typeof WIDTHS;
const WIDTHS = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: Float64Array } as const;

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
