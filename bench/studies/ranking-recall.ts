import { parseArgs } from "node:util";
import { findEntries } from "../../src/indexing/score/find-entries.ts";
import { RANKING, type RankingWeights } from "../../src/indexing/score/ranking-weights.ts";
import { indexedEntry, inMemoryIndex } from "../../test/support/in-memory-index.ts";
import type { Conversation } from "../data/conversation.ts";
import type { Dataset } from "../data/dataset.ts";
import { type Measures, meanMeasures, measure } from "../recall/measures.ts";
import { type Difference, pairedBootstrap } from "./paired-bootstrap.ts";
import { LIMIT, percent, pooled, readSets, row, STUDY_OPTIONS, withStore } from "./recall-study.ts";

/**
 * Recall@10 of the ranking, and how many questions about something else get no result.
 *
 *     node bench/studies/ranking-recall.ts --data FOLDER [--set locomo,realtalk] [--ablate]
 *
 * FOLDER has a folder for each set, as `npm run bench -- --data` takes it. "each" searches a store
 * with one conversation, "pooled" a store with the whole set. "off: nothing" is the share of the
 * other sets' questions that get no result. The floor is the default one. `--ablate` prints instead
 * what recall@10 loses without each part of the ranking, with a 95 % interval from a paired bootstrap.
 */

interface Cell {
  readonly set: string;
  readonly store: "each" | "pooled";
  /** For each store its entries, its questions, and questions about something else. */
  readonly groups: readonly (Conversation & { readonly off: readonly string[] })[];
}

/** How many questions about something else the pooled store is asked, evenly chosen. */
const OFF_MAX = 400;

/** The weights that switch off each part of the ranking. */
const PARTS: Readonly<Record<string, Partial<RankingWeights>>> = {
  "speaker's name is a word": { speaker: 0 },
  "speaker is named": { speakerNamed: 1 },
  "both of these": { speaker: 0, speakerNamed: 1 },
  "words of the date": { date: 0 },
  neighbours: { neighbour: 0 },
  "answers to questions": { answer: 0 },
  "both of these around": { neighbour: 0, answer: 0 },
  "words that are names": { name: 1 },
  "length of the passage": { length: 0 },
  session: { session: 0 },
  "assistant is less likely": { assistant: 1 },
  "asked when, says when": { withoutTime: 1 },
  "from the time named": { inTime: 1 },
};

const { values } = parseArgs({
  options: { ...STUDY_OPTIONS, ablate: { type: "boolean", default: false } },
});
const cells = cellsOf(readSets(values));
if (values.ablate) await ablate();
else await report();

function cellsOf(sets: readonly Dataset[]): Cell[] {
  return sets.flatMap((set): Cell[] => {
    const { name, conversations } = set;
    const others = sets
      .filter((other) => other !== set)
      .flatMap((other) => pooled(other).questions);
    const off = (part: number, parts: number) =>
      others.filter((_, index) => index % parts === part).map(({ text }) => text);
    return [
      {
        set: name,
        store: "each",
        groups: conversations.map((conversation, index) => ({
          ...conversation,
          off: off(index, conversations.length),
        })),
      },
      {
        set: name,
        store: "pooled",
        groups: [{ ...pooled(set), off: off(0, Math.ceil(others.length / OFF_MAX)) }],
      },
    ];
  });
}

async function report(): Promise<void> {
  const heads = ["R@1", "R@5", "R@10", "nDCG@10", "MRR", "nothing", "off: nothing", "ms/query"];
  console.log(row("set, store", heads));
  for (const cell of cells) {
    const rows: Measures[] = [];
    const off: boolean[] = [];
    let searchMs = 0;
    for (const { entries, questions, off: others } of cell.groups) {
      await withStore(entries, undefined, async (search) => {
        const start = performance.now();
        for (const question of questions) {
          rows.push(measure(await search(question.text), question));
        }
        searchMs += performance.now() - start;
        for (const query of others) off.push((await search(query)).length === 0);
      });
    }
    const means = meanMeasures(rows);
    const shares = [
      means.recallAt1,
      means.recallAt5,
      means.recallAt10,
      means.ndcgAt10,
      means.reciprocalRank,
      means.nothing,
      off.filter(Boolean).length / off.length,
    ];
    console.log(
      row(`${cell.set} ${cell.store}`, [
        ...shares.map(percent),
        (searchMs / rows.length).toFixed(2),
      ]),
    );
  }
}

/** Through an index in memory, which gives the same results as the store's. */
async function ablate(): Promise<void> {
  const indexes = cells.map(({ groups }) =>
    groups.map(({ entries, questions }) => ({
      index: inMemoryIndex(entries.map(indexedEntry)),
      questions,
    })),
  );
  const recallOf = (weights: RankingWeights) =>
    indexes.map((groups) =>
      groups.flatMap(({ index, questions }) =>
        questions.map((question) => {
          const found = findEntries(index, { texts: [question.text], limit: LIMIT }, weights);
          const ids = found.map(({ slot }) => index.entryAt(slot)?.id ?? "");
          return measure(ids, question).recallAt10;
        }),
      ),
    );
  const whole = recallOf(RANKING);
  console.log(
    row(
      "R@10 without",
      cells.map(({ set, store }) => `${set} ${store}`),
      24,
    ),
  );
  for (const [part, off] of Object.entries(PARTS)) {
    const differences = recallOf({ ...RANKING, ...off }).map((recalls, cell) =>
      pairedBootstrap(recalls.map((recall, asked) => recall - (whole[cell]?.[asked] ?? 0))),
    );
    console.log(row(part, differences.map(interval), 24));
  }
}

function interval({ mean, low, high }: Difference): string {
  const signed = (value: number) => `${value < 0 ? "" : "+"}${(100 * value).toFixed(1)}`;
  return `${signed(mean)} [${signed(low)}, ${signed(high)}]`;
}
