import { codeBytes } from "../../vectors/quantise.ts";
import { type Asking, ask } from "../asking.ts";
import type { VectorSpace } from "../index-store.ts";
import { codedSlots } from "./code-blocks.ts";

/** Vectors that are read at once. */
const PAGE = 5000;

/** What is wrong with vectors, in words. A passage without a vector is not wrong. `taken` is 0 for slots without a passage. */
export function* vectorProblems(taken: Uint32Array): Asking<readonly string[]> {
  const problems: string[] = [];
  for (const space of yield* ask("spaces")) problems.push(...(yield* problemsOf(space, taken)));
  return problems;
}

function* problemsOf(space: VectorSpace, taken: Uint32Array): Asking<readonly string[]> {
  const { number, embedder } = space;
  const blocks = yield* ask("codeBlocks", number, { changedAfter: -1 });
  const bytes = codeBytes(space.dimensions);
  const coded = new Set(blocks.flatMap((block) => codedSlots(block, bytes)));
  const problems: string[] = [];
  let count = 0;
  for (let after = -1; ; ) {
    const page = yield* ask("vectorPage", number, after, PAGE);
    for (const { slot, isBlank } of page) {
      count += 1;
      after = slot;
      if (coded.delete(slot) === isBlank) {
        problems.push(`${embedder} has ${isBlank ? "only a code" : "no code"} for slot ${slot}.`);
      }
      if (!taken[slot]) {
        problems.push(`${embedder} has a vector for slot ${slot}, which has no passage.`);
      }
    }
    if (page.length < PAGE) break;
  }
  if (count !== space.passages) {
    problems.push(`${embedder} has ${count} vectors and counts ${space.passages}.`);
  }
  for (const slot of coded) problems.push(`${embedder} has a code and no row for slot ${slot}.`);
  return problems;
}
