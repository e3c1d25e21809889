import { SessionError } from "../../core/errors.ts";
import { type Asking, ask, Draft, question, together, transaction } from "../port/asking.ts";
import type { CodeBlockRow, VectorSpace } from "../port/index-store.ts";
import { changedCodes, codeBytes, codedSlots, emptyBlock } from "../vectors/vector-codes.ts";

/** Vectors that are read at once. */
const PAGE = 5000;
/** Entries that are read at once. */
const ENTRIES = 500;

/** The problems of vectors, in words. A passage without a vector is no problem. `taken` is 0 for slots without a passage. */
export function* vectorProblems(taken: Uint32Array): Asking<readonly string[]> {
  const problems: string[] = [];
  for (const space of yield* ask("spaces")) problems.push(...(yield* check(space, taken)).problems);
  return problems;
}

/** Removes vectors that do not fit their passages or their codes. They are pending then, and are made again. */
export function* mendVectors(): Asking<void> {
  const found = yield* transaction("read", findWrong);
  for (const { space, wrong } of found) {
    yield* transaction("write", () => removeWrong(space.number, wrong));
  }
}

interface Found {
  readonly problems: readonly string[];
  /** Slots whose vector or code is wrong. */
  readonly wrong: ReadonlySet<number>;
}

function* check(space: VectorSpace, taken: Uint32Array): Asking<Found> {
  const { number, embedder } = space;
  const problems: string[] = [];
  const wrong = new Set<number>();
  const coded = new Set<number>();
  for (const block of yield* ask("codeBlocks", number, { changedAfter: -1 })) {
    const slots = slotsOf(block, space);
    if (!slots) problems.push(`${embedder} has a damaged block of codes (${block.block}).`);
    for (const slot of slots ?? []) coded.add(slot);
  }
  let count = 0;
  for (let after = -1; ; ) {
    const page = yield* ask("vectorPage", number, after, PAGE);
    for (const { slot, isBlank } of page) {
      count += 1;
      after = slot;
      if (coded.delete(slot) === isBlank) {
        problems.push(`${embedder} has ${isBlank ? "only a code" : "no code"} for slot ${slot}.`);
        wrong.add(slot);
      }
      if (!taken[slot]) {
        problems.push(`${embedder} has a vector for slot ${slot}, which has no passage.`);
        wrong.add(slot);
      }
    }
    if (page.length < PAGE) break;
  }
  if (count !== space.passages) {
    problems.push(`${embedder} has ${count} vectors and counts ${space.passages}.`);
  }
  for (const slot of coded) {
    problems.push(`${embedder} has a code and no row for slot ${slot}.`);
    wrong.add(slot);
  }
  return { problems, wrong };
}

/** The slots with a code; `undefined` for a damaged block. */
function slotsOf(block: CodeBlockRow, { dimensions }: VectorSpace): number[] | undefined {
  try {
    return codedSlots(block, codeBytes(dimensions));
  } catch (error) {
    if (!SessionError.is(error)) throw error;
    return undefined;
  }
}

function* findWrong(): Asking<
  readonly { readonly space: VectorSpace; readonly wrong: ReadonlySet<number> }[]
> {
  const [head, spaces] = yield* together(question("head"), question("spaces"));
  if (!head || spaces.length === 0) return [];
  /** The first slot of each slot's entry, plus 1; 0 for a slot without an entry. */
  const taken = new Uint32Array(head.slots);
  for (let after = -1; ; ) {
    const rows = yield* ask("entries", { after, limit: ENTRIES });
    for (const { slot, passages } of rows) taken.fill(slot + 1, slot, slot + passages);
    const last = rows.at(-1);
    if (!last) break;
    after = last.key;
  }
  const found = [];
  for (const space of spaces) {
    const { problems, wrong } = yield* check(space, taken);
    if (problems.length > 0) found.push({ space, wrong });
  }
  return found;
}

function* removeWrong(spaceNumber: number, wrong: ReadonlySet<number>): Asking<void> {
  const [head, spaces] = yield* together(question("head"), question("spaces"));
  const before = spaces.find(({ number }) => number === spaceNumber);
  if (!head || !before) return;
  const draft = new Draft(head);
  let passages = 0;
  for (let after = -1; ; ) {
    const page = yield* ask("vectorPage", spaceNumber, after, PAGE);
    const gone = page.filter(({ slot }) => wrong.has(slot));
    draft.remove("vectors", ...gone.map(({ slot }) => ({ space: spaceNumber, slot })));
    passages += page.length - gone.length;
    after = page.at(-1)?.slot ?? after;
    if (page.length < PAGE) break;
  }
  const space = { ...before, changes: before.changes + 1, passages };
  draft.put("spaces", space);
  for (const block of yield* ask("codeBlocks", spaceNumber, { changedAfter: -1 })) {
    const slots = slotsOf(block, space);
    const gone = slots?.filter((slot) => wrong.has(slot)) ?? [];
    if (!slots) draft.put("codeBlocks", emptyBlock(space, block.block));
    else if (gone.length > 0) {
      const codes = new Map(gone.map((slot) => [slot, undefined]));
      draft.put("codeBlocks", ...changedCodes([block], space, codeBytes(space.dimensions), codes));
    }
  }
  yield* draft.save();
}
