import type { DetailColumns, PassageColumns } from "../../../search/passage-index.ts";
import {
  copySlots,
  grownColumns,
  newColumns,
  type SlotColumns,
  unpackColumns,
} from "./memory-column-format.ts";
import { BLOCK_SLOTS, type SlotRecords, wholeBlocks } from "./memory-columns.ts";
import { LinkChanges } from "./memory-link-changes.ts";

/**
 * The columns that a search looks into, in memory. Details of a block are unpacked when one of its slots is
 * first asked for: those of few blocks are, and all of them would take the first search 3 ms, and the memory
 * of two thirds of what there is.
 */
export class ColumnRoom {
  readonly linkChanges = new LinkChanges();
  /** A packed block, as it is in the store now. */
  readonly #packed: (block: number) => Uint8Array | undefined;
  #columns = newColumns(0);
  /** By block, 1 when its details are in memory. */
  #isDetailed = new Uint8Array(0);
  /** Nobody has asked for anything of it yet. */
  #isNew = true;

  constructor(packed: (block: number) => Uint8Array | undefined) {
    this.#packed = packed;
  }

  /** How many slots there is room for. */
  get slots(): number {
    return this.#columns.entry.length;
  }

  /** Forgets everything, and makes room for so many slots. */
  clear(slots: number): void {
    const room = wholeBlocks(Math.max(slots, this.slots));
    this.#columns = newColumns(room);
    this.#isDetailed = new Uint8Array(room / BLOCK_SLOTS);
    this.#isNew = true;
    this.linkChanges.forget();
  }

  grow(slots: number): void {
    if (slots <= this.slots) return;
    const room = wholeBlocks(Math.max(slots, Math.floor(1.25 * this.slots)));
    this.#columns = grownColumns(this.#columns, room);
    const before = this.#isDetailed;
    this.#isDetailed = new Uint8Array(room / BLOCK_SLOTS);
    this.#isDetailed.set(before);
  }

  /** What there is of the first slots. */
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

  details(slot: number, end: number): DetailColumns {
    for (let block = Math.floor(slot / BLOCK_SLOTS); block * BLOCK_SLOTS < end; block += 1) {
      this.#readDetails(block);
    }
    return this.#columns;
  }

  putBlock(first: number, data: Uint8Array): void {
    const isDetailed = this.#isDetailed[first / BLOCK_SLOTS] === 1;
    this.#change(first, BLOCK_SLOTS, () =>
      unpackColumns(
        data,
        isDetailed ? this.#columns : searchedOf(this.#columns),
        first,
        BLOCK_SLOTS,
      ),
    );
  }

  putRecords({ slots, columns }: SlotRecords): void {
    for (let start = 0, end = 0; start < slots.length; start = end) {
      const first = slots[start] as number;
      end = start + 1;
      while (slots[end] === first + end - start) end += 1;
      // What is read of their blocks later would be older.
      this.details(first, first + end - start);
      this.#change(first, end - start, () =>
        copySlots(columns, [start, end], this.#columns, first),
      );
    }
  }

  #readDetails(block: number): void {
    if (this.#isDetailed[block] !== 0) return;
    const data = this.#packed(block);
    if (data) unpackColumns(data, detailsOf(this.#columns), block * BLOCK_SLOTS, BLOCK_SLOTS);
    // Not before: a block that cannot be read is none that says nothing.
    this.#isDetailed[block] = 1;
  }

  /** Changes some slots, and notes what that means for others. */
  #change(first: number, count: number, change: () => void): void {
    if (this.#isNew) {
      change();
      return;
    }
    const before = linksIn(this.#columns, first, count);
    change();
    for (const [at, link] of linksIn(this.#columns, first, count).entries()) {
      if (link !== before[at]) this.linkChanges.add(first + at);
    }
  }
}

function searchedOf({ entry, length, session, flags }: SlotColumns): PassageColumns {
  return { entry, length, session, flags };
}

function detailsOf({ role, speaker, kind, time }: SlotColumns): DetailColumns {
  return { role, speaker, kind, time };
}

/** Where empty slots lead; 0 for one that leads nowhere, or is not empty. */
function linksIn({ session, entry }: PassageColumns, first: number, count: number): Uint32Array {
  const links = entry.slice(first, first + count);
  for (let at = 0; at < links.length; at += 1) if (session[first + at] !== 0) links[at] = 0;
  return links;
}
