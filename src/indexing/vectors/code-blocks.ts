import { bitsIn } from "../../vectors/code-table.ts";
import { damagedIndex } from "../head.ts";
import type { CodeBlockRow } from "../index-store.ts";

/**
 * The codes of a space are in blocks of 256 slots: a bit for each slot that has a code, then the codes.
 * Blocks are small, so that a new vector rewrites little.
 */
export const CODE_BLOCK_SLOTS = 256;
const BITMAP_BYTES = CODE_BLOCK_SLOTS / 8;

/** Slots by their blocks. */
export function codeBlocksOf(slots: Iterable<number>): number[] {
  return [...new Set(Array.from(slots, (slot) => Math.floor(slot / CODE_BLOCK_SLOTS)))];
}

/** Blocks as they are after some slots get a code, and those with `undefined` lose theirs. */
export function changedCodes(
  known: readonly CodeBlockRow[],
  space: { readonly number: number; readonly changes: number },
  codeBytes: number,
  codes: ReadonlyMap<number, Uint8Array | undefined>,
): CodeBlockRow[] {
  const blocks = new Map(known.map((row) => [row.block, unpack(row.codes, codeBytes)]));
  for (const [slot, code] of codes) {
    const block = Math.floor(slot / CODE_BLOCK_SLOTS);
    const all = blocks.get(block) ?? new Map<number, Uint8Array>();
    blocks.set(block, all);
    if (code) all.set(slot % CODE_BLOCK_SLOTS, code);
    else all.delete(slot % CODE_BLOCK_SLOTS);
  }
  return [...blocks].map(([block, all]) => ({
    space: space.number,
    block,
    changed: space.changes,
    codes: pack(all, codeBytes),
  }));
}

/** A block without codes. */
export function emptyBlock(
  { number: space, changes: changed }: { readonly number: number; readonly changes: number },
  block: number,
): CodeBlockRow {
  return { space, block, changed, codes: new Uint8Array(BITMAP_BYTES) };
}

/** The slots that have a code in a block. */
export function codedSlots({ block, codes }: CodeBlockRow, codeBytes: number): number[] {
  return [...unpack(codes, codeBytes).keys()].map((place) => block * CODE_BLOCK_SLOTS + place);
}

function pack(codes: ReadonlyMap<number, Uint8Array>, bytes: number): Uint8Array {
  const packed = new Uint8Array(BITMAP_BYTES + codes.size * bytes);
  const places = [...codes.keys()].sort((one, other) => one - other);
  for (const [index, place] of places.entries()) {
    packed[place >> 3] = (packed[place >> 3] ?? 0) | (1 << (place & 7));
    packed.set(codes.get(place) as Uint8Array, BITMAP_BYTES + index * bytes);
  }
  return packed;
}

/** The bitmap and the codes of a block, each whole. */
export function codesIn(packed: Uint8Array, bytes: number) {
  const bitmap = packed.subarray(0, BITMAP_BYTES);
  const codes = packed.subarray(BITMAP_BYTES);
  const isWhole = bitmap.length === BITMAP_BYTES && codes.length === bitsIn(bitmap) * bytes;
  if (!isWhole) throw damagedIndex("vectors");
  return { bitmap, codes };
}

function unpack(packed: Uint8Array, bytes: number): Map<number, Uint8Array> {
  const { bitmap, codes } = codesIn(packed, bytes);
  const found = new Map<number, Uint8Array>();
  for (let place = 0; place < CODE_BLOCK_SLOTS; place += 1) {
    if ((((bitmap[place >> 3] ?? 0) >> (place & 7)) & 1) === 0) continue;
    const start = found.size * bytes;
    found.set(place, codes.slice(start, start + bytes));
  }
  return found;
}
