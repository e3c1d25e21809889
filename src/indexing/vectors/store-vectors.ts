import { passages } from "../passages/indexed-passages.ts";
import { type Asking, ask, Draft, question, together, transaction } from "../port/asking.ts";
import type { Head, LackingEntry, VectorSpace } from "../port/index-store.ts";
import { hasWords } from "../words/words.ts";
import { changedCodes, codeBlocksOf, codeBytes, codeOf, rowOf } from "./vector-codes.ts";

export function calibrationOf({ unrelated, related }: VectorSpace): Calibration | undefined {
  return unrelated === null || related === null ? undefined : { unrelated, related };
}

export type OpenedSpace =
  | { readonly type: "open"; readonly number: number; readonly calibrated: boolean }
  /** The namespace has no memory yet. */
  | { readonly type: "empty" }
  /** Another embedder's vectors have replaced those that were known. */
  | { readonly type: "replaced" };

/** The space for an embedder's vectors; only `known`, if it is given. */
export function* openSpace(
  embedder: { readonly id: string; readonly dimensions: number },
  known: number | undefined,
): Asking<OpenedSpace> {
  const [head, spaces] = yield* together(question("head"), question("spaces"));
  if (!head) return { type: "empty" };
  const found = spaces.find((space) => space.embedder === embedder.id);
  if (known !== undefined && found?.number !== known) return { type: "replaced" };
  const space =
    found?.dimensions === embedder.dimensions
      ? found
      : yield* transaction("write", () => createSpace(embedder));
  return { type: "open", number: space.number, calibrated: calibrationOf(space) !== undefined };
}

function* createSpace(embedder: {
  readonly id: string;
  readonly dimensions: number;
}): Asking<VectorSpace> {
  const find = function* (): Asking<VectorSpace | undefined> {
    const spaces = yield* ask("spaces");
    return spaces.find((space) => space.embedder === embedder.id);
  };
  const found = yield* find();
  if (found?.dimensions === embedder.dimensions) return found;
  const draft = new Draft((yield* ask("head")) as Head);
  // Its vectors have other dimensions now.
  if (found) yield* removeSpace(draft, found, Number.MAX_SAFE_INTEGER);
  draft.put("spaces", {
    number: 0,
    embedder: embedder.id,
    dimensions: embedder.dimensions,
    changes: 0,
    passages: 0,
    unrelated: null,
    related: null,
  });
  yield* draft.save();
  return (yield* find()) as VectorSpace;
}

/** Removes up to `limit` of a space's vectors and, when they were the last, the space. */
function* removeSpace(draft: Draft, { number }: VectorSpace, limit: number): Asking<void> {
  const vectors = yield* ask("vectorPage", number, -1, limit);
  draft.remove("vectors", ...vectors.map(({ slot }) => ({ space: number, slot })));
  if (vectors.length === limit) return;
  draft.remove("codeBlocks", ...(yield* ask("codeBlocks", number, { changedAfter: -1 })));
  draft.remove("spaces", { number });
}

/** A passage that has no vector yet. */
export interface PendingPassage {
  /** Key of the entry. */
  readonly entry: number;
  readonly slot: number;
  /** `null` for a passage without words, which is not embedded. */
  readonly text: string | null;
}

export interface PendingPage {
  readonly passages: readonly PendingPassage[];
  /** Where the next page begins; `undefined` when this is the last. */
  readonly before?: number;
  /** How many are pending, including those of other pages. */
  readonly pending: number;
}

/** Entries that one page looks at, so that no other writer waits long. */
const EXAMINED = 2000;

/**
 * Passages that a space lacks, of entries stored before one, the newest entries first. A page ends with
 * the entry that fills it: an entry is cut into passages once, however long it is. `undefined` when the
 * space is gone.
 */
export function pendingPassages(
  spaceNumber: number,
  before: number | undefined,
  limit: number,
): Asking<PendingPage | undefined> {
  return transaction("read", function* () {
    const [head, spaces] = yield* together(question("head"), question("spaces"));
    const space = spaces.find(({ number }) => number === spaceNumber);
    if (!head || !space) return undefined;
    const pending = head.passages - space.passages;
    const newest = Math.min(before ?? head.stored, head.stored);
    if (pending <= 0 || newest === 0) return { passages: [], pending: Math.max(0, pending) };
    const oldest = Math.max(0, newest - EXAMINED);
    const range = { oldest, before: newest, limit };
    const found: PendingPassage[] = [];
    for (const entry of yield* ask("entriesLacking", spaceNumber, range)) {
      found.push(...lackingOf(entry));
      if (found.length >= limit) return { passages: found, before: entry.key, pending };
    }
    return { passages: found, pending, ...(oldest === 0 ? {} : { before: oldest }) };
  });
}

function lackingOf({
  key,
  slot: first,
  passages: count,
  content,
  have,
}: LackingEntry): PendingPassage[] {
  const texts = passages(content);
  const known = new Set(have);
  // An entry keeps its slots however a later rkat cuts it: the last one has the rest.
  const textAt = (index: number) =>
    index === count - 1 ? texts.slice(index).join(" ") : (texts[index] ?? "");
  return Array.from({ length: count }, (_, index) => ({ slot: first + index, text: textAt(index) }))
    .filter(({ slot }) => !known.has(slot))
    .map(({ slot, text }) => ({ entry: key, slot, text: hasWords(text) ? text : null }));
}

/** The vector of a passage; `null` for a passage without words. */
export interface PassageVector {
  /** Key of the entry. */
  readonly entry: number;
  readonly slot: number;
  readonly vector: Float32Array | null;
}

/**
 * Stores the vectors of passages that are still there and have none, and returns how many. `undefined`
 * when the space is gone: another embedder's vectors have replaced it.
 *
 * Unsynced: passages whose vectors a power failure undoes are pending again.
 */
export function* storeVectors(
  spaceNumber: number,
  vectors: readonly PassageVector[],
): Asking<number | undefined> {
  // Before other writers have to wait.
  const packed = vectors.map(({ vector, ...passage }) => ({
    ...passage,
    row: vector && rowOf(vector),
    code: vector && codeOf(vector),
  }));
  const slots = packed.map(({ slot }) => slot);
  return yield* transaction("write unsynced", function* () {
    const [head, spaces, entries, known] = yield* together(
      question("head"),
      question("spaces"),
      question(
        "entrySlots",
        packed.map(({ entry }) => entry),
      ),
      question("vectorSlots", slots),
    );
    const found = spaces.find(({ number }) => number === spaceNumber);
    if (!head || !found) return undefined;
    const has = new Set(known.filter(({ space }) => space === spaceNumber).map(({ slot }) => slot));
    const ranges = new Map(entries.map((entry) => [entry.key, entry]));
    const fresh = packed.filter(({ entry, slot }) => {
      // The passage may have been deleted while it was embedded, and its slot given to another.
      const { slot: first = 0, passages: count = 0 } = ranges.get(entry) ?? {};
      const isFresh = first <= slot && slot < first + count && !has.has(slot);
      has.add(slot);
      return isFresh;
    });
    if (fresh.length === 0) return 0;
    const draft = new Draft(head);
    draft.put("vectors", ...fresh.map(({ slot, row }) => ({ space: spaceNumber, slot, row })));
    const codes = fresh.flatMap(({ slot, code }) => (code ? [[slot, code] as const] : []));
    yield* changeSpace(draft, found, fresh.length, new Map(codes));
    yield* draft.save();
    return fresh.length;
  });
}

function* changeSpace(
  draft: Draft,
  before: VectorSpace,
  morePassages: number,
  codes: ReadonlyMap<number, Uint8Array | undefined>,
): Asking<void> {
  const { changes, passages } = before;
  const space = { ...before, changes: changes + 1, passages: passages + morePassages };
  draft.put("spaces", space);
  const blocks = yield* ask("codeBlocks", space.number, { blocks: codeBlocksOf(codes.keys()) });
  draft.put("codeBlocks", ...changedCodes(blocks, space, codeBytes(space.dimensions), codes));
}

export function saveCalibration(
  spaceNumber: number,
  { unrelated, related }: Calibration,
): Asking<void> {
  return transaction("write", function* () {
    const [head, spaces] = yield* together(question("head"), question("spaces"));
    const space = spaces.find(({ number }) => number === spaceNumber);
    if (!head || !space) return;
    const draft = new Draft(head);
    draft.put("spaces", { ...space, unrelated, related });
    yield* draft.save();
  });
}

/** Vectors that one step deletes. */
const STEP = 2000;

/** Deletes some vectors of other embedders once this space has all of its own; returns whether there are more. */
export function deleteOtherSpaces(spaceNumber: number): Asking<boolean> {
  return transaction("write", function* () {
    const [head, spaces] = yield* together(question("head"), question("spaces"));
    const space = spaces.find(({ number }) => number === spaceNumber);
    if (!head || !space || space.passages < head.passages) return false;
    const other = spaces.find(({ number }) => number !== spaceNumber);
    if (!other) return false;
    const draft = new Draft(head);
    yield* removeSpace(draft, other, STEP);
    yield* draft.save();
    return true;
  });
}

/** How many passages a trained embedder has embedded, and how many it has not. */
export function* vectorStats(
  embedder: string,
): Asking<{ readonly embedded: number; readonly pending: number }> {
  const [head, spaces] = yield* together(question("head"), question("spaces"));
  const embedded = spaces.find((space) => space.embedder === embedder)?.passages ?? 0;
  if (!head) return { embedded: 0, pending: 0 };
  return { embedded, pending: Math.max(0, head.passages - embedded) };
}

/** Removes the vectors of passages that are deleted, in every space. */
export function* removeVectors(
  draft: Draft,
  spaces: readonly VectorSpace[],
  vectors: readonly { readonly space: number; readonly slot: number }[],
): Asking<void> {
  for (const space of spaces) {
    const own = vectors.filter((vector) => vector.space === space.number);
    if (own.length === 0) continue;
    draft.remove("vectors", ...own);
    const codes = new Map(own.map(({ slot }) => [slot, undefined]));
    yield* changeSpace(draft, space, -own.length, codes);
  }
}

/**
 * The meaning of one embedder's cosines. Models differ: for unrelated texts, one gives 0.05 and another 0.75.
 */
export interface Calibration {
  /** The mean cosine of a question and a text that has nothing to do with it. */
  readonly unrelated: number;
  /** The mean cosine of a question and a text that answers it. */
  readonly related: number;
}

/** Questions, each with a text that answers it and none of the others. */
export const CALIBRATION_PAIRS: readonly (readonly [question: string, answer: string])[] = [
  ["Where do we keep the backups?", "Every night the dumps are copied to a bucket in Frankfurt."],
  ["What pets does she have?", "My two cats, Miso and Pepper, hate it when I travel."],
  ["When is the release planned?", "We agreed to ship version 3 on the last Friday of May."],
  ["Why did the build fail?", "The pipeline broke because the linter found an unused import."],
  ["What does he like to cook?", "On Sundays I make ramen from scratch, broth and all."],
  ["Which database are we using?", "We moved everything to PostgreSQL last winter."],
  ["How did the interview go?", "They offered me the job before I had even left the building!"],
  ["What are they allergic to?", "Nothing with peanuts, please: my son gets a rash from them."],
  ["Where did they go on holiday?", "We spent ten days hiking along the coast of Portugal."],
  ["How should errors be logged?", "Write failures to stderr as one line of JSON each."],
  ["What instrument does she play?", "I have been taking cello lessons since I was nine."],
  ["Who is responsible for billing?", "Ask Priya, she looks after invoices and refunds."],
  ["What book is he reading?", "I am halfway through a novel about a lighthouse keeper."],
  ["How much does the plan cost?", "They charge twelve euros a month for each seat."],
  ["When did they get married?", "Our wedding was in a small chapel, in June four years ago."],
  ["What is wrong with the car?", "The mechanic says that the brake pads are worn out."],
];

/** From the vectors of the questions and those of the answers, both in the order of the pairs. */
export function calibrate(
  questions: readonly Float32Array[],
  answers: readonly Float32Array[],
): Calibration {
  const related: number[] = [];
  const unrelated: number[] = [];
  questions.forEach((question, asked) => {
    answers.forEach((answer, told) => {
      (asked === told ? related : unrelated).push(cosine(question, answer));
    });
  });
  return { unrelated: mean(unrelated), related: mean(related) };
}

/** 0 for an unrelated text, about 1 for an answer, and more for a text that says the same. */
export function likeness(cosine: number, { unrelated, related }: Calibration): number {
  // A model that cannot tell answers from other texts says nothing.
  if (related - unrelated < LEAST_DIFFERENCE) return 0;
  return Math.max(0, (cosine - unrelated) / (related - unrelated));
}

const LEAST_DIFFERENCE = 0.02;

function cosine(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, number, index) => sum + number * (other[index] ?? 0), 0);
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / (numbers.length || 1);
}
