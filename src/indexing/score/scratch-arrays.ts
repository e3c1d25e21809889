import type { PassageIndex } from "../passages/passage-index.ts";

/** Arrays for one question. They begin with zeros, except `reached`, and may be longer than needed. */
export interface ScratchArrays {
  /** By number of a session. */
  readonly sessionShares: Float32Array;
  readonly covered: Float32Array;
  /** By block. */
  readonly bounds: Float32Array;
  readonly named: Uint8Array;
  readonly reached: Uint32Array;
}

/** The scratch arrays of an index, which live as long as it does. */
export function scratchOf(index: PassageIndex): Scratch {
  const known = SCRATCH.get(index);
  if (known) return known;
  const scratch = new Scratch();
  SCRATCH.set(index, scratch);
  return scratch;
}

/**
 * Keeps the arrays of an index from one question to the next. A question borrows them for its time.
 * Another one in between gets arrays of its own.
 */
class Scratch {
  #free: ScratchArrays | undefined;

  /** Lends arrays for `sessions` and `blocks` to `work`. They are not valid after it. */
  lend<Result>(sessions: number, blocks: number, work: (arrays: ScratchArrays) => Result): Result {
    const arrays =
      cleared(this.#free, sessions, blocks) ?? newArrays(grown(sessions), grown(blocks));
    this.#free = undefined;
    try {
      return work(arrays);
    } finally {
      this.#free = arrays;
    }
  }
}

const SCRATCH = new WeakMap<PassageIndex, Scratch>();

function cleared(
  arrays: ScratchArrays | undefined,
  sessions: number,
  blocks: number,
): ScratchArrays | undefined {
  if (!arrays || arrays.covered.length < sessions || arrays.named.length < blocks) return undefined;
  arrays.sessionShares.fill(0, 0, sessions);
  arrays.covered.fill(0, 0, sessions);
  arrays.bounds.fill(0, 0, blocks);
  arrays.named.fill(0, 0, blocks);
  return arrays;
}

/** An index that grows then does not need new ones each time. */
function grown(length: number): number {
  return Math.ceil(1.25 * length);
}

function newArrays(sessions: number, blocks: number): ScratchArrays {
  return {
    sessionShares: new Float32Array(sessions),
    covered: new Float32Array(sessions),
    bounds: new Float32Array(blocks),
    named: new Uint8Array(blocks),
    reached: new Uint32Array(blocks),
  };
}
