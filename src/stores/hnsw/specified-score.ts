/**
 * The specification's score of a cosine distance from 0 (same direction) to 2
 * (opposite): `1 - distance / 2`. Texts that have nothing to do with each other
 * are 1 apart, so their score is 0.5; what scores no better is no result.
 */
export function specifiedScore(distance: number): number {
  return 1 - distance / 2;
}

export const UNRELATED = specifiedScore(1);
