import type { SayProgress } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { Fts5Store } from "../fts5-store.ts";
import { type SearchTimes, SearchWatch } from "../measuring.ts";
import { fts5Path, openMemory } from "./open-memory.ts";

export interface SearchInput {
  readonly folder: string;
  readonly size: number;
  readonly vectors: boolean;
  readonly questions: number;
  readonly rounds: number;
  /** Rounds go on for at least this long. */
  readonly leastMs?: number;
}

export interface SearchOutput {
  readonly rkat: SearchTimes;
  readonly fts5: SearchTimes;
}

const LIMIT = 10;
const WARM_UP = 20;

/** Asks rkat and FTS5 the same questions, alternating, round after round. */
export async function searchTask(
  { folder, size, vectors, questions, rounds, leastMs = 0 }: SearchInput,
  say: SayProgress,
): Promise<SearchOutput> {
  const memory = openMemory(folder, vectors);
  const fts5 = new Fts5Store(fts5Path(folder));
  const asked = madeUpQuestions(size, questions);
  const watches = { rkat: new SearchWatch(), fts5: new SearchWatch() };
  for (const { text } of asked.slice(0, WARM_UP)) {
    await memory.search({ query: text, limit: LIMIT });
    fts5.search(text, LIMIT);
  }
  const startedAt = performance.now();
  for (let round = 0; round < rounds || performance.now() - startedAt < leastMs; round += 1) {
    await say(`searching, round ${round + 1}`);
    for (const [number, { text }] of asked.entries()) {
      await watches.rkat.time(number, () => memory.search({ query: text, limit: LIMIT }));
      await watches.fts5.time(number, () => fts5.search(text, LIMIT));
    }
  }
  await memory.close();
  fts5.close();
  return { rkat: watches.rkat.times(), fts5: watches.fts5.times() };
}

export interface FootprintInput {
  readonly folder: string;
  readonly vectors: boolean;
  readonly questions: readonly string[];
}

/** The resident bytes of a process, before it opens a store and after it searched it. */
export interface FootprintOutput {
  readonly before: number;
  readonly after: number;
}

/** Opens the store and searches it, in a process that does nothing else. */
export async function footprintTask(input: FootprintInput): Promise<FootprintOutput> {
  const before = process.memoryUsage.rss();
  const memory = openMemory(input.folder, input.vectors);
  for (const query of input.questions) await memory.search({ query, limit: LIMIT });
  const after = process.memoryUsage.rss();
  await memory.close();
  return { before, after };
}
