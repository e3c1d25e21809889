import type { Index } from "usearch";
import { readIndexFile, writeIndexFile } from "./index-file.ts";
import type { MakeGraph } from "./load-usearch.ts";

/** What an index belongs to: vectors of one source, in one number of dimensions. */
export interface IndexMake {
  readonly makeGraph: MakeGraph;
  readonly source: string;
  readonly dimensions: number;
}

/**
 * Which entries have which vector. Entries with the same text share one: twins
 * would crowd each other's neighbourhoods until nothing else is reached from there.
 *
 *     id ─► hash of its text ─► key of the vector in the graph
 *                   └─► all ids with this text
 */
export class HnswIndex {
  /** The last entry that was looked at, in the order in which the store lists them. */
  lastId: string | undefined;
  /** Entries that were added or removed since the index was read or written. */
  changes = 0;
  readonly #make: IndexMake;
  readonly #graph: Index;
  readonly #hashes = new Map<string, string>();
  readonly #texts = new Map<string, { readonly key: number; readonly ids: Set<string> }>();
  readonly #hashByKey = new Map<number, string>();
  #nextKey = 1;

  constructor(make: IndexMake, graph = make.makeGraph(make.dimensions)) {
    this.#make = make;
    this.#graph = graph;
  }

  /** `undefined` when there is no such file, it is torn, or its vectors are of another source. */
  static read(file: string, make: IndexMake): HnswIndex | undefined {
    const read = readIndexFile(file, () => make.makeGraph(make.dimensions));
    // The file has told that it is whole and ours, so its notes are as we wrote them.
    const notes = read?.notes as Notes | undefined;
    if (!read || notes?.source !== make.source) return undefined;
    const index = new HnswIndex(make, read.graph);
    for (const { hash, key, ids } of notes.texts) {
      for (const id of ids) index.#note(id, hash, key);
    }
    index.lastId = notes.lastId;
    index.changes = 0;
    return index;
  }

  write(file: string): void {
    const texts = [...this.#texts].map(([hash, { key, ids }]) => ({ hash, key, ids: [...ids] }));
    const { source } = this.#make;
    writeIndexFile(file, this.#graph, { source, lastId: this.lastId, texts } satisfies Notes);
    this.changes = 0;
  }

  /** Entries that it knows. */
  get size(): number {
    return this.#hashes.size;
  }

  hasId(id: string): boolean {
    return this.#hashes.has(id);
  }

  has(id: string, hash: string): boolean {
    return this.#hashes.get(id) === hash;
  }

  /** Whether a text with this hash has been added. */
  knows(hash: string): boolean {
    return this.#texts.has(hash);
  }

  /** Adds an entry that is not there, with the vector of its text unless that is known. */
  add(id: string, hash: string, vector?: Float32Array): void {
    const known = this.#texts.get(hash)?.key;
    this.#note(id, hash, known ?? this.#addToGraph(vector));
  }

  remove(id: string): void {
    const hash = this.#hashes.get(id);
    const text = hash === undefined ? undefined : this.#texts.get(hash);
    if (hash === undefined || !text) return;
    this.#hashes.delete(id);
    text.ids.delete(id);
    this.changes += 1;
    if (text.ids.size > 0) return;
    this.#texts.delete(hash);
    this.#hashByKey.delete(text.key);
    if (text.key !== NO_VECTOR) this.#graph.remove(BigInt(text.key));
  }

  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of [...this.#hashes.keys()]) if (!ids.has(id)) this.remove(id);
  }

  /** The nearest texts, best first: entries that have them, and their distance, from 0 to 2. */
  nearest(vector: Float32Array, count: number): readonly Neighbour[] {
    if (this.#graph.size() === 0) return [];
    const { keys, distances } = this.#graph.search(vector, count, 1);
    return [...keys].flatMap((key, index) => {
      const hash = this.#hashByKey.get(Number(key));
      const ids = hash === undefined ? [] : [...(this.#texts.get(hash)?.ids ?? [])];
      return ids.length === 0 ? [] : [{ ids, distance: distances[index] ?? 2 }];
    });
  }

  /** What is wrong with it, compared with the ids and hashes that there are. */
  problems(entries: ReadonlyMap<string, string>): readonly string[] {
    const missing = [...entries].filter(([id, hash]) => !this.has(id, hash));
    const lost = [...this.#texts.values()].filter(
      ({ key }) => key !== NO_VECTOR && !this.#graph.contains(BigInt(key)),
    );
    return [
      ...missing.map(([id]) => `${id} has no vector.`),
      ...lost
        .flatMap(({ ids }) => [...ids])
        .map((id) => `The vector of ${id} is not in the graph.`),
    ];
  }

  #addToGraph(vector: Float32Array | undefined): number {
    if (!vector?.some((number) => number !== 0)) return NO_VECTOR;
    const key = this.#nextKey;
    this.#graph.add(BigInt(key), vector, 1);
    return key;
  }

  #note(id: string, hash: string, key: number): void {
    const text = this.#texts.get(hash) ?? { key, ids: new Set<string>() };
    text.ids.add(id);
    this.#texts.set(hash, text);
    this.#hashByKey.set(key, hash);
    this.#hashes.set(id, hash);
    this.#nextKey = Math.max(this.#nextKey, key + 1);
    this.changes += 1;
  }
}

/** The key of texts in which an embedder sees nothing; no search finds them. */
const NO_VECTOR = 0;

export interface Neighbour {
  readonly ids: readonly string[];
  readonly distance: number;
}

/** What stands in the file besides the graph. */
interface Notes {
  readonly source: string;
  readonly lastId: string | undefined;
  readonly texts: readonly {
    readonly hash: string;
    readonly key: number;
    readonly ids: readonly string[];
  }[];
}
