import { parseArgs } from "node:util";
import type { MemoryEntry } from "../../src/core/memory-store.ts";
import { type FoundEntry, findEntries } from "../../src/search/find-entries.ts";
import { indexedEntry, inMemoryIndex } from "../../test/support/in-memory-index.ts";
import type { Conversation, Question } from "../data/conversation.ts";
import { below, randomFrom } from "../data/random.ts";
import { PROJECT_NOTES, UNRELATED } from "./project-notes.ts";
import { LIMIT, percent, pooled, readSets, row, STUDY_OPTIONS } from "./recall-study.ts";

/**
 * What the floor of a score gives and takes, by the size of the store.
 *
 *     node bench/studies/small-stores.ts --data FOLDER [--set locomo,realtalk]
 *
 * For each floor the first figure is the share of questions whose answer is found (among ten results), the second
 * the share of questions about something else that get a result. Stores are made-up notes of a project, each
 * with a short answer of an assistant, and runs of entries of the recall sets. "near" are questions about notes
 * that are not in the store. "no word" is the share of results that have none of the question's words.
 */

const FLOORS = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35];
const SIZES = [10, 30, 100];
const SAMPLES = 12;
const OFF_MAX = 400;

interface Store {
  readonly entries: readonly MemoryEntry[];
  readonly questions: readonly Question[];
  readonly off: readonly string[];
  readonly near?: readonly string[];
}

const ANSWERS = [
  "Noted.",
  "Understood, I will keep to that.",
  "Thanks. I have changed the configuration, and all tests pass.",
  "Good to know. Do you want me to write that into the docs?",
  "Done. I also looked at the other files that use it and found nothing else to change.",
];

const { values } = parseArgs({ options: STUDY_OPTIONS });
const sets = readSets(values);
console.log(row("found / off / near at", FLOORS.map(String), 18));
for (const size of SIZES) report(`notes ${size}`, noteStores(size));
for (const set of sets) {
  const others = sets.filter((other) => other !== set).flatMap((other) => pooled(other).questions);
  const off = evenly(others, OFF_MAX).map(({ text }) => text);
  for (const size of SIZES) report(`${set.name} ${size}`, runsOf(set.conversations, size, off));
  report(
    `${set.name} each`,
    set.conversations.map((conversation, at) => ({
      ...conversation,
      off: off.filter((_, index) => index % set.conversations.length === at),
    })),
  );
  report(`${set.name} pooled`, [{ ...pooled(set), off }]);
}

/** Notes and short answers, in sessions of three notes. */
function noteStores(size: number): Store[] {
  return Array.from({ length: SAMPLES }, (_, sample): Store => {
    const random = randomFrom(1000 * size + sample);
    const shuffled = [...PROJECT_NOTES]
      .map((note) => ({ note, place: below(1_000_000, random) }))
      .sort((one, other) => one.place - other.place)
      .map(({ note }) => note);
    const notes = shuffled.slice(0, size / 2);
    const entries = notes.flatMap(({ note }, turn): MemoryEntry[] => {
      const said = { sessionId: `${Math.floor(turn / 3)}`, turn, kind: "message" } as const;
      const answer = ANSWERS[turn % ANSWERS.length] as string;
      return [
        { ...said, id: `${turn}`, content: note, role: "user" },
        { ...said, id: `${turn}a`, content: answer, role: "assistant" },
      ];
    });
    const questions = notes.flatMap(({ phrasings }, turn) =>
      phrasings.map((text) => ({ text, relevant: [`${turn}`] })),
    );
    const near = shuffled.slice(size / 2).flatMap(({ phrasings }) => phrasings);
    return { entries, questions, off: UNRELATED, near };
  });
}

/** Entries that follow each other, with the questions that they answer. */
function runsOf(
  conversations: readonly Conversation[],
  size: number,
  off: readonly string[],
): Store[] {
  const random = randomFrom(size);
  return conversations.flatMap(({ entries, questions }) =>
    Array.from({ length: SAMPLES }, (_, sample): Store => {
      const start = below(Math.max(1, entries.length - size), random);
      const run = entries.slice(start, start + size);
      const ids = new Set(run.map(({ id }) => id));
      return {
        entries: run,
        questions: questions.filter(({ relevant }) => relevant.every((id) => ids.has(id))),
        off: off.filter((_, index) => index % (3 * SAMPLES) === sample),
      };
    }),
  );
}

function report(name: string, stores: readonly Store[]): void {
  const found: number[] = [];
  const off: number[] = [];
  const near: number[] = [];
  for (const store of stores) {
    const index = inMemoryIndex(store.entries.map(indexedEntry));
    const search = (text: string) =>
      findEntries(index, { texts: [text], limit: LIMIT, minScore: 0 });
    for (const { text, relevant } of store.questions) {
      const right = search(text).filter(({ slot }) =>
        relevant.includes(index.entryAt(slot)?.id ?? ""),
      );
      found.push(best(right));
    }
    for (const text of store.off) off.push(best(search(text)));
    for (const text of store.near ?? []) near.push(best(search(text)));
  }
  const cells = FLOORS.map((floor) =>
    [found, off, near]
      .filter((scores) => scores.length > 0)
      .map((scores) => percent(scores.filter((score) => score >= floor).length / scores.length))
      .join(" "),
  );
  console.log(row(name, cells, 18));
}

function best(found: readonly FoundEntry[]): number {
  return found[0]?.score ?? 0;
}

function evenly<Thing>(things: readonly Thing[], count: number): readonly Thing[] {
  const step = Math.ceil(things.length / count);
  return things.filter((_, index) => index % step === 0);
}
