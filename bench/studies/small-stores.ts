import { parseArgs } from "node:util";
import type { MemoryEntry } from "../../src/core/memory-store.ts";
import type { FoundEntry } from "../../src/indexing/score/entry-query.ts";
import { findEntries } from "../../src/indexing/score/find-entries.ts";
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
 * For the default floor, and for others, the first figure is the share of questions whose answer is found (among ten results), the second
 * the share of questions about something else that get a result. Stores are made-up notes of a project, each
 * with a short answer of an assistant, and runs of entries of the recall sets. "near" are questions about notes
 * that are not in the store. "asked 3 x" asks in three phrasings at once.
 */

const FLOORS = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35];
const SIZES = [10, 30, 100];
const SAMPLES = 12;
const OFF_MAX = 400;

/** A question in one or several phrasings. */
type Asked = readonly string[];

interface Store {
  readonly entries: readonly MemoryEntry[];
  readonly questions: readonly { readonly asked: Asked; readonly relevant: readonly string[] }[];
  readonly off: readonly Asked[];
  readonly near?: readonly Asked[];
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
console.log(row("found / off / near at", ["default", ...FLOORS.map(String)], 16));
for (const size of SIZES) {
  for (const phrasings of [1, 2, 3]) {
    report(`notes ${size}, asked ${phrasings} x`, noteStores(size, phrasings));
  }
}
for (const set of sets) {
  const others = sets.filter((other) => other !== set).flatMap((other) => pooled(other).questions);
  const off = evenly(others, OFF_MAX).map(({ text }) => [text]);
  for (const size of SIZES) report(`${set.name} ${size}`, runsOf(set.conversations, size, off));
  report(
    `${set.name} each`,
    set.conversations.map((conversation, at) => ({
      ...asStore(conversation),
      off: off.filter((_, index) => index % set.conversations.length === at),
    })),
  );
  report(`${set.name} pooled`, [{ ...asStore(pooled(set)), off }]);
}

/** Notes and short answers, in sessions of three notes. Questions are asked in this many phrasings at once. */
function noteStores(size: number, phrasings: number): Store[] {
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
    const questions = notes.flatMap((note, turn) =>
      together(note.phrasings, phrasings).map((asked) => ({ asked, relevant: [`${turn}`] })),
    );
    const near = shuffled.slice(size / 2).flatMap((note) => together(note.phrasings, phrasings));
    return { entries, questions, off: together(UNRELATED, phrasings), near };
  });
}

/** Entries that follow each other, with the questions that they answer. */
function runsOf(
  conversations: readonly Conversation[],
  size: number,
  off: readonly Asked[],
): Store[] {
  const random = randomFrom(size);
  return conversations.flatMap(({ entries, questions }) =>
    Array.from({ length: SAMPLES }, (_, sample): Store => {
      const start = below(Math.max(1, entries.length - size), random);
      const run = entries.slice(start, start + size);
      const ids = new Set(run.map(({ id }) => id));
      return {
        entries: run,
        questions: asked(questions.filter(({ relevant }) => relevant.every((id) => ids.has(id)))),
        off: off.filter((_, index) => index % (3 * SAMPLES) === sample),
      };
    }),
  );
}

/** Each text with the next ones, around the end: each question in `count` phrasings. */
function together(texts: readonly string[], count: number): Asked[] {
  return texts.map((_, at) =>
    Array.from({ length: count }, (_, next) => texts[(at + next) % texts.length] as string),
  );
}

function asked(questions: readonly Question[]): Store["questions"] {
  return questions.map(({ text, relevant }) => ({ asked: [text], relevant }));
}

function asStore({ entries, questions }: Conversation): Omit<Store, "off"> {
  return { entries, questions: asked(questions) };
}

interface Best {
  readonly score: number;
  /** Whether a search without a floor of its own shows one. */
  readonly isShown: boolean;
}

function report(name: string, stores: readonly Store[]): void {
  const [found, off, near]: [Best[], Best[], Best[]] = [[], [], []];
  for (const store of stores) {
    const index = inMemoryIndex(store.entries.map(indexedEntry));
    const best = (texts: Asked, counts: (entry: FoundEntry) => boolean = () => true): Best => {
      const all = findEntries(index, { texts, limit: LIMIT, minMatch: 0 });
      return {
        score: all.find(counts)?.match ?? 0,
        isShown: findEntries(index, { texts, limit: LIMIT }).some(counts),
      };
    };
    for (const { asked, relevant } of store.questions) {
      const isRight = ({ slot }: FoundEntry) => relevant.includes(index.entryAt(slot)?.id ?? "");
      found.push(best(asked, isRight));
    }
    for (const asked of store.off) off.push(best(asked));
    for (const asked of store.near ?? []) near.push(best(asked));
  }
  const cells = [undefined, ...FLOORS].map((floor) =>
    [found, off, near]
      .filter((all) => all.length > 0)
      .map((all) => {
        const shown = all.filter((one) => (floor === undefined ? one.isShown : one.score >= floor));
        return shown.length / all.length;
      })
      .map(percent)
      .join(" "),
  );
  console.log(row(name, cells, 16));
}

function evenly<Thing>(things: readonly Thing[], count: number): readonly Thing[] {
  const step = Math.ceil(things.length / count);
  return things.filter((_, index) => index % step === 0);
}
