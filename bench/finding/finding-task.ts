import { join } from "node:path";
import { createSessionService } from "rkat";
import { sqliteStores } from "rkat/sqlite";
import { scriptedModel } from "rkat/testing";
import type { SayProgress } from "../bench.ts";
import { Fts5Store } from "../fts5-store.ts";
import { type AskedNote, findingSet, KINDS, type SetName } from "./finding-set.ts";

export interface FindingOutput {
  readonly notes: number;
  readonly questions: number;
  /** By kind, by language, and all that have an answer. */
  readonly rows: readonly FindingRow[];
  /** Of the questions that nothing answers. */
  readonly answeredWrongly: Of;
  /** How many of the results with a score from `from` on are right, first ones only. */
  readonly scores: readonly {
    readonly from: number;
    readonly right: number;
    readonly of: number;
  }[];
}

export interface FindingRow {
  readonly name: string;
  readonly questions: number;
  readonly first: Of;
  readonly amongFive: Of;
}

/** A share, from 0 to 1. */
interface Of {
  readonly rkat: number;
  readonly fts5: number;
}

const LIMIT = 5;
const SCORES = [0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8];

interface Asked {
  readonly question: AskedNote;
  /** The places of the answer among the results, from 0; -1 when it is not there. */
  readonly place: { readonly rkat: number; readonly fts5: number };
  readonly found: { readonly rkat: number; readonly fts5: number };
  readonly score: number | undefined;
}

/** Asks rkat and FTS5 all questions about the notes of a set. */
export async function findingTask(
  { folder, set }: { readonly folder: string; readonly set: SetName },
  say: SayProgress,
): Promise<FindingOutput> {
  const { notes, questions } = findingSet(set);
  const stores = sqliteStores({ path: join(folder, `${set}.db`), thread: "main" });
  const service = createSessionService({ model: scriptedModel([]), stores });
  const peer = new Fts5Store(join(folder, `${set}-fts5.db`));
  try {
    await stores.memory.add(notes);
    peer.add(notes);
    await say(`${questions.length} questions`);
    const asked: Asked[] = [];
    for (const question of questions) {
      const { text, at, answer = "none" } = question;
      const hits = await service.searchMemory({ query: text, limit: LIMIT, at });
      const ids = peer.search(text, LIMIT);
      asked.push({
        question,
        place: { rkat: hits.findIndex(({ id }) => id === answer), fts5: ids.indexOf(answer) },
        found: { rkat: hits.length, fts5: ids.length },
        score: hits[0]?.score,
      });
    }
    return summary(notes.length, asked);
  } finally {
    await service.close();
    await stores.close();
    peer.close();
  }
}

function summary(notes: number, asked: readonly Asked[]): FindingOutput {
  const answered = asked.filter(({ question }) => question.answer !== undefined);
  const without = asked.filter(({ question }) => question.answer === undefined);
  const languages = [...new Set(answered.map(({ question }) => question.language))];
  const scored = asked.filter(({ score }) => score !== undefined);
  return {
    notes,
    questions: asked.length,
    rows: [
      ...KINDS.filter((kind) => kind !== "nothing").map((kind) =>
        row(
          kind,
          answered.filter(({ question }) => question.kind === kind),
        ),
      ),
      row("all", answered),
      ...languages.map((language) =>
        row(
          `in ${language}`,
          answered.filter(({ question }) => question.language === language),
        ),
      ),
    ].filter(({ questions }) => questions > 0),
    answeredWrongly: {
      rkat: share(without, ({ found }) => found.rkat > 0),
      fts5: share(without, ({ found }) => found.fts5 > 0),
    },
    scores: SCORES.map((from, at) => {
      const some = scored.filter(
        ({ score = 0 }) => score >= from && score < (SCORES[at + 1] ?? Number.POSITIVE_INFINITY),
      );
      return { from, right: share(some, ({ place }) => place.rkat === 0), of: some.length };
    }),
  };
}

function row(name: string, some: readonly Asked[]): FindingRow {
  return {
    name,
    questions: some.length,
    first: {
      rkat: share(some, ({ place }) => place.rkat === 0),
      fts5: share(some, ({ place }) => place.fts5 === 0),
    },
    amongFive: {
      rkat: share(some, ({ place }) => place.rkat >= 0),
      fts5: share(some, ({ place }) => place.fts5 >= 0),
    },
  };
}

function share(some: readonly Asked[], isIt: (asked: Asked) => boolean): number {
  return some.filter(isIt).length / Math.max(1, some.length);
}
