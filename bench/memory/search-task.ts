import type { SayProgress } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { Fts5Store } from "../fts5-store.ts";
import { type SearchTimes, SearchWatch } from "../search-times.ts";
import { openMemory } from "./open-memory.ts";
import { fts5Path } from "./places.ts";

export interface SearchInput {
  readonly folder: string;
  readonly size: number;
  readonly vectors: boolean;
  readonly questions: number;
  readonly rounds: number;
  /** More rounds are asked until so much time has passed. */
  readonly leastMs?: number;
}

export interface SearchOutput {
  readonly rkat: SearchTimes;
  readonly fts5: SearchTimes;
}

const LIMIT = 10;
const WARM_UP = 20;

/** Asks rkat and FTS5 the same questions by turns, round after round. */
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
