import { isAscii } from "../core/unicode-pattern.ts";

/**
 * The form in which texts are compared: lower case, compatibility characters
 * made plain, and marks that people leave out when they type (accents, Arabic
 * and Hebrew vowels) taken off.
 */
export function foldText(text: string): string {
  if (isAscii(text)) return text.toLowerCase();
  // Hangul and kana fall apart under NFKD and have to be put together again.
  return text.toLowerCase().normalize("NFKD").replace(MARKS, "").normalize("NFKC").toLowerCase();
}

/** Not all of \p{M}: in Thai or Devanagari a mark is a vowel, and another word without it. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652]+/gu;
