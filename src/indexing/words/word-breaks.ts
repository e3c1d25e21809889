import {
  CharacterKinds,
  isAscii,
  NOTHING,
  sizeIn,
  unicodePattern,
} from "../../text/character-kinds.ts";
import { isGap, isUnseen } from "./unseen.ts";

/** The kinds of UTF-16 units. Those that are not ASCII are `FOREIGN`. */
export const OTHER = 0;
export const LOWER = 1;
const UPPER = 2;
const DIGIT = 4;
export const FOREIGN = 8;
/** Not the kind of a unit: marks a word that goes on behind a sign. */
export const JOINED = 16;
export const KIND = new Uint8Array(0x10000).fill(FOREIGN, 128);
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) KIND[code] = LOWER;
  else if (/[A-Z]/.test(character)) KIND[code] = UPPER;
  else KIND[code] = /\d/.test(character) ? DIGIT : OTHER;
}

/**
 * The kinds of characters. The numbers are in order: from `UNSEEN` on, a word may go on with one, and from `UNCASED` on it may
 * begin with one.
 */
const SIGN = 1;
/** A word of its own, as 🎉 is. */
export const PICTURE = 2;
export const APOSTROPHE = 3;
/** Folding takes it away: a soft hyphen, an accent, the sign behind ❤️ that it is a picture. */
export const UNSEEN = 4;
/** It is not seen either, and may be between two words, as a zero-width space is. */
export const GAP = 5;
export const UNCASED = 6;
export const CAPITAL = 7;
export const SMALL = 8;
/** A number that is no digit of a decimal: ½, Ⅳ. */
const NUMBER = 9;
const DECIMAL = 10;
export const GLYPHS = new CharacterKinds((character) => {
  if (APOSTROPHES.includes(character)) return APOSTROPHE;
  if (isUnseen(character)) return UNSEEN;
  if (isGap(character)) return GAP;
  if (FRAMES.includes(character)) return SIGN;
  if (/\p{Lu}/u.test(character)) return CAPITAL;
  if (/\p{Ll}/u.test(character)) return SMALL;
  if (/\p{Nd}/u.test(character)) return DECIMAL;
  if (/\p{N}/u.test(character)) return NUMBER;
  if (/[\p{L}\p{M}]/u.test(character)) return UNCASED;
  return /\p{Extended_Pictographic}/u.test(character) ? PICTURE : SIGN;
});

/** The signs that are written as an apostrophe is. */
const APOSTROPHES = "'’\u2018\u201b\u2032\u02bc\uff07\u00b4`";
/** A hyphen, one that does not break, and wide and small ones. Folding makes hyphens of them. */
const HYPHENS = "-\u2010\u2011\uff0d\ufe63";
/** Letters of Hangul that are written as blanks, and the frame of 1️⃣. */
const FRAMES = "\u3164\uffa0\u20e3";

/** By sign, the kinds of units that may follow it inside a word. */
const JOINS = new Uint8Array(0x10000);
for (const sign of `._${HYPHENS}${APOSTROPHES}`)
  JOINS[sign.charCodeAt(0)] = LOWER | UPPER | DIGIT | FOREIGN;
JOINS[",".charCodeAt(0)] = DIGIT | FOREIGN;

/** The signs inside a compound. */
export const BETWEEN_PIECES = 1;
export const QUOTE = 2;
export const SIGNS = new Uint8Array(0x10000);
for (const sign of `._${HYPHENS}`) SIGNS[sign.charCodeAt(0)] = BETWEEN_PIECES;
for (const sign of APOSTROPHES) SIGNS[sign.charCodeAt(0)] = QUOTE;
export const COMMA_UNIT = ",".charCodeAt(0);

const SPACE = 1;
export const SPACED = 2;
/** A character of a script without spaces. */
export const UNSPACED = 3;
const UNSPACED_SCRIPT = unicodePattern(NOTHING, {
  source: String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]`,
  flags: "u",
});
export const SCRIPTS = new CharacterKinds((character) => {
  if (character === " ") return SPACE;
  if (isAscii(character)) return SPACED;
  return UNSPACED_SCRIPT(character).test(character) ? UNSPACED : SPACED;
});

/** Whether the character at a place is of a script without spaces. */
export function isUnspacedAt(text: string, at: number): boolean {
  return SCRIPTS.at(text, at) === UNSPACED;
}

export function scriptEnd(units: Uint16Array, start: number, end: number, script: number): number {
  let at = start;
  while (at < end && SCRIPTS.in(units, at) === script) at += sizeIn(units, at);
  return at;
}

/**
 * Where a word with all its parts ends that goes on at `start`: letters and digits, also behind a sign inside
 * the word, as in `it's` and `turn_id.ts`, and three digits behind a comma.
 */
export function compoundEnd(units: Uint16Array, start: number, textEnd: number): number {
  for (let at = start; ; ) {
    const end = lettersEnd(units, at, textEnd);
    if (end + 1 >= textEnd) return end;
    if (units[end] === COMMA_UNIT) {
      at = thousandsEnd(units, end + 1, textEnd);
      if (at === end + 1) return end;
      if (at < textEnd && GLYPHS.in(units, at) >= UNSEEN) return at;
    } else if (goesOn(units, end, textEnd)) at = end + 1;
    else return end;
  }
}

function lettersEnd(units: Uint16Array, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const kind = KIND[units[at] as number] as number;
    if (kind === OTHER) break;
    if (kind !== FOREIGN) at += 1;
    else if (GLYPHS.in(units, at) >= UNSEEN) at += sizeIn(units, at);
    else break;
  }
  return at;
}

/** The place behind exactly three digits; `start` when there are more or fewer. */
function thousandsEnd(units: Uint16Array, start: number, end: number): number {
  let at = start;
  for (let count = 0; count < 3; count += 1) {
    const kind = at < end ? (KIND[units[at] as number] as number) : OTHER;
    if (kind !== DIGIT && (kind !== FOREIGN || GLYPHS.in(units, at) !== DECIMAL)) return start;
    at += sizeIn(units, at);
  }
  return at < end && GLYPHS.in(units, at) >= NUMBER ? start : at;
}

/** Whether letters or digits are one part of a word: `word`, `Word`, `WORD`, `42`. */
export function isPlain(first: number, rest: number): boolean {
  if (rest === OTHER) return first !== FOREIGN;
  return rest === first ? first !== FOREIGN : first === UPPER && rest === LOWER;
}

/** Whether an ASCII word goes on behind a sign other than a comma. */
export function joinsPlainly(units: Uint16Array, at: number, end: number): boolean {
  if (at + 1 >= end || units[at] === COMMA_UNIT) return false;
  const next = KIND[units[at + 1] as number] as number;
  return next !== FOREIGN && ((JOINS[units[at] as number] as number) & next) !== 0;
}

/** Whether a word goes on behind letters and digits that end here, as in `it's` and `1,000`. */
export function goesOn(units: Uint16Array, at: number, end: number): boolean {
  if (at + 1 >= end) return false;
  const next = KIND[units[at + 1] as number] as number;
  if (((JOINS[units[at] as number] as number) & next) === 0) return false;
  if (units[at] === COMMA_UNIT) return thousandsEnd(units, at + 1, end) > at + 1;
  return next !== FOREIGN || GLYPHS.in(units, at + 1) >= UNCASED;
}
