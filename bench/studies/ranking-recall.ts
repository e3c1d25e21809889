import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { MemoryStore } from "../../src/core/memory-store.ts";
import { findEntries } from "../../src/search/find-entries.ts";
import { indexedEntry, inMemoryIndex } from "../../src/search/in-memory-index.ts";
import { RANKING, type RankingWeights } from "../../src/search/ranking-weights.ts";
import { openDatabase } from "../../src/stores/sqlite/database.ts";
import { SqliteMemoryStore } from "../../src/stores/sqlite/sqlite-memory-store.ts";
import { type Dataset, readDatasets } from "../data/dataset.ts";
import { type Measures, meanMeasures, measure } from "../recall/measures.ts";
import { type Difference, pairedBootstrap } from "./paired-bootstrap.ts";

/**
 * How many of the messages that answer a question are among the first ten results, and how
 * many questions about something else get none.
 *
 *     node bench/studies/ranking-recall.ts --data FOLDER [--set locomo,realtalk] [--ablate]
 *
 * FOLDER has a folder for each set, as `npm run bench -- --data` takes it. "each" asks a store that
 * has one conversation, "pooled" one that has all of the set. "off" are the questions of the
 * other sets: the share that gets no result. All are asked at the default floor. `--ablate`
 * says instead what R@10 loses when a part of the ranking is switched off, with the interval
 * that 95 of 100 resamples of the questions fall into.
 */

type Conversations = Dataset["conversations"];
/** Ids of the results, best first. */
type Search = (query: string) => Promise<readonly string[]>;

interface Cell {
  readonly set: string;
  readonly store: "each" | "pooled";
  /** One for each store: what is in it, what is asked of it, and which questions are about something else. */
  readonly groups: readonly (Conversations[number] & { readonly off: readonly string[] })[];
}

const LIMIT = 10;
const BATCH = 100;
/** Questions about something else are asked of the pooled store up to so many, evenly chosen. */
const OFF_MAX = 400;

/** What each part of the ranking is when it is switched off. */
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

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      data: { type: "string", default: "../shared/bench/data" },
      set: { type: "string", default: "locomo,realtalk,beam128k" },
      ablate: { type: "boolean", default: false },
    },
  });
  if (!existsSync(values.data)) {
    console.log(`Skipped: there is no folder ${values.data}; name one with --data.`);
    return;
  }
  const names = values.set.split(",");
  const cells = cellsOf(readDatasets(values.data).filter(({ name }) => names.includes(name)));
  await (values.ablate ? ablate(cells) : report(cells));
}

function cellsOf(sets: readonly Dataset[]): Cell[] {
  return sets.flatMap(({ name, conversations }): Cell[] => {
    const others = sets
      .filter((set) => set.name !== name)
      .flatMap((set) => set.conversations.flatMap(({ questions }) => questions));
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
        groups: [
          {
            id: name,
            entries: conversations.flatMap(({ entries }) => entries),
            questions: conversations.flatMap(({ questions }) => questions),
            off: off(0, Math.ceil(others.length / OFF_MAX)),
          },
        ],
      },
    ];
  });
}

async function report(cells: readonly Cell[]): Promise<void> {
  const heads = ["R@1", "R@5", "R@10", "nDCG@10", "MRR", "nothing", "off: nothing", "ms/query"];
  console.log(row("set, store", heads));
  for (const cell of cells) {
    const rows: Measures[] = [];
    const off: boolean[] = [];
    let searchMs = 0;
    for (const { entries, questions, off: others } of cell.groups) {
      await withStore(entries, async (memory) => {
        const search: Search = async (query) =>
          (await memory.search({ query, limit: LIMIT })).map(({ id }) => id);
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
async function ablate(cells: readonly Cell[]): Promise<void> {
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

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

function row(name: string, cells: readonly string[], width = 13): string {
  return [name.padEnd(24), ...cells.map((cell) => cell.padStart(width))].join("");
}

async function withStore(
  entries: Conversations[number]["entries"],
  use: (memory: MemoryStore) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "rkat-recall-"));
  const memory = new SqliteMemoryStore(openDatabase({ path: join(folder, "rkat.db") }));
  try {
    for (let start = 0; start < entries.length; start += BATCH) {
      await memory.add(entries.slice(start, start + BATCH));
    }
    await use(memory);
  } finally {
    await memory.close();
    rmSync(folder, { recursive: true });
  }
}
