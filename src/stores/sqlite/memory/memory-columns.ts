import type { Connection } from "../connection.ts";
import {
  copySlot,
  emptySlot,
  newColumns,
  packColumns,
  type SlotColumns,
  unpackColumns,
} from "./memory-column-format.ts";
import { damagedIndex } from "./memory-damage.ts";
import { KEYS, type MemoryNamespace } from "./memory-namespace.ts";

/**
 * What is known of each slot is kept in blocks of 512 slots; of the newest, next to the words of
 * their segments, until small segments become a larger one (`foldColumns`).
 *
 * An empty slot has no session. Where a link begins there, its `entry` is what it stands for.
 */
export const BLOCK_SLOTS = 512;

/** Slots, in any order, and what is known of them. */
export interface SlotRecords {
  readonly slots: Uint32Array;
  /** By place in `slots`. */
  readonly columns: SlotColumns;
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
  unpackColumns(bytes, columns, 0, slots.length, 4 + 4 * slots.length);
  return { slots, columns };
}

/** All records; of a slot that several have, the last one given. */
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

/** Writes records into the blocks of a generation. */
export function foldColumns(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
  { slots, columns }: SlotRecords,
): void {
  changeBlocks(db, namespace, generation, slots, (key, changes) => {
    const block = readBlock(db, key) ?? newColumns(BLOCK_SLOTS);
    for (const { index, slot } of changes) copySlot(columns, index, block, slot);
    return block;
  });
}

/** Empties slots in the blocks of a generation. */
export function emptyColumns(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
  slots: ArrayLike<number>,
): void {
  changeBlocks(db, namespace, generation, slots, (key, changes) => {
    const block = readBlock(db, key);
    if (block) for (const { slot } of changes) emptySlot(block, slot);
    return block;
  });
}

interface SlotChange {
  /** In the slots that are changed. */
  readonly index: number;
  /** In its block. */
  readonly slot: number;
}

function changeBlocks(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
  slots: ArrayLike<number>,
  changed: (key: number, changes: readonly SlotChange[]) => SlotColumns | undefined,
): void {
  const byBlock = new Map<number, SlotChange[]>();
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] as number;
    const block = Math.floor(slot / BLOCK_SLOTS);
    const change = { index, slot: slot % BLOCK_SLOTS };
    const known = byBlock.get(block);
    if (known) known.push(change);
    else byBlock.set(block, [change]);
  }
  for (const [block, changes] of byBlock) {
    const key = firstBlock(namespace.number, generation) + block;
    const columns = changed(key, changes);
    if (!columns) continue;
    db.run(
      `INSERT INTO memory_column_block (key, changed, data) VALUES (?1, ?2, ?3)
       ON CONFLICT (key) DO UPDATE SET changed = ?2, data = ?3`,
      key,
      namespace.changes,
      packColumns(columns, 0, BLOCK_SLOTS),
    );
    namespace.columns_at = namespace.changes;
  }
}

function readBlock(db: Connection, key: number): SlotColumns | undefined {
  const data = packedBlock(db, key);
  if (!data) return undefined;
  const columns = newColumns(BLOCK_SLOTS);
  unpackColumns(data, columns, 0, BLOCK_SLOTS);
  return columns;
}

function packedBlock(db: Connection, key: number): Uint8Array | undefined {
  return db.get<{ data: Uint8Array }>("SELECT data FROM memory_column_block WHERE key = ?", key)
    ?.data;
}

/** The packed block of those that a search looks into, by its number. */
export function searchedBlock(
  db: Connection,
  namespace: MemoryNamespace,
  block: number,
): Uint8Array | undefined {
  return packedBlock(db, firstBlock(namespace.number, namespace.generation) + block);
}

/** The packed blocks that changed after a change, with the first slot of each. */
export function* changedBlocks(
  db: Connection,
  namespace: MemoryNamespace,
  after: number,
): Generator<{ readonly first: number; readonly data: Uint8Array }> {
  const first = firstBlock(namespace.number, namespace.generation);
  const rows = db.iterate<{ key: number; data: Uint8Array }>(
    "SELECT key, data FROM memory_column_block WHERE key BETWEEN ? AND ? AND changed > ?",
    first,
    first + BLOCKS_MAX - 1,
    after,
  );
  for (const { key, data } of rows) yield { first: (key - first) * BLOCK_SLOTS, data };
}

/** Deletes some blocks of a generation, and returns whether there may be more. */
export function deleteColumns(
  db: Connection,
  namespace: MemoryNamespace,
  generation: number,
  limit: number,
): boolean {
  const first = firstBlock(namespace.number, generation);
  return (
    db.run(
      `DELETE FROM memory_column_block WHERE key IN (
         SELECT key FROM memory_column_block WHERE key BETWEEN ? AND ? LIMIT ?)`,
      first,
      first + BLOCKS_MAX - 1,
      limit,
    ) === limit
  );
}

/** Blocks that a generation may have; two generations share a namespace's keys. */
const BLOCKS_MAX = KEYS / 2;

function firstBlock(namespace: number, generation: number): number {
  return namespace * KEYS + (generation % 2) * BLOCKS_MAX;
}

/** Slots that blocks reach up to when there are so many: a multiple of what a block has. */
export function wholeBlocks(slots: number): number {
  return Math.ceil(slots / BLOCK_SLOTS) * BLOCK_SLOTS;
}
