import { hash } from "node:crypto";
import { setImmediate as rest } from "node:timers/promises";
import type { Index } from "usearch";
import { SessionError } from "../../core/errors.ts";
import type { MemoryEntry, MemoryStore, Watch } from "../../core/memory-store.ts";
import { type IndexPlace, readIndexFile, writeIndexFile } from "./index-file.ts";

/** The source of an index's vectors, their number of dimensions, and the library that makes its graph. */
export interface IndexMake {
  readonly makeGraph: MakeGraph;
  readonly source: string;
  readonly dimensions: number;
}

/**
 * The vectors of entries. Entries with the same text share one. Otherwise copies would be
 * each other's only neighbours in the graph, and a search would not get past them.
 *
 *     id ─► hash of its text ─► key of the vector in the graph
 *                   └─► all ids with this text
 */
export class HnswIndex {
  /** The last entry seen, in the order of the store. */
  lastId: string | undefined;
  /** Entries added or removed since the index was read or written. */
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

  /** Undefined when there is no file, it is torn or not ours, or its vectors are of another source. */
  static read(place: IndexPlace, make: IndexMake): HnswIndex | undefined {
    const read = readIndexFile(place, () => make.makeGraph(make.dimensions));
    // The file is whole and ours, so its notes are as we wrote them.
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

  write(place: IndexPlace): void {
    const texts = [...this.#texts].map(([hash, { key, ids }]) => ({ hash, key, ids: [...ids] }));
    const { source } = this.#make;
    writeIndexFile(place, this.#graph, { source, lastId: this.lastId, texts } satisfies Notes);
    this.changes = 0;
  }

  /** The number of entries. */
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

  /** Adds a new entry. A text that is known needs no vector. */
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

  /** The nearest texts, best first: their entries, and the distance, from 0 to 2. */
  nearest(vector: Float32Array, count: number): readonly Neighbour[] {
    if (this.#graph.size() === 0) return [];
    const { keys, distances } = this.#graph.search(vector, count, 1);
    return [...keys].flatMap((key, index) => {
      const hash = this.#hashByKey.get(Number(key));
      const ids = hash === undefined ? [] : [...(this.#texts.get(hash)?.ids ?? [])];
      return ids.length === 0 ? [] : [{ ids, distance: distances[index] ?? 2 }];
    });
  }

  /** The problems of the index, given the ids and hashes of all entries. */
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

/** The key of texts that have a vector of zeros. No search finds them. */
const NO_VECTOR = 0;

export interface Neighbour {
  readonly ids: readonly string[];
  readonly distance: number;
}

/** The content of the file besides the graph. */
interface Notes {
  readonly source: string;
  readonly lastId: string | undefined;
  readonly texts: readonly {
    readonly hash: string;
    readonly key: number;
    readonly ids: readonly string[];
  }[];
}

/** The specification's parameters of the graph. The library chooses the layers itself. */
export const CONNECTIVITY = 16;
export const EXPANSION_ADD = 200;
const EXPANSION_SEARCH = 200;

/** Makes an empty graph of cosine distances, for vectors with this number of dimensions. */
type MakeGraph = (dimensions: number) => Index;

/**
 * Loads the library, which is an optional package.
 *
 * @throws SessionError `SESSION_STORE_ERROR` when it is not installed.
 */
export async function loadUsearch(): Promise<MakeGraph> {
  const { Index, MetricKind, ScalarKind } = await importUsearch();
  return (dimensions) =>
    new Index({
      dimensions,
      metric: MetricKind.Cos,
      // Half the memory of f32. Cosines differ by less than 0.0002.
      quantization: ScalarKind.F16,
      connectivity: CONNECTIVITY,
      expansion_add: EXPANSION_ADD,
      expansion_search: EXPANSION_SEARCH,
      multi: false,
    });
}

async function importUsearch() {
  try {
    return await import("usearch");
  } catch (cause) {
    throw new SessionError("SESSION_STORE_ERROR", {
      detail: "The HNSW memory store needs the package usearch, which cannot be loaded.",
      hint: 'Install it: npm install usearch. Or leave the store out: store = "sqlite" under [memory] needs nothing.',
      cause,
    });
  }
}

/** Entries that are read, embedded and added at a time. */
const PAGE = 64;

/** Vectors of texts. Undefined when none can be made now. */
export type Embed = (
  texts: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly Float32Array[] | undefined>;

export interface FillOptions extends Watch {
  /** The most entries to look at. */
  readonly entriesMax?: number;
}

/**
 * Makes an index agree with its store. Returns whether it does now.
 *
 * Usually only entries after the last one seen are new. If that entry is gone or has changed, or
 * the store has fewer entries than the index, some were deleted: then all are listed once.
 */
export async function fillIndex(
  index: HnswIndex,
  store: MemoryStore,
  embed: Embed,
  options: FillOptions = {},
): Promise<boolean> {
  if (!(await isThere(index.lastId, index, store))) index.lastId = undefined;
  if (!(await addNew(index, store, embed, options))) return false;
  if (index.size === (await store.stats()).entries) return true;
  index.lastId = undefined;
  return addNew(index, store, embed, options);
}

/** The same for two texts only if they are the same. */
export function textHash({ content }: Pick<MemoryEntry, "content">): string {
  return hash("sha256", content, "base64url").slice(0, 22);
}

async function isThere(
  id: string | undefined,
  index: HnswIndex,
  store: MemoryStore,
): Promise<boolean> {
  const [entry] = id === undefined ? [] : await store.read([id]);
  return entry !== undefined && index.has(entry.id, textHash(entry));
}

/** Adds the entries after the last one. A list from the start also removes entries that are not in it. */
async function addNew(
  index: HnswIndex,
  store: MemoryStore,
  embed: Embed,
  { entriesMax = Infinity, signal, onProgress }: FillOptions,
): Promise<boolean> {
  const listed = index.lastId === undefined ? new Set<string>() : undefined;
  const total = onProgress ? (await store.stats()).entries : 0;
  for (let done = 0; done < entriesMax; ) {
    signal?.throwIfAborted();
    const entries = await store.list({
      limit: PAGE,
      ...(index.lastId === undefined ? {} : { after: index.lastId }),
    });
    if (entries.length === 0) {
      if (listed) index.keepOnly(listed);
      return true;
    }
    if (!(await addEntries(index, entries, embed, signal))) return false;
    for (const { id } of entries) listed?.add(id);
    index.lastId = entries.at(-1)?.id;
    done += entries.length;
    onProgress?.({ done: Math.min(done, total), total });
    // The library works on this thread. This lets other work run in between.
    await rest();
  }
  return false;
}

async function addEntries(
  index: HnswIndex,
  entries: readonly MemoryEntry[],
  embed: Embed,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const fresh = entries
    .map((entry) => ({ ...entry, hash: textHash(entry) }))
    .filter(({ id, hash }) => !index.has(id, hash));
  // First, because a text is forgotten with its last entry.
  for (const { id } of fresh) index.remove(id);
  const unknown = new Map(
    fresh.filter(({ hash }) => !index.knows(hash)).map(({ hash, content }) => [hash, content]),
  );
  const vectors = unknown.size === 0 ? [] : await embed([...unknown.values()], signal);
  if (!vectors) return false;
  const vectorOf = new Map([...unknown.keys()].map((hash, at) => [hash, vectors[at]]));
  for (const { id, hash } of fresh) index.add(id, hash, vectorOf.get(hash));
  return true;
}
