import { BestEntries } from "./best-entries.ts";
import { type EntryQuery, type FoundEntry, findEntries } from "./find-entries.ts";
import { likelihoodOf } from "./likelihood.ts";
import type { PassageIndex } from "./passage-index.ts";
import { readQuestion } from "./question.ts";
import { SCORE_FLOOR } from "./score.ts";

/** How alike passages and a question are, as an embedder sees it: 0 is unrelated, 1 an answer. */
export interface Likenesses {
  /** The slots of the passages most like it, of those that the query is about. */
  readonly nearest: readonly number[];
  /** Of others, about how like it they are. */
  of(slots: readonly number[]): readonly LikePassage[];
  /** No passage is more like it. */
  readonly most: number;
}

export interface LikePassage {
  readonly slot: number;
  readonly likeness: number;
}

/** A search by words and meaning, half done. */
export interface Fusion {
  /** Those of the nearest that can be results: `finish` has to be told how like the question they are. */
  readonly near: readonly number[];
  /** Entries that can be results, by their first slots. */
  readonly candidates: readonly number[];
  finish(near: readonly LikePassage[]): readonly FoundEntry[];
}

/** Entries found by words that can be results … */
const CANDIDATES = 100;
/** … and of which it is asked how like the question they are, if they are not among the nearest. */
const JUDGED = 50;
/** What likeness is worth: an answer that has no word of the question, and nothing else for it, scores 0.26. */
const WEIGHT = 0.3;
/** What words alone do not find has to be about as like the question as answers are. */
const ALIKE = 0.8;

/**
 * Entries that answer the question by their words, by what they mean, or both, best first.
 *
 *     meaning = 1 - e^(-0.3 · likeness · likelihood)
 *     score   = 1 - (1 - score by words) · (1 - meaning)
 *
 * So neither takes anything from the other, and what has both comes first. Likeness counts for
 * more where an answer is likelier, as words do: of the speaker that was asked about, for one.
 * Fusing by ranks instead lost up to ten points of recall to words alone, since the halves are
 * far from equally good (bench/README.md).
 */
export function fuseLikeness(
  index: PassageIndex,
  query: Omit<EntryQuery, "texts"> & { readonly text: string },
  likenesses: Likenesses,
): Fusion {
  const { text, ...rest } = query;
  const byWords = findEntries(index, {
    ...rest,
    texts: [text],
    limit: Math.max(CANDIDATES, query.limit),
    minScore: 0,
  });
  const floor = query.minScore ?? SCORE_FLOOR;
  const likelihood = likelihoodOf(index, readQuestion(text));
  const meaningOf = (entry: number, likeness: number) =>
    1 - Math.exp(-WEIGHT * likeness * likelihood(entry));
  const least = leastResult(byWords, query.limit, floor);
  const canBe = ({ slot, score }: FoundEntry) =>
    fused(score, meaningOf(slot, likenesses.most)) >= least;

  const found = new Map<number, FoundEntry>();
  for (const entry of byWords) if (canBe(entry)) found.set(entry.slot, entry);
  const near = likenesses.nearest.filter((passage) => {
    const slot = index.columns.entry[passage] ?? 0;
    const entry = found.get(slot) ?? { slot, score: 0 };
    if (!found.has(slot) && canBe(entry)) found.set(slot, entry);
    return found.has(slot);
  });
  const finish = (compared: readonly LikePassage[]): readonly FoundEntry[] => {
    const alike = bestOfEntries(index, compared);
    const others = byWords
      .slice(0, JUDGED)
      .filter(({ slot }) => found.has(slot) && !alike.has(slot))
      .flatMap(({ slot }) => slotsOf(index, slot));
    for (const [slot, like] of bestOfEntries(index, likenesses.of(others))) alike.set(slot, like);

    const best = new BestEntries(index, query.limit);
    const meanings = new Map<number, number>();
    for (const { slot, score } of found.values()) {
      const like = alike.get(slot)?.likeness ?? 0;
      const isFoundByWords = score > 0 && score >= floor;
      if (!isFoundByWords && like < ALIKE) continue;
      const meaning = meaningOf(slot, like);
      const both = fused(score, meaning);
      if (both < floor) continue;
      meanings.set(slot, meaning);
      best.offer(slot, slot, both);
    }
    return [...best].map(({ slot, value: score }) => {
      if (!query.explain) return { slot, score };
      const parts = [
        ...(found.get(slot)?.explanation?.parts ?? []),
        { name: "vector", adds: meanings.get(slot) ?? 0 },
      ];
      return { slot, score, explanation: { parts } };
    });
  };
  return { near, candidates: [...found.keys()], finish };
}

function fused(score: number, meaning: number): number {
  return 1 - (1 - score) * (1 - meaning);
}

/** What scores less is no result: words alone find enough that is better. */
function leastResult(byWords: readonly FoundEntry[], limit: number, floor: number): number {
  const last = byWords[limit - 1]?.score ?? 0;
  return last >= floor ? last - ROUNDING : 0;
}

/** Scores that differ less may be the same to `BestEntries`. */
const ROUNDING = 1e-5;

/** By entry the one of its passages that is most alike. */
function bestOfEntries(
  index: PassageIndex,
  passages: readonly LikePassage[],
): Map<number, LikePassage> {
  const best = new Map<number, LikePassage>();
  for (const passage of passages) {
    const entry = index.columns.entry[passage.slot] ?? 0;
    if (passage.likeness > (best.get(entry)?.likeness ?? -1)) best.set(entry, passage);
  }
  return best;
}

function slotsOf(index: PassageIndex, first: number): number[] {
  const { entry, session } = index.columns;
  const slots: number[] = [];
  for (let slot = first; entry[slot] === first && session[slot] !== 0; slot += 1) slots.push(slot);
  return slots;
}
