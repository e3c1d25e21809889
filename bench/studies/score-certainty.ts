import { parseArgs } from "node:util";
import { findEntries } from "../../src/indexing/score/find-entries.ts";
import { indexedEntry, inMemoryIndex } from "../../test/support/in-memory-index.ts";
import type { Conversation } from "../data/conversation.ts";
import { LIMIT, percent, pooled, readSets, row, STUDY_OPTIONS } from "./recall-study.ts";

/**
 * What scores are worth: of the results with a score from this one to the next, how many are right.
 *
 *     node bench/studies/score-certainty.ts --data FOLDER [--set locomo,realtalk]
 *
 * "each" searches a store with one conversation, "pooled" one with the whole set, and a number a store with so many entries
 * in a row, in which every fifth question has its answer; a second one is of the same conversation, and mostly has none.
 */

const FROM = [0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];
const SIZES = [1, 10, 100] as const;

interface Counted {
  readonly score: number;
  readonly isRight: boolean;
}

function ask({ entries, questions }: Omit<Conversation, "id">): readonly Counted[] {
  const index = inMemoryIndex(entries.map(indexedEntry));
  return questions.flatMap(({ text, relevant }) =>
    findEntries(index, { texts: [text], limit: LIMIT }).map(({ slot, score }) => ({
      score,
      isRight: relevant.includes(index.entryAt(slot)?.id ?? ""),
    })),
  );
}

/** Small stores with the answer of a question, which are asked this question and another one. */
function smallStores({ entries, questions }: Conversation, size: number) {
  return questions.flatMap((question, number) => {
    const answer = entries.findIndex(({ id }) => question.relevant.includes(id));
    if (number % 5 > 0 || answer < 0) return [];
    const start = Math.max(0, Math.min(entries.length - size, answer - ((number * 7) % size)));
    const other = questions[(number * 17 + 3) % questions.length] ?? question;
    return [{ entries: entries.slice(start, start + size), questions: [question, other] }];
  });
}

function report(name: string, counted: readonly Counted[]): void {
  const cells = FROM.map((from, at) => {
    const until = FROM[at + 1] ?? 1;
    const some = counted.filter(({ score }) => score >= from && score < until);
    if (some.length === 0) return "";
    const right = some.filter(({ isRight }) => isRight).length;
    return `${percent(right / some.length)} of ${some.length}`;
  });
  console.log(row(name, cells, 14));
}

const { values } = parseArgs({ options: STUDY_OPTIONS });
console.log(
  row(
    "right, with a score from",
    FROM.map((from) => `${from}`),
    14,
  ),
);
for (const set of readSets(values)) {
  const { name, conversations } = set;
  report(`${name} each`, conversations.flatMap(ask));
  report(`${name} pooled`, ask(pooled(set)));
  for (const size of SIZES) {
    const stores = conversations.flatMap((conversation) => smallStores(conversation, size));
    report(`${name} ${size}`, stores.flatMap(ask));
  }
}
