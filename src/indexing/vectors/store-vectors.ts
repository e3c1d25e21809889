import { passages } from "../passages/passages.ts";
import { type Asking, ask, question, together, transaction } from "../port/asking.ts";
import { Draft } from "../port/head.ts";
import type { Head, LackingEntry, VectorSpace } from "../port/index-store.ts";
import { hasWords } from "../words/words.ts";
import type { Calibration } from "./calibration.ts";
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
  // An entry keeps its slots however a later rkat cuts it: the last one has the rest.
  const textAt = (index: number) =>
    index === count - 1 ? texts.slice(index).join(" ") : (texts[index] ?? "");
  return Array.from({ length: count }, (_, index) => ({ slot: first + index, text: textAt(index) }))
    .filter(({ slot }) => !have.includes(slot))
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
