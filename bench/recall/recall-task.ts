import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { MemoryEntry } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import type { SayProgress } from "../bench.ts";
import type { Conversation, Question } from "../data/conversation.ts";
import { madeUpDataset, readDatasets } from "../data/dataset.ts";
import { Fts5Store } from "../fts5-store.ts";
import { type Measures, meanMeasures, measure } from "./measures.ts";

export interface RecallInput {
  readonly folder: string;
  /** The folder and the name of a set, or a number of made-up conversations. */
  readonly data: { readonly folder: string; readonly set: string } | number;
  /** Whether all conversations share one store. */
  readonly pooled: boolean;
}

export interface RecallOf {
  readonly answerable: Measures;
  readonly unanswerable: Measures;
  readonly msPerQuestion: number;
}

export interface RecallOutput {
  readonly answerable: number;
  readonly unanswerable: number;
  readonly rkat: RecallOf;
  readonly fts5: RecallOf;
}

const BATCH = 100;
const LIMIT = 10;

/** Asks rkat and FTS5 all questions of a set. */
export async function recallTask(
  { folder, data, pooled }: RecallInput,
  say: SayProgress,
): Promise<RecallOutput> {
  const { conversations } =
    typeof data === "number"
      ? madeUpDataset(data)
      : (readDatasets(data.folder).find(({ name }) => name === data.set) ?? madeUpDataset(0));
  const rkat: Asked[] = [];
  const fts5: Asked[] = [];
  const groups = pooled ? [pool(conversations)] : conversations;
  for (const [index, { entries, questions }] of groups.entries()) {
    await say(`store ${index + 1} of ${groups.length}`);
    const place = join(folder, "recall");
    mkdirSync(place);
    const stores = sqliteStores({ path: join(place, "rkat.db"), thread: "main" });
    const peer = new Fts5Store(join(place, "fts5.db"));
    try {
      for (let start = 0; start < entries.length; start += BATCH) {
        const batch = entries.slice(start, start + BATCH);
        await stores.memory.add(batch);
        peer.add(batch);
      }
      for (const question of questions) {
        rkat.push(
          await ask(question, async (query) => {
            const hits = await stores.memory.search({ query, limit: LIMIT });
            return hits.map(({ id }) => id);
          }),
        );
        fts5.push(await ask(question, (query) => peer.search(query, LIMIT)));
      }
    } finally {
      await stores.close();
      peer.close();
      rmSync(place, { recursive: true });
    }
  }
  const answerable = rkat.filter(({ question }) => question.relevant.length > 0).length;
  return {
    answerable,
    unanswerable: rkat.length - answerable,
    rkat: summary(rkat),
    fts5: summary(fts5),
  };
}

function pool(conversations: readonly Conversation[]): Omit<Conversation, "id"> {
  return {
    entries: conversations.flatMap(({ entries }): readonly MemoryEntry[] => entries),
    questions: conversations.flatMap(({ questions }): readonly Question[] => questions),
  };
}

interface Asked {
  readonly question: Question;
  readonly measures: Measures;
  readonly ms: number;
}

async function ask(
  question: Question,
  search: (text: string) => Promise<readonly string[]> | readonly string[],
): Promise<Asked> {
  const start = performance.now();
  const found = await search(question.text);
  const ms = performance.now() - start;
  return { question, measures: measure(found, question), ms };
}

function summary(asked: readonly Asked[]): RecallOf {
  const means = (answered: boolean) =>
    meanMeasures(
      asked
        .filter(({ question }) => question.relevant.length > 0 === answered)
        .map(({ measures }) => measures),
    );
  return {
    answerable: means(true),
    unanswerable: means(false),
    msPerQuestion: asked.reduce((sum, { ms }) => sum + ms, 0) / Math.max(1, asked.length),
  };
}
