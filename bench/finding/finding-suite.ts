import type { Bench } from "../bench.ts";
import { inOwnProcess } from "../own-process.ts";
import { type BenchTable, type Figure, figure } from "../report.ts";
import { SETS, type SetName } from "./finding-set.ts";
import type { FindingOutput } from "./finding-task.ts";

const ABOUT: Readonly<Record<SetName, string>> = {
  first: "The set that searches were tuned on.",
  second: "Written without knowing the rules; some were added after it was measured.",
  third: "Questions without an answer ask for another thing about what a note is about.",
  fourth: "Written without knowing the rules; some of them were mended after it was measured.",
  fifth:
    "Most questions without an answer are one word away from a note: another thing, another person, a plan.",
  sixth:
    "Half of the questions have no answer: another thing of the same person, the same thing of another.",
};

/** Finding: whether a natural question finds the note that answers it, by what makes it hard. */
export async function findingSuite(bench: Bench): Promise<BenchTable[]> {
  const tables: BenchTable[] = [];
  for (const set of SETS) {
    tables.push(
      ...tablesOf(set, await inOwnProcess("finding", { folder: bench.folder, set }, bench)),
    );
  }
  const bytes = bench.options.quick ? 200_000 : 1_000_000;
  const speeds = await inOwnProcess("languages", { folder: bench.folder, bytes }, bench);
  return [
    ...tables,
    {
      suite: "finding",
      title: "finding, languages",
      method: `${bytes / 1e6} MB of made-up text of each language, in texts of about 60 words, added to a store in a file in batches of 200. Then questions of three words: the median of 40. All in processor time.`,
      figures: speeds.flatMap(({ language, ...of }) => [
        figure(`${language}, indexed`, "MB/s", of.megabytesPerSecond),
        figure(`${language}, a question`, "ms", of.questionMs),
      ]),
    },
  ];
}

function tablesOf(set: SetName, output: FindingOutput): BenchTable[] {
  const percent = (name: string, rkat: number, fts5: number) =>
    figure(name, "%", 100 * rkat, { name: "FTS5", value: 100 * fts5 });
  const rows = (key: "first" | "amongFive"): Figure[] =>
    output.rows.map((row) =>
      percent(`${row.name}, ${row.questions}`, row[key].rkat, row[key].fts5),
    );
  const { answeredWrongly, notes, questions } = output;
  const method = `${ABOUT[set]} ${questions} made-up questions about ${notes} made-up notes in one store. FTS5 with Porter's stemmer is asked the same words.`;
  const title = `finding, ${set} set`;
  return [
    { suite: "finding", title: `${title}, the right note first`, method, figures: rows("first") },
    {
      suite: "finding",
      title: `${title}, the right note among five`,
      method: "The same. The last line is about questions that no note answers.",
      figures: [
        ...rows("amongFive"),
        percent(
          "answered, of questions without an answer",
          answeredWrongly.rkat,
          answeredWrongly.fts5,
        ),
      ],
    },
    {
      suite: "finding",
      title: `${title}, how often a score is right`,
      method:
        "Of first results with a score from this one to the next. Questions without an answer count as wrong.",
      figures: output.scores
        .filter(({ of }) => of > 0)
        .map(({ from, right, of }) => figure(`${from} and up, ${of}`, "%", 100 * right)),
    },
  ];
}
