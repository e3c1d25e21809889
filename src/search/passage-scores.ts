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
const ANSWER = 0.6;
const DATED = 0.5;
const NEIGHBOUR = 0.2;
const NEIGHBOURS = [-2, -1, 1, 2];

/**
 * For each passage the share of the question that it covers, from 0 to 1. Words
 * count by how rare they are. A passage that answers a question has some of that
 * question's words, and one that has any word at all has a little of the words
 * around it:
 *
 *     "books as a child"               books   child
 *     Read any good books lately?        1      0.2
 *     Charlotte's Web!                  0.6     0.2
 *     I loved it as a child.            0.2      1
 *     So did I.                          -       -
 */
export function passageScores(asked: readonly WordPlaces[], passages: number): Map<number, number> {
  const rarities = asked.map((places) => rarity(places, passages));
  const all = rarities.reduce((sum, weight) => sum + weight, 0);
  const weights = rarities.map((weight) => weight / all);
  const own = asked.map(ownShares);

  const scores = new Map<number, number>();
  const add = (passage: number, share: number) =>
    scores.set(passage, (scores.get(passage) ?? 0) + share);
  own.forEach((shares, index) => {
    for (const [passage, share] of shares) add(passage, share * (weights[index] ?? 0));
  });
  asked.forEach(({ said }, index) => {
    for (const passage of neighbours(said)) {
      if (!scores.has(passage) || own[index]?.has(passage)) continue;
      add(passage, NEIGHBOUR * (weights[index] ?? 0));
    }
  });
  return scores;
}

/** How much a word tells: the less, the more passages have it. Never 0, so that a store of one entry works. */
function rarity({ said, named, dated }: WordPlaces, passages: number): number {
  const having = said.length + named.length + dated.length;
  return Math.log(1 + (Math.max(passages, having) - having + 0.5) / (having + 0.5));
}

/** What each passage has of a word, the largest where there are several reasons. */
function ownShares({ said, named, dated }: WordPlaces): Map<number, number> {
  const shares = new Map<number, number>();
  for (const { passage } of dated) shares.set(passage, DATED);
  for (const { passage, asks } of said) if (asks) shares.set(passage + 1, ANSWER);
  for (const { passage } of named) shares.set(passage, 1);
  for (const { passage } of said) shares.set(passage, 1);
  return shares;
}

function neighbours(places: readonly Place[]): Set<number> {
  return new Set(places.flatMap(({ passage }) => NEIGHBOURS.map((away) => passage + away)));
}
