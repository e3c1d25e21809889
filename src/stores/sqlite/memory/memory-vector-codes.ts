import { CodeTable } from "../../../vectors/code-table.ts";
import { codeBytes, rowBytes } from "../../../vectors/quantise.ts";
import { RowCache } from "../../../vectors/row-cache.ts";
import type { Connection } from "../connection.ts";
import { slotOfKey, type VectorSpace, vectorKey } from "./memory-vector-space.ts";

/** Slots of a block: what a new vector makes us write again is small, and a million codes are few rows. */
const BLOCK_SLOTS = 256;
const BITMAP_BYTES = BLOCK_SLOTS / 8;

/** Writes codes into their blocks, and takes out those of slots that have `undefined`. */
export function changeCodes(
  db: Connection,
  space: VectorSpace,
  changed: number,
  codes: ReadonlyMap<number, Uint8Array | undefined>,
): void {
  const blocks = new Map<number, Map<number, Uint8Array | undefined>>();
  for (const [slot, code] of codes) {
    const block = Math.floor(slot / BLOCK_SLOTS);
    const changes = blocks.get(block) ?? new Map<number, Uint8Array | undefined>();
    blocks.set(block, changes.set(slot % BLOCK_SLOTS, code));
  }
  for (const [block, changes] of blocks) {
    const key = vectorKey(space.number, block);
    const known = db.get<{ codes: Uint8Array }>(
      "SELECT codes FROM memory_code_block WHERE key = ?",
      key,
    );
    const all = known ? unpack(known.codes, codeBytes(space.dimensions)) : new Map();
    for (const [place, code] of changes) {
      if (code) all.set(place, code);
      else all.delete(place);
    }
    db.run(
      `INSERT INTO memory_code_block (key, changed, codes) VALUES (?1, ?2, ?3)
       ON CONFLICT (key) DO UPDATE SET changed = ?2, codes = ?3`,
      key,
      changed,
      pack(all, codeBytes(space.dimensions)),
    );
  }
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

function unpack(packed: Uint8Array, bytes: number): Map<number, Uint8Array> {
  const codes = new Map<number, Uint8Array>();
  for (let place = 0; place < BLOCK_SLOTS; place += 1) {
    if ((((packed[place >> 3] ?? 0) >> (place & 7)) & 1) === 0) continue;
    const start = BITMAP_BYTES + codes.size * bytes;
    codes.set(place, packed.slice(start, start + bytes));
  }
  return codes;
}

/** The slots that have a code. */
export function codedSlots(db: Connection, space: VectorSpace): Set<number> {
  const slots = new Set<number>();
  for (const { key, codes } of blocksChangedAfter(db, space, -1)) {
    for (const place of unpack(codes, codeBytes(space.dimensions)).keys()) {
      slots.add(slotOfKey(key) * BLOCK_SLOTS + place);
    }
  }
  return slots;
}

/**
 * The vectors of a space as they are now: all codes, and rows that were read before, so many bytes
 * of them at the most. They are kept with the connection.
 */
export function loadedVectors(
  db: Connection,
  space: VectorSpace,
  cacheBytes = ROW_BYTES_MAX,
): LoadedVectors {
  const tables = loadedTables.get(db) ?? new Map<number, Loaded>();
  loadedTables.set(db, tables);
  const loaded = tables.get(space.number) ?? newlyLoaded(space, cacheBytes);
  if (loaded.changes !== space.changes) {
    load(db, space, loaded);
    loaded.changes = space.changes;
  }
  // The one used last is the last to go.
  tables.delete(space.number);
  tables.set(space.number, loaded);
  forgetOthers(tables);
  return loaded;
}

export interface LoadedVectors {
  readonly table: CodeTable;
  readonly rows: RowCache;
}

interface Loaded extends LoadedVectors {
  /** How many changes of the space are in it. */
  changes: number;
}

const loadedTables = new WeakMap<Connection, Map<number, Loaded>>();

/** Rows of this many bytes stay in memory: of 384 dimensions those of 30 000 passages. */
const ROW_BYTES_MAX = 12_000_000;

function newlyLoaded({ dimensions }: VectorSpace, cacheBytes: number): Loaded {
  const rows = new RowCache(rowBytes(dimensions), Math.min(cacheBytes, ROW_BYTES_MAX));
  return { table: new CodeTable(dimensions), rows, changes: -1 };
}

function load(db: Connection, space: VectorSpace, { table, rows, changes }: Loaded): void {
  for (const { key, codes } of blocksChangedAfter(db, space, changes)) {
    const bitmap = codes.subarray(0, BITMAP_BYTES);
    const first = slotOfKey(key) * BLOCK_SLOTS;
    table.replace(first, bitmap, codes.subarray(BITMAP_BYTES));
    // One of its slots may have been given to another passage.
    rows.forget(first, BLOCK_SLOTS);
  }
}

function blocksChangedAfter(db: Connection, space: VectorSpace, changes: number) {
  return db.iterate<{ key: number; codes: Uint8Array }>(
    "SELECT key, codes FROM memory_code_block WHERE key BETWEEN ? AND ? AND changed > ?",
    vectorKey(space.number, 0),
    vectorKey(space.number + 1, 0) - 1,
    changes,
  );
}

/** What is loaded of namespaces that are not searched now stays while it fits. */
const LOADED_BYTES_MAX = 64 * 2 ** 20;

function forgetOthers(tables: Map<number, Loaded>): void {
  const bytesOf = ({ table, rows }: Loaded) => table.bytes + rows.bytes;
  let bytes = [...tables.values()].reduce((sum, loaded) => sum + bytesOf(loaded), 0);
  for (const [number, loaded] of tables) {
    if (bytes <= LOADED_BYTES_MAX || tables.size === 1) return;
    tables.delete(number);
    bytes -= bytesOf(loaded);
  }
}
