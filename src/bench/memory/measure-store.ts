import type { Bench } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { inOwnProcess } from "../own-process.ts";
import type { TaskOutput } from "../tasks.ts";
import { type StartTimes, startTimes } from "./start-times.ts";
import { whileAdding } from "./while-adding.ts";

export interface StoreMeasured {
  readonly amounts: Amounts;
  readonly filled: TaskOutput<"fill">;
  readonly searched: TaskOutput<"search">;
  readonly start: StartTimes;
  readonly footprint: TaskOutput<"footprint">;
  readonly single: TaskOutput<"add">;
  /** While another process adds without a pause. */
  readonly busy: TaskOutput<"search">;
}

interface Amounts {
  readonly questions: number;
  readonly rounds: number;
  readonly singles: number;
  readonly starts: number;
}

const AMOUNTS: Readonly<Record<"quick" | "full", Amounts>> = {
  quick: { questions: 100, rounds: 3, singles: 50, starts: 3 },
  full: { questions: 500, rounds: 5, singles: 300, starts: 11 },
};

/** Fills a store and does with it what one does with a store, each in a process of its own. */
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
  const from = options.size + singles;
  const busy = await whileAdding(bench, { folder, vectors, from }, () =>
    inOwnProcess("search", { ...store, questions, rounds: 3 }, bench),
  );
  return { amounts, filled, searched, start, footprint, single, busy };
}

/** How that was done, in sentences. */
export function storeMethod({ amounts, filled }: StoreMeasured, size: number): string {
  const { questions, rounds, singles, starts } = amounts;
  return `Made-up texts of ${Math.round(filled.textBytes / size)} bytes on average. ${questions} questions, ten results each, asked ${rounds} times of rkat and of FTS5 by turns; each question's median counts. FTS5 has Porter's stemmer and is asked without stop words. ${singles} single adds, ${starts} starts of each program; medians. All adds are durable (WAL, synchronous=FULL); their rate includes what rkat does in the background until it is done.`;
}
