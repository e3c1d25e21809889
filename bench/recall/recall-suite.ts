import type { Bench } from "../bench.ts";
import { readDatasets } from "../data/dataset.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, type Figure, figure } from "../report.ts";
import type { Measures } from "./measures.ts";
import type { RecallInput, RecallOutput } from "./recall-task.ts";

const MADE_UP_CONVERSATIONS = { quick: 2, full: 10 } as const;

/** Recall: whether the messages that answer a question are among the first results. */
export async function recallSuite(bench: Bench): Promise<BenchTable[]> {
  const { data, quick } = bench.options;
  const sources: readonly RecallInput["data"][] =
    data === undefined
      ? [quick ? MADE_UP_CONVERSATIONS.quick : MADE_UP_CONVERSATIONS.full]
      : readDatasets(data).map(({ name }) => ({ folder: data, set: name }));
  const tables: BenchTable[] = [];
  for (const source of sources) {
    const name = typeof source === "number" ? "made-up conversations" : source.set;
    for (const pooled of [false, true]) {
      const stores = pooled ? "all in one store" : "one store per conversation";
      const input = { folder: bench.folder, data: source, pooled };
      const watch = {
        ...bench,
        onProgress: (text: string) => bench.onProgress(`${name}, ${text}`),
      };
      const output = await inOwnProcess("recall", input, watch);
      tables.push({
        suite: "recall",
        title: `recall, ${name}, ${stores}`,
        method: `${output.answerable} questions with an answer, ${output.unanswerable} without; ten results each, at the default floor. FTS5 with Porter's stemmer is asked the same words without stop words.`,
        figures: figuresOf(output),
      });
    }
  }
  return tables;
}

const NAMES: readonly (readonly [name: string, measure: keyof Measures])[] = [
  ["R@1", "recallAt1"],
  ["R@5", "recallAt5"],
  ["R@10", "recallAt10"],
  ["nDCG@10", "ndcgAt10"],
  ["MRR", "reciprocalRank"],
];

function figuresOf({ answerable, unanswerable, rkat, fts5 }: RecallOutput): Figure[] {
  const percent = (name: string, value: number, other: number) =>
    figure(name, "%", 100 * value, { name: "FTS5", value: 100 * other });
  const none = "nothing relevant, of questions";
  return [
    ...(answerable > 0
      ? NAMES.map(([name, key]) => percent(name, rkat.answerable[key], fts5.answerable[key]))
      : []),
    ...(answerable > 0
      ? [percent(`${none} with an answer`, rkat.answerable.nothing, fts5.answerable.nothing)]
      : []),
    ...(unanswerable > 0
      ? [percent(`${none} without`, rkat.unanswerable.nothing, fts5.unanswerable.nothing)]
      : []),
    figure("a question", "ms", rkat.msPerQuestion, { name: "FTS5", value: fts5.msPerQuestion }),
  ];
}
