import { blockOf } from "../../../search/block.ts";
import type { Postings } from "../../../search/passage-index.ts";

interface Known {
  readonly postings: Postings;
  /** The change of the namespace up to which they are complete. */
  readonly at: number;
}

/** What a list and its summary take besides what is in them: objects, most of it. */
const OVERHEAD_BYTES = 1300;
/** Of a posting, and of a block and a session in a summary. */
const POSTING_BYTES = 5;
const BLOCK_BYTES = 12;

/** Keeps what was read of the index, up to so many bytes; what was not asked for longest goes first. */
export class PostingsCache {
  #bytesMax: number;
  #bytes = 0;
  readonly #known = new Map<string, Known>();

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(namespace: number, key: string): Known | undefined {
    const name = `${namespace} ${key}`;
    const known = this.#known.get(name);
    if (!known) return undefined;
    this.#known.delete(name);
    this.#known.set(name, known);
    return known;
  }

  set(namespace: number, key: string, known: Known): void {
    const name = `${namespace} ${key}`;
    this.#drop(name);
    this.#known.set(name, known);
    this.#bytes += bytesOf(known);
    for (const oldest of this.#known.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
  }

  /** Forgets what is known of a namespace. */
  forget(namespace: number): void {
    for (const name of this.#known.keys()) if (name.startsWith(`${namespace} `)) this.#drop(name);
  }

  limitTo(bytesMax: number): void {
    this.#bytesMax = bytesMax;
  }

  #drop(name: string): void {
    const known = this.#known.get(name);
    if (!known) return;
    this.#known.delete(name);
    this.#bytes -= bytesOf(known);
  }
}

function bytesOf({ postings: { slots } }: Known): number {
  const span = blockOf(slots.at(-1) ?? 0) - blockOf(slots[0] ?? 0) + 1;
  const blocks = Math.min(slots.length, span);
  return OVERHEAD_BYTES + POSTING_BYTES * slots.length + BLOCK_BYTES * blocks;
}
