import type { Bench } from "../bench.ts";
import { madeUpQuestions } from "../data/entries.ts";
import { inOwnProcess } from "../own-process.ts";
import { type Figure, figure } from "../report.ts";
import type { TaskOutput } from "../tasks.ts";
import { meanwhile } from "./meanwhile.ts";
import { type StartTimes, startTimes } from "./start-times.ts";

export interface StoreMeasured {
  readonly amounts: Amounts;
  readonly filled: TaskOutput<"fill">;
  readonly searched: TaskOutput<"search">;
  readonly start: StartTimes;
  readonly footprint: TaskOutput<"footprint">;
  readonly single: TaskOutput<"add">;
  /** While another process writes and merges the index anew, again and again, … */
  readonly whileReindexing: TaskOutput<"search">;
  /** … adds a thousand entries a second, … */
  readonly whileAdding: TaskOutput<"search">;
  /** … adds without a pause. */
  readonly whileFilling: TaskOutput<"search">;
}

interface Amounts {
  readonly questions: number;
  readonly rounds: number;
  readonly singles: number;
  readonly starts: number;
  /** How long questions are asked at least while another process works: so long that it merges. */
  readonly meanwhileMs: number;
}

const AMOUNTS: Readonly<Record<"quick" | "full", Amounts>> = {
  quick: { questions: 100, rounds: 3, singles: 50, starts: 3, meanwhileMs: 500 },
  full: { questions: 500, rounds: 5, singles: 300, starts: 11, meanwhileMs: 6000 },
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
  const asked = { ...store, questions, rounds: 3, leastMs: amounts.meanwhileMs };
  const search = () => inOwnProcess("search", asked, bench);
  const writer = { folder, vectors, from: options.size + singles };
  return {
    amounts,
    filled,
    searched,
    start,
    footprint,
    single,
    // What leaves the store as it is comes first.
    whileReindexing: await meanwhile(bench, "reindex", { folder }, search),
    whileAdding: await meanwhile(bench, "write", { ...writer, ...PACED }, search),
    whileFilling: await meanwhile(
      bench,
      "write",
      { ...writer, from: writer.from + PACED_MAX, batch: 100, everyMs: 0 },
      search,
    ),
  };
}

/**
 * A thousand entries a second, as of many agents: the newest segments become a larger one some five times
 * a second, and those are merged in the background about once a second.
 */
const PACED = { batch: 10, everyMs: 10 };
/** More than that are never added so. */
const PACED_MAX = 1_000_000;

/** What a search takes while another process works, against what it takes while none does. */
export function meanwhileFigures(measured: StoreMeasured, search: string): Figure[] {
  const none = { name: "while none does", value: measured.searched.rkat.p50 };
  return [
    figure(`${search} while another reindexes`, "ms", measured.whileReindexing.rkat.p50, none),
    figure(`${search} while another adds 1000 /s`, "ms", measured.whileAdding.rkat.p50, none),
    figure(`${search} while another adds nonstop`, "ms", measured.whileFilling.rkat.p50, none),
  ];
}

/** How that was done, in sentences. */
export function storeMethod(measured: StoreMeasured, size: number): string {
  const { amounts, filled } = measured;
  const { questions, rounds, singles, starts, meanwhileMs } = amounts;
  return `Made-up texts of ${Math.round(filled.textBytes / size)} bytes on average. ${questions} questions, ten results each, asked ${rounds} times of rkat and of FTS5 by turns; each question's median counts. FTS5 has Porter's stemmer and is asked without stop words. ${singles} single adds, ${starts} starts of each program; medians. All adds are durable (WAL, synchronous=FULL); their rate includes what rkat does in the background until it is done. While another process works, questions are asked for ${meanwhileMs / 1000} s at least: it reindexes again and again, adds ten entries each ten milliseconds, which makes larger segments of the newest ones some five times a second and has those merged about once a second, or adds by 100 without a pause. Meanwhile FTS5, whose file nobody else has open, took ${fts5Meanwhile(measured)} times as long: that is the processors' share.`;
}

function fts5Meanwhile(measured: StoreMeasured): string {
  const { searched, whileReindexing, whileAdding, whileFilling } = measured;
  const ratios = [whileReindexing, whileAdding, whileFilling].map(({ fts5 }) =>
    (fts5.p50 / searched.fts5.p50).toPrecision(2),
  );
  return `${ratios.slice(0, -1).join(", ")} and ${ratios.at(-1)}`;
}
