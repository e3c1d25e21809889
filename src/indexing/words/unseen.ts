/** The sign behind ❤️ that it is a picture, soft hyphens, and signs without width that keep a word together. */
const INVISIBLE = String.raw`\u180b-\u180f\ufe00-\ufe0f\u{e0000}-\u{e0fff}\u00ad\u2060-\u2064\u206a-\u206f\ufeff`;

/**
 * Marks that people leave out when they type, or do not see. Folding takes them away.
 *
 * - accents and other marks on letters: not all of \p{M}, because in Thai or Devanagari a mark is a vowel, and without it the word is another one
 * - vowels and signs of Arabic and Hebrew, and the line that makes Arabic words longer
 * - letters that stand for a breath: Hawaiʻi, Qurʾan
 */
const MARKS = [
  String.raw`\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20e2\u20e4-\u20ff\ufe20-\ufe2f`,
  String.raw`\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7`,
  String.raw`\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed`,
  String.raw`\u02b9-\u02bf`,
  INVISIBLE,
].join("");

/** Signs without width that may be inside a word or between two: spaces and joiners, and those that turn the direction. */
const GAPS = String.raw`\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069`;

const UNSEEN = new RegExp(`^[${MARKS}]`, "u");
const GAP = new RegExp(`^[${GAPS}]`);
const INVISIBLE_ONES = new RegExp(`[${INVISIBLE}]+`, "gu");
const ALL = new RegExp(`[${MARKS}${GAPS}]+`, "gu");

export function isUnseen(character: string): boolean {
  return UNSEEN.test(character);
}

export function isGap(character: string): boolean {
  return GAP.test(character);
}

export function withoutUnseen(text: string): string {
  return text.replace(ALL, "");
}

/** The text with all that is seen, accents too. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLE_ONES, "");
}
