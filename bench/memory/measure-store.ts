import type { Bench } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { inOwnProcess } from "../own-process.ts";
import type { TaskInput, TaskOutput } from "../tasks.ts";
import { type StartTimes, startTimes } from "./start-times.ts";

export interface StoreMeasured {
  readonly amounts: Amounts;
  readonly filled: TaskOutput<"fill">;
  readonly searched: TaskOutput<"search">;
  readonly start: StartTimes;
  readonly footprint: TaskOutput<"footprint">;
  readonly single: TaskOutput<"add">;
  /** Searching while another process reindexes again and again, adds at a fixed rate, or adds nonstop. */
  readonly meanwhile: Readonly<Record<"reindexing" | "adding" | "filling", TaskOutput<"search">>>;
}

interface Amounts {
  readonly questions: number;
  readonly rounds: number;
  readonly singles: number;
  readonly starts: number;
  /** The shortest time to search beside another process: long enough for it to merge segments. */
  readonly meanwhileMs: number;
}

const AMOUNTS: Readonly<Record<"quick" | "full", Amounts>> = {
  quick: { questions: 100, rounds: 3, singles: 50, starts: 3, meanwhileMs: 500 },
  full: { questions: 500, rounds: 5, singles: 300, starts: 11, meanwhileMs: 6000 },
};

/**
 * A thousand entries a second, as from many agents. About five times a second the newest
 * segments become a larger one; about once a second those are merged in the background.
 */
const PACED = { batch: 10, everyMs: 10 } as const;
/** An upper bound on how many entries that adds. */
const PACED_MAX = 1_000_000;

/** Fills a store and measures each use of it, each in its own process. */
export async function measureStore(bench: Bench, vectors: boolean): Promise<StoreMeasured> {
  const { folder, options } = bench;
  const amounts = AMOUNTS[options.quick ? "quick" : "full"];
  const { questions, rounds, singles, starts: runs } = amounts;
  const store = { folder, size: options.size, vectors };
  const filled = await inOwnProcess("fill", store, bench);
  const searched = await inOwnProcess("search", { ...store, questions, rounds }, bench);
  const start = await startTimes(bench, { ...store, runs });
  const texts = madeUpQuestions(options.size, 200).map(({ text }) => text);
  const footprint = await inOwnProcess("footprint", { folder, vectors, questions: texts }, bench);
  bench.onProgress("adding one at a time");
  const single = await inOwnProcess("add", { ...store, count: singles }, bench);
  const asked = { ...store, questions, rounds: 3, leastMs: amounts.meanwhileMs };
  const search = () => inOwnProcess("search", asked, bench);
  const from = options.size + singles;
  const nonstop = { from: from + PACED_MAX, batch: 100, everyMs: 0 };
  // Reindexing comes first, because it leaves the store as it is.
  const meanwhile = {
    reindexing: await beside(bench, "reindex", { folder }, search),
    adding: await beside(bench, "write", { folder, vectors, from, ...PACED }, search),
    filling: await beside(bench, "write", { folder, vectors, ...nonstop }, search),
  };
  return { amounts, filled, searched, start, footprint, single, meanwhile };
}

/** Tasks that run until they are killed. */
type EndlessTask = "write" | "reindex";

/** Works while another process does an endless task. */
async function beside<Name extends EndlessTask, Result>(
  bench: Bench,
  name: Name,
  input: TaskInput<Name>,
  work: () => Promise<Result>,
): Promise<Result> {
  const done = new AbortController();
  const signal = AbortSignal.any([bench.signal, done.signal]);
  const other = inOwnProcess(name, input, { ...bench, signal }).catch((error) => {
    if (!done.signal.aborted) throw error;
  });
  const working = work().finally(() => done.abort());
  // Both must have ended before the folder is removed.
  await Promise.allSettled([other, working]);
  await other;
  return await working;
}

/** How the store was measured, in sentences. */
export function storeMethod(measured: StoreMeasured, size: number): string {
  const { amounts, filled } = measured;
  const { questions, rounds, singles, starts, meanwhileMs } = amounts;
  return `Made-up texts of ${Math.round(filled.textBytes / size)} bytes on average. ${questions} questions, ten results each, in ${rounds} rounds in which rkat and FTS5 alternate; each question's median counts. FTS5 has Porter's stemmer and is asked without stop words. ${singles} single adds, ${starts} starts of each program; medians. All adds are durable (WAL, synchronous=FULL); their rate includes rkat's work in the background. Searches beside another process run for at least ${meanwhileMs / 1000} s. That process reindexes again and again, adds ten entries every ten milliseconds (which merges the newest segments about five times a second, and larger ones about once a second), or adds by 100 without a pause. FTS5, whose file no other process has open, meanwhile took ${fts5Meanwhile(measured)} times as long: that is the effect of sharing the processors.`;
}

function fts5Meanwhile({ searched, meanwhile }: StoreMeasured): string {
  const { reindexing, adding, filling } = meanwhile;
  const ratios = [reindexing, adding, filling].map(({ fts5 }) =>
    (fts5.p50 / searched.fts5.p50).toPrecision(2),
  );
  return `${ratios.slice(0, -1).join(", ")} and ${ratios.at(-1)}`;
}
