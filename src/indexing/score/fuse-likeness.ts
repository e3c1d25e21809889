import type { PassageIndex } from "../passages/passage-index.ts";
import type { EntryQuery, FoundEntry } from "./entry-query.ts";
import { findAnswers } from "./find-entries.ts";
import { likelihoodOf } from "./likelihood.ts";
import { readQuestion } from "./question.ts";
import { BestEntries, floorOf, scoresOf } from "./score.ts";

/** The likeness of passages and a question to an embedder, from 0 (unrelated) to 1 (an answer). */
export interface Likenesses {
  /** The slots of the passages that are most like the question and pass the filters. */
  readonly nearest: readonly number[];
  /** The approximate likeness of other passages. */
  of(slots: readonly number[]): readonly LikePassage[];
  /** An upper bound of all likenesses. */
  readonly most: number;
  /** The vectors count words, by chance several of them as one, and know nothing of what they mean. */
  readonly counted?: boolean;
}

interface LikePassage {
  readonly slot: number;
  readonly likeness: number;
}

/** A search by words and meaning that still needs the exact likeness of some passages. */
export interface Fusion {
  /** The nearest passages that can be results. `finish` takes their exact likeness. */
  readonly near: readonly number[];
  /** The first slots of entries that can be results. */
  readonly candidates: readonly number[];
  finish(near: readonly LikePassage[]): readonly FoundEntry[];
}

/** The most entries found by words that can be results. */
const CANDIDATES = 100;
/** The number of these whose likeness counts even if they are not among the nearest. */
const JUDGED = 50;
/** The weight of likeness. An answer without a word of the question, and nothing else for it, has a match of 0.26. */
const WEIGHT = 0.3;
/** The same for vectors that count words. It decides between entries whose words say the same. */
const WEIGHT_COUNTED = 0.005;
/** An entry that words do not find needs this likeness, which is about that of an answer, and this match. */
const ALIKE = 0.8;
const ALIKE_MATCH = 0.3;

/**
 * Finds entries that answer the question by their words, by their meaning, or both, best first.
 *
 *     meaning = 1 - e^(-0.3 · likeness · likelihood)
 *     match   = 1 - (1 - match by words) · (1 - meaning)
 *
 * Words and meaning never lower each other's match, and an entry with both comes first. Likeness counts
 * more where an answer is likelier, as words do: for the speaker that the question names, for example.
 * Fusing by ranks lost up to ten points of recall compared with words alone, because words are
 * much better than vectors here (bench/README.md).
 */
export function fuseLikeness(
  index: PassageIndex,
  query: Omit<EntryQuery, "texts"> & { readonly text: string },
  likenesses: Likenesses,
): Fusion {
  const { text, ...rest } = query;
  const { found: byWords, asked } = findAnswers(index, text, {
    ...rest,
    limit: Math.max(CANDIDATES, query.limit),
    minMatch: 0,
  });
  const floor = query.minMatch ?? floorOf(index);
  const floorByMeaning = query.minMatch ?? ALIKE_MATCH;
  const likelihood = likelihoodOf(index, readQuestion(text, query.at));
  const { counted = false } = likenesses;
  const weight = counted ? WEIGHT_COUNTED : WEIGHT;
  const meaningOf = (entry: number, likeness: number) =>
    1 - Math.exp(-weight * likeness * likelihood(entry));
  // The lead of the best one needs the next one.
  const limit = Math.max(2, query.limit);
  const least = leastResult(byWords, limit, floor);
  const canBe = ({ slot, match }: Pick<FoundEntry, "slot" | "match">) =>
    fused(match, meaningOf(slot, likenesses.most)) >= least;

  const found = new Map<number, Omit<FoundEntry, "score">>();
  for (const entry of byWords) if (canBe(entry)) found.set(entry.slot, entry);
  const near = likenesses.nearest.filter((passage) => {
    const slot = index.columns.entry[passage] ?? 0;
    const entry = found.get(slot) ?? { slot, match: 0 };
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

    const best = new BestEntries(index, limit);
    const meanings = new Map<number, number>();
    for (const { slot, match } of found.values()) {
      const like = alike.get(slot)?.likeness ?? 0;
      const meaning = meaningOf(slot, like);
      const both = fused(match, meaning);
      const isFoundByWords = match > 0 && match >= floor;
      if (!isFoundByWords && (counted || like < ALIKE || both < floorByMeaning)) continue;
      meanings.set(slot, meaning);
      best.offer(slot, slot, both);
    }
    const all = [...best];
    const scores = scoresOf(
      all.map(({ value }) => value),
      asked,
    );
    return all.map(({ slot, value: match }, at) => {
      const entry = { slot, match, score: scores[at] ?? 0 };
      if (!query.explain) return entry;
      const parts = [
        ...(found.get(slot)?.explanation?.parts ?? []),
        { name: "vector", adds: meanings.get(slot) ?? 0 },
      ];
      return { ...entry, explanation: { parts } };
    });
  };
  return { near, candidates: [...found.keys()], finish };
}

function fused(match: number, meaning: number): number {
  return 1 - (1 - match) * (1 - meaning);
}

/** Entries with a lower match are no results: words alone find enough better ones. */
function leastResult(byWords: readonly FoundEntry[], limit: number, floor: number): number {
  const last = byWords[limit - 1]?.match ?? 0;
  return last >= floor ? last - ROUNDING : 0;
}

/** `BestEntries` may treat matches as equal that differ less. */
const ROUNDING = 1e-5;

/** For each entry, its passage with the largest likeness. */
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
