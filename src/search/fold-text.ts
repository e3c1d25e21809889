import { isAscii } from "../core/unicode-pattern.ts";

/**
 * The form in which texts are compared: in lower case, with plain characters in place of
 * compatibility characters, and without marks that people leave out when they type (accents,
 * Arabic and Hebrew vowels).
 */
export function foldText(text: string): string {
  const lower = text.toLowerCase();
  if (isAscii(text)) return lower;
  let folded = "";
  let start = 0;
  for (let at = 0; at < lower.length; at += 1) {
    const code = lower.charCodeAt(at);
    if (code < 128 || staysFolded(code)) continue;
    if (!isFoldedAlone(code)) return foldTogether(text);
    FOLDED[code] ??= foldTogether(lower.charAt(at));
    if (start < at) folded += lower.slice(start, at);
    folded += FOLDED[code];
    start = at + 1;
  }
  return folded + lower.slice(start);
}

/** What single characters become, by their codes. */
const FOLDED: string[] = new Array(0x530);

/** Whether a letter becomes the same, whatever stands beside it: of the Latin and the Cyrillic ones. */
function isFoldedAlone(code: number): boolean {
  return code < 0x250 || (code >= 0x400 && code < 0x530 && !(code >= 0x483 && code <= 0x489));
}

/** Whether a character is its own folded form: an ideograph, a kana, or a syllable of Hangul. */
function staysFolded(code: number): boolean {
  if (code < 0x3041) return false;
  if (code < 0x4e00) return code <= 0x3096 || (code >= 0x30a1 && code <= 0x30fa);
  return code <= 0x9fff || (code >= 0xac00 && code <= 0xd7a3);
}

function foldTogether(text: string): string {
  // NFKD takes Hangul and kana apart. NFKC puts them together again.
  return text.toLowerCase().normalize("NFKD").replace(MARKS, "").normalize("NFKC").toLowerCase();
}

/** Not all of \p{M}: in Thai or Devanagari a mark is a vowel, and without it the word is another one. */
const MARKS = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652]+/gu;

/**
 * The folded form of a letter or digit that is one UTF-16 unit before and after, whatever stands beside it.
 * 0 for other units: fold them together with their neighbours.
 */
export function foldUnit(unit: number): number {
  const known = FOLDED_UNITS[unit] as number;
  if (known !== UNKNOWN) return known;
  const folded = foldedAlone(unit);
  FOLDED_UNITS[unit] = folded;
  return folded;
}

/** A lone half of a character, which nothing folds to. */
const UNKNOWN = 0xdc00;
const FOLDED_UNITS = new Uint16Array(0x10000).fill(UNKNOWN);

function foldedAlone(unit: number): number {
  const character = String.fromCharCode(unit);
  const folded = foldTogether(character);
  const isAlone =
    LETTER.test(character) && LETTER.test(folded) && !MEETS_OTHERS.test(character + folded);
  return isAlone && folded.length === 1 ? folded.charCodeAt(0) : 0;
}

const LETTER = /^[\p{L}\p{N}]$/u;
/** Jamo become syllables together. The last sigma of a word has another form. */
const MEETS_OTHERS = /[\u1100-\u11ffΣ]/;
