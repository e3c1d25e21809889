import { placeFrom, placeOf } from "../passages/passage-index.ts";
import { BLOCK, blockOf } from "../score/word-amounts.ts";

/** Sessions whose blocks stay known. */
const SESSIONS_MAX = 64;

/**
 * The blocks of slots in which sessions have passages, ascending. They are found once, and then follow the changes of
 * the column, so a search in one session does not read it again after each turn. A block that a session has left may
 * stay among them.
 */
export class SessionBlocks {
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
