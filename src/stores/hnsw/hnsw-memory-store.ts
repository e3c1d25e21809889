import { hash } from "node:crypto";
import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import type { Embedder } from "../../core/embedder.ts";
import { joinSignals } from "../../core/join-signals.ts";
import {
  type EntryMarks,
  ifSureEnough,
  type MemoryCheck,
  type MemoryEntry,
  type MemoryHit,
  type MemoryPage,
  type MemoryQuery,
  type MemoryStats,
  type MemoryStore,
  type Watch,
} from "../../core/memory-store.ts";
import {
  callback,
  embedder as embedderCheck,
  group,
  is,
  memoryStore,
  requireOptions,
  text,
} from "../../core/options.ts";
import { checkMethods } from "../../core/store-arguments.ts";
import { Outages, warnedOutages } from "../../core/warn.ts";
import { WorkQueue } from "../../core/work-queue.ts";
import { BagOfWordsEmbedder } from "../../embedders/word-embedders.ts";
import { hasOnlyStopWords } from "../../indexing/score/question.ts";
import { formProblem } from "../../indexing/vectors/vector-codes.ts";
import { STOP_WORDS } from "../../indexing/words/english.ts";
import { words } from "../../indexing/words/words.ts";
import {
  CONNECTIVITY,
  type Embed,
  EXPANSION_ADD,
  type FillOptions,
  fillIndex,
  HnswIndex,
  type IndexMake,
  loadUsearch,
  textHash,
} from "./hnsw-index.ts";
import type { IndexPlace } from "./index-file.ts";
import { byScore, mergedHits, nearestEntries, withNeighbours } from "./nearest-entries.ts";

export interface HnswMemoryStoreOptions {
  /** The store of the entries. Entries that are in it already are indexed too. */
  readonly entries: MemoryStore;
  /** The file of the index. Without a file, each process makes its own. */
  readonly file?: string;
  /**
   * A secret of the user's, for a file that others may write. An index that was written without it
   * is made again, and never loaded: a crafted one could end the process.
   */
  readonly key?: Uint8Array;
  /** No part of the file's path below this folder may be a link. Default: the file's folder. */
  readonly root?: string;
  /** Makes the vectors. Default: a bag of words in 4096 buckets. */
  readonly embedder?: Embedder;
  /** Called when vectors cannot be made or the index cannot be kept. Both are tried again. Default: a process warning. */
  readonly onBackgroundError?: (error: unknown) => void;
}

const OPTIONS = group(
  {
    entries: memoryStore,
    file: text,
    key: is("bytes", (value) => value instanceof Uint8Array),
    root: text,
    embedder: embedderCheck,
    onBackgroundError: callback,
  },
  ["entries"],
);

/** The time that a search waits for entries to get their vectors. */
const SEARCH_WAITS_MS = 1000;
/** Maximum entries of other processes that `add` embeds besides its own. */
const OTHERS_MAX = 1024;

/**
 * The specification's memory store: the nearest neighbours of a question's vector, found in a graph
 * (HNSW, cosine, M 16, efConstruction 200).
 *
 * Another store keeps the entries. The graph is an index of it, and takes in the entries that any process has
 * added. While the embedder fails, or many entries have no vector yet, the other store's search
 * finds those.
 *
 * Closing it writes the index and closes the other store.
 */
export class HnswMemoryStore implements MemoryStore {
  static {
    checkMethods("memory", HnswMemoryStore);
  }
  readonly #entries: MemoryStore;
  readonly #place: IndexPlace | undefined;
  readonly #embedder: Embedder;
  readonly #outages: Outages;
  #make: Promise<IndexMake> | undefined;
  #index: HnswIndex | undefined;
  /** Changes to the index, one after the other. */
  readonly #work = new WorkQueue();
  readonly #closing = new AbortController();

  /** @throws SessionError `INVALID_PARAMS` */
  constructor(options: HnswMemoryStoreOptions) {
    requireOptions("HnswMemoryStore", OPTIONS, options);
    this.#entries = options.entries;
    const { file, key = new Uint8Array(), root = file && dirname(file) } = options;
    this.#place = file === undefined || root === undefined ? undefined : { file, key, root };
    this.#embedder = options.embedder ?? new BagOfWordsEmbedder();
    const { onBackgroundError } = options;
    this.#outages = onBackgroundError
      ? new Outages((error) => onBackgroundError(error))
      : warnedOutages;
  }

  /** @throws SessionError `SESSION_STORE_ERROR` when the library is not installed. Then nothing is stored. */
  async add(entries: readonly MemoryEntry[]): Promise<number> {
    await this.#open();
    const added = await this.#entries.add(entries);
    if (added > 0) await this.#catchUp({ entriesMax: entries.length + OTHERS_MAX });
    return added;
  }

  async search({ bestMatch = 0, ...query }: MemoryQuery): Promise<readonly MemoryHit[]> {
    return ifSureEnough(await this.#search(query), { bestMatch });
  }

  async #search(query: MemoryQuery): Promise<readonly MemoryHit[]> {
    const texts = [query.query].flat().filter((text) => text.trim() !== "");
    if (texts.length === 0 || query.limit <= 0) return [];
    // Their vectors say nothing, and some entry is always the nearest.
    const plain = texts.filter(hasOnlyStopWords);
    const byWords = plain.length > 0 ? await this.#entries.search({ ...query, query: plain }) : [];
    if (plain.length === texts.length) return byWords;
    const asked = { ...query, query: texts.filter((text) => !hasOnlyStopWords(text)) };
    return mergedHits([byWords, await this.#searchByMeaning(asked)], query.limit);
  }

  async #searchByMeaning(query: MemoryQuery & { readonly query: readonly string[] }) {
    await this.#open();
    const vectors = await this.#embedIfPossible(query.query);
    const isComplete = vectors !== undefined && (await this.#catchUpInTime());
    const index = await this.#open();
    const found = vectors
      ? await nearestEntries(index, this.#entries, vectors, query, this.#embedder)
      : [];
    const waiting = isComplete ? [] : await this.#foundByWords(query, vectors && index);
    const best = [...found, ...waiting].sort(byScore).slice(0, query.limit);
    return withNeighbours(best, this.#entries, query);
  }

  read(ids: readonly string[]): Promise<readonly MemoryEntry[]> {
    return this.#entries.read(ids);
  }

  list(page: MemoryPage): Promise<readonly MemoryEntry[]> {
    return this.#entries.list(page);
  }

  async mark(id: string, marks: EntryMarks): Promise<boolean> {
    return (await this.#entries.mark?.(id, marks)) ?? false;
  }

  async stats(of?: { readonly sessionId: string }): Promise<MemoryStats> {
    const { index: _, vectors: __, ...stats } = await this.#entries.stats(of);
    const { id, trained } = this.#embedder;
    const kept = this.#place && lstatSync(this.#place.file, { throwIfNoEntry: false });
    const diskBytes = (stats.diskBytes ?? 0) + (kept?.size ?? 0);
    return {
      ...stats,
      index: `nearest neighbours (HNSW, cosine, M ${CONNECTIVITY}, efConstruction ${EXPANSION_ADD}) of vectors by ${id}`,
      ...(diskBytes > 0 ? { diskBytes } : {}),
      ...(trained && !of ? { vectors: await this.#vectors(stats.entries) } : {}),
    };
  }

  async #vectors(entries: number): Promise<NonNullable<MemoryStats["vectors"]>> {
    const { size } = await this.#open();
    const embedded = Math.min(size, entries);
    return { embedder: this.#embedder.id, embedded, pending: entries - embedded };
  }

  async delete(
    which: { readonly ids: readonly string[] } | { readonly sessionId: string },
  ): Promise<number> {
    const index = await this.#open();
    const ids = "ids" in which ? which.ids : await this.#idsOf(which.sessionId);
    const deleted = await this.#entries.delete(which);
    await this.#work.run(async () => {
      for (const id of ids) index.remove(id);
    });
    return deleted;
  }

  async verify(watch: Watch = {}): Promise<MemoryCheck> {
    const { entries, problems } = await this.#entries.verify(watch);
    await this.#catchUp(watch);
    const hashes = new Map<string, string>();
    for await (const entry of this.#all()) {
      watch.signal?.throwIfAborted();
      hashes.set(entry.id, textHash(entry));
    }
    const index = await this.#open();
    return { entries, problems: [...problems, ...index.problems(hashes)].slice(0, 100) };
  }

  async reindex(watch: Watch = {}): Promise<void> {
    await this.#entries.reindex(watch.signal === undefined ? {} : { signal: watch.signal });
    const fresh = new HnswIndex(await this.#made());
    await fillIndex(fresh, this.#entries, (texts, signal) => this.#embed(texts, signal), watch);
    await this.#work.run(async () => {
      this.#index = fresh;
      await this.#write(fresh);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#work.idle();
    if (this.#index && this.#index.changes > 0) await this.#write(this.#index);
    this.#index = undefined;
    await this.#entries.close();
  }

  /** The index from its file, or an empty one, which is filled later. */
  async #open(): Promise<HnswIndex> {
    const make = await this.#made();
    this.#index ??= this.#read(make) ?? new HnswIndex(make);
    return this.#index;
  }

  #read(make: IndexMake): HnswIndex | undefined {
    try {
      return this.#place && HnswIndex.read(this.#place, make);
    } catch (error) {
      this.#outages.failed(this, error, NO_VECTORS);
      return undefined;
    }
  }

  #made(): Promise<IndexMake> {
    const { dimensions } = this.#embedder;
    this.#make ??= loadUsearch().then((makeGraph) => ({
      makeGraph,
      dimensions,
      source: vectorSource(this.#embedder),
    }));
    return this.#make;
  }

  /** Returns whether the index has all entries now. It tries the rest again the next time. */
  #catchUp({ signal: given, ...options }: FillOptions = {}): Promise<boolean> {
    const { signal, release } = joinSignals([given, this.#closing.signal]);
    return this.#work
      .run(async () => {
        const index = await this.#open();
        try {
          const fill = { ...options, signal };
          return await fillIndex(index, this.#entries, this.#embedIfPossible, fill);
        } finally {
          // A killed process loses little, and writing costs little.
          if (index.changes > Math.max(1000, index.size / 4)) await this.#write(index);
        }
      })
      .finally(release);
  }

  /** The same, but the search does not wait for long work, which goes on after it. */
  async #catchUpInTime(): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => late.resolve(false), SEARCH_WAITS_MS);
    try {
      return await Promise.race([this.#catchUp(), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  readonly #embedIfPossible: Embed = async (texts, signal) => {
    try {
      return await this.#outages.watch(this.#embedder, () => this.#embed(texts, signal));
    } catch (error) {
      signal?.throwIfAborted();
      this.#outages.failed(this.#embedder, error, NO_VECTORS);
      return undefined;
    }
  };

  async #embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    const { id, dimensions } = this.#embedder;
    const embeddable = texts.map((text) => embeddableText(text, this.#embedder));
    const vectors = await this.#embedder.embed(embeddable, signal === undefined ? {} : { signal });
    // In the graph, one that is none is near everything, or near nothing for good.
    const problem = texts
      .map((_, at) => formProblem(vectors[at], dimensions))
      .find((found) => found !== undefined);
    if (problem !== undefined) throw new Error(`${id} cannot be used: ${problem}.`);
    return vectors;
  }

  /** Searches by words the entries that are not in the index. Without an index, searches all. */
  async #foundByWords(
    query: MemoryQuery,
    index: HnswIndex | undefined,
  ): Promise<readonly MemoryHit[]> {
    const { neighbours: _, ...rest } = query;
    const hits = await this.#entries.search({
      ...rest,
      // Entries of the index, which are dropped below, may come first.
      limit: index ? Math.max(100, 4 * query.limit) : query.limit,
    });
    return hits.filter(({ id }) => !index?.hasId(id));
  }

  async #idsOf(sessionId: string): Promise<readonly string[]> {
    return (await Array.fromAsync(this.#all({ sessionId }))).map(({ id }) => id);
  }

  async *#all(filter: { readonly sessionId?: string } = {}): AsyncGenerator<MemoryEntry> {
    let after: string | undefined;
    for (;;) {
      const page = await this.#entries.list({
        ...filter,
        limit: 500,
        ...(after === undefined ? {} : { after }),
      });
      yield* page;
      after = page.at(-1)?.id;
      if (after === undefined) return;
    }
  }

  async #write(index: HnswIndex): Promise<void> {
    const place = this.#place;
    if (place) {
      await this.#outages.attempt(this.#work, async () => index.write(place), NO_VECTORS);
    }
  }
}

const NO_VECTORS = "Some memory has no vectors yet.";

/**
 * The input of an embedder for a text. A model reads the text. An embedder that counts words gets
 * the words as the word index cuts them, without stop words. It would only split at spaces itself.
 */
function embeddableText(text: string, { trained }: Embedder): string {
  if (trained) return text;
  const meaningful = words(text).filter((word) => !STOP_WORDS.has(word));
  return meaningful.join(" ") || text;
}

/** Names the embedder and how texts are cut. Vectors of different sources cannot be compared. */
function vectorSource(embedder: Embedder): string {
  return embedder.trained
    ? embedder.id
    : `${embedder.id} of ${hash("sha1", embeddableText(SAMPLE, embedder))}`;
}

/** Words of every kind. If they are cut in another way, the vectors have to be made again. */
const SAMPLE =
  "Caroline's café went to run_tests getUserName src/turn_id.ts 1,000 at 10:30 running 東京都に เชียงใหม่ 서울에서 Straße 🎉";
