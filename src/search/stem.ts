import { stem as stemEnglish } from "porter2";

/**
 * The form of a word that the index keeps: what English puts at its end is taken
 * off, so that "painted" is found by "painting". Other words stay as they are.
 */
export function stem(word: string): string {
  return ENGLISH.test(word) ? stemEnglish(word) : word;
}

const ENGLISH = /^[a-z]+$/;
