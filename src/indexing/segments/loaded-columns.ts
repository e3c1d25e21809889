import {
  type DetailColumns,
  type LinkChanges,
  type PassageColumns,
  placeFrom,
  placeOf,
} from "../passages/passage-index.ts";
import { damagedIndex } from "../port/asking.ts";
import { BLOCK, blockOf } from "../score/word-amounts.ts";
import {
  BLOCK_SLOTS,
  copySlots,
  grownColumns,
  newColumns,
  type SlotColumns,
  type SlotRecords,
  unpackColumns,
} from "./columns.ts";

const BEFORE_DETAILS = ["entry", "length", "session"] as const;
const DETAILS = ["role", "speaker", "kind", "time"] as const;
const BEHIND_DETAILS = ["flags"] as const;

/**
 * The columns that a search reads, in memory. The details of a block stay packed until one of its slots is
 * asked for: few blocks are asked for, and unpacking all of them would hold up the first search.
 */
export class LoadedColumns {
  readonly links = new RememberedLinks();
  #columns = newColumns(0);
  readonly #blocks = new SessionBlocks();
  /** The packed details of each block; `undefined` when they are unpacked, or all zeros. */
  #packed: (Uint8Array | undefined)[] = [];
  /** Nothing has been read from it yet. */
  #isNew = true;

  /** How many slots there is room for. */
  get slots(): number {
    return this.#columns.entry.length;
  }

  /** Empties all columns, and makes room for `slots`. */
  clear(slots: number): void {
    this.#columns = newColumns(wholeBlocks(Math.max(slots, this.slots)));
    this.#packed = [];
    this.#isNew = true;
    this.#blocks.clear();
    this.links.forget();
  }

  grow(slots: number): void {
    if (slots <= this.slots) return;
    const room = wholeBlocks(Math.max(slots, Math.floor(1.25 * this.slots)));
    this.#columns = grownColumns(this.#columns, room);
  }

  /** The searched columns of the first slots. */
  upTo(slots: number): PassageColumns {
    this.#isNew = false;
    const { entry, length, session, flags } = this.#columns;
    return {
      entry: entry.subarray(0, slots),
      length: length.subarray(0, slots),
      session: session.subarray(0, slots),
      flags: flags.subarray(0, slots),
    };
  }

  /** The blocks in which a session has passages, ascending. Others may be among them. */
  blocksOf(session: number): Uint32Array {
    return this.#blocks.of(session, this.#columns.session);
  }

  details(slot: number, end: number): DetailColumns {
    for (let block = Math.floor(slot / BLOCK_SLOTS); block * BLOCK_SLOTS < end; block += 1) {
      const packed = this.#packed[block];
      if (!packed) continue;
      unpackColumns(packed, this.#columns, block * BLOCK_SLOTS, BLOCK_SLOTS, 0, DETAILS);
      this.#packed[block] = undefined;
    }
    return this.#columns;
  }

  putBlock(block: number, data: Uint8Array): void {
    const first = block * BLOCK_SLOTS;
    this.#change(first, BLOCK_SLOTS, () => {
      const put = (from: number, names: readonly (keyof SlotColumns)[], into = this.#columns) =>
        unpackColumns(data, into, first, BLOCK_SLOTS, from, names);
      const start = put(0, BEFORE_DETAILS);
      const end = put(start, DETAILS, NO_COLUMNS);
      if (put(end, BEHIND_DETAILS) !== data.length) throw damagedIndex("columns");
      this.#packed[block] = data.slice(start, end);
    });
  }

  putRecords({ slots, columns }: SlotRecords): void {
    for (let start = 0, end = 0; start < slots.length; start = end) {
      const first = slots[start] as number;
      end = start + 1;
      while (slots[end] === first + end - start) end += 1;
      // Details that are unpacked there later would be older.
      this.details(first, first + end - start);
      this.#change(first, end - start, () =>
        copySlots(columns, [start, end], this.#columns, first),
      );
    }
  }

  /** Changes some slots, and notes which links that changes. */
  #change(first: number, count: number, change: () => void): void {
    if (this.#isNew) {
      change();
      return;
    }
    const before = linksIn(this.#columns, first, count);
    change();
    for (const [at, link] of linksIn(this.#columns, first, count).entries()) {
      if (link !== before[at]) this.links.add(first + at);
    }
    this.#blocks.note(this.#columns.session, first, count);
  }
}

const NO_COLUMNS = {} as SlotColumns;

function wholeBlocks(slots: number): number {
  return Math.ceil(slots / BLOCK_SLOTS) * BLOCK_SLOTS;
}

/** Where the links of empty slots lead; 0 for a slot without a link. */
function linksIn({ session, entry }: PassageColumns, first: number, count: number): Uint32Array {
  const links = entry.slice(first, first + count);
  for (let at = 0; at < links.length; at += 1) if (session[first + at] !== 0) links[at] = 0;
  return links;
}

/** The empty slots whose links have changed, as far back as it remembers. */
class RememberedLinks implements LinkChanges {
  #pads: number[] = [];
  /** Changes before the first that it remembers. */
  #forgotten = 0;

  /** The number of changes so far. */
  get version(): number {
    return this.#forgotten + this.#pads.length;
  }

  add(pad: number): void {
    if (this.#pads.length === REMEMBERED_MAX) this.forget();
    this.#pads.push(pad);
  }

  /** Any link may have changed. */
  forget(): void {
    this.#forgotten += this.#pads.length + 1;
    this.#pads = [];
  }

  changedSince(version: number): readonly number[] | undefined {
    return version < this.#forgotten ? undefined : this.#pads.slice(version - this.#forgotten);
  }
}

const REMEMBERED_MAX = 4096;

/** Sessions whose blocks stay known. */
const SESSIONS_MAX = 64;

/**
 * The blocks of slots in which sessions have passages, ascending. They are found once, and then follow the changes of
 * the column, so a search in one session does not read it again after each turn. A block that a session has left may
 * stay among them.
 */
class SessionBlocks {
  /** The one asked for last is at the end. */
  readonly #known = new Map<number, Uint32Array>();

  of(session: number, column: Uint32Array): Uint32Array {
    const blocks = this.#known.get(session) ?? blocksWith(session, column);
    this.#known.delete(session);
    this.#known.set(session, blocks);
    const [oldest] = this.#known.keys();
    if (this.#known.size > SESSIONS_MAX && oldest !== undefined) this.#known.delete(oldest);
    return blocks;
  }

  /** Some slots of the column have changed. */
  note(column: Uint32Array, first: number, count: number): void {
    if (this.#known.size === 0) return;
    for (let slot = first; slot < first + count; slot += 1) {
      const session = column[slot] as number;
      const blocks = this.#known.get(session);
      const block = blockOf(slot);
      if (blocks && placeOf(blocks, block) < 0) this.#known.set(session, withBlock(blocks, block));
    }
  }

  clear(): void {
    this.#known.clear();
  }
}

function blocksWith(session: number, column: Uint32Array): Uint32Array {
  const blocks: number[] = [];
  for (let slot = column.indexOf(session); slot >= 0; ) {
    const block = blockOf(slot);
    blocks.push(block);
    slot = column.indexOf(session, (block + 1) * BLOCK);
  }
  return Uint32Array.from(blocks);
}

function withBlock(blocks: Uint32Array, block: number): Uint32Array {
  const place = placeFrom(blocks, block);
  return Uint32Array.of(...blocks.subarray(0, place), block, ...blocks.subarray(place));
}
