/** Where a word of the question is. Places of one session are neighbours when their numbers are. */
export interface WordPlaces {
  /** Passages that have it. */
  readonly said: readonly Place[];
  /** Passages that do not say it but are by a speaker of that name. */
  readonly named: readonly Place[];
  /** Passages from a day, month or year of that name. */
  readonly dated: readonly Place[];
}

export interface Place {
  readonly passage: number;
  /** It ends with a question, so the next passage answers it. */
  readonly asks: boolean;
}

/** How much of a word's weight a passage gets that does not say it itself. */
const DATED = 0.5;
const NEIGHBOUR = 0.2;
const ANSWER = 0.6;

/**
 * For each passage the share of the question that it covers, from 0 to 1. Words
 * count by how rare they are; those of the passages around it count a little,
 * those of the question that it answers count more.
 *
 *     "Read any good books lately?"          "books" 1
 *     "Charlotte's Web!"                     "books" 0.6
 *     "I loved that one as a child."         "books" 0.2
 */
export function passageScores(asked: readonly WordPlaces[], passages: number): Map<number, number> {
  const scores = new Map<number, number>();
  const rarities = asked.map((places) => rarity(places, passages));
  const whole = rarities.reduce((sum, weight) => sum + weight, 0);
  asked.forEach((places, index) => {
    const weight = (rarities[index] ?? 0) / whole;
    for (const [passage, share] of sharesOf(places)) {
      scores.set(passage, (scores.get(passage) ?? 0) + weight * share);
    }
  });
  return scores;
}

/** How much a word tells: the less, the more passages have it. Never 0, so that a store of one entry works. */
function rarity({ said, named, dated }: WordPlaces, passages: number): number {
  const having = said.length + named.length + dated.length;
  return Math.log(1 + (Math.max(passages, having) - having + 0.5) / (having + 0.5));
}

/** The largest share of one word that each passage gets. */
function sharesOf({ said, named, dated }: WordPlaces): Map<number, number> {
  const shares = new Map<number, number>();
  const give = (passage: number, share: number) => {
    if ((shares.get(passage) ?? 0) < share) shares.set(passage, share);
  };
  for (const { passage, asks } of said) {
    give(passage - 2, NEIGHBOUR);
    give(passage - 1, NEIGHBOUR);
    give(passage, 1);
    give(passage + 1, asks ? ANSWER : NEIGHBOUR);
    give(passage + 2, NEIGHBOUR);
  }
  for (const { passage } of named) give(passage, 1);
  for (const { passage } of dated) give(passage, DATED);
  return shares;
}
