import type { Postings } from "../../../search/passage-index.ts";

interface Known {
  readonly postings: Postings;
  /** The change of the namespace up to which they are complete. */
  readonly at: number;
}

/** What a list takes besides its postings. */
const OVERHEAD_BYTES = 200;

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

function bytesOf({ postings }: Known): number {
  return OVERHEAD_BYTES + 5 * postings.slots.length;
}
