import { CharacterKinds } from "../core/character-kinds.ts";
import { isAscii } from "../core/unicode-pattern.ts";

/** What a UTF-16 unit is. Those that are not ASCII are `FOREIGN`. */
export const OTHER = 0;
export const LOWER = 1;
export const UPPER = 2;
export const DIGIT = 4;
export const FOREIGN = 8;
/** No kind of a unit: what a word has that goes on behind a sign. */
export const JOINED = 16;
export const KIND = new Uint8Array(0x10000).fill(FOREIGN, 128);
for (let code = 0; code < 128; code += 1) {
  const character = String.fromCharCode(code);
  if (/[a-z]/.test(character)) KIND[code] = LOWER;
  else if (/[A-Z]/.test(character)) KIND[code] = UPPER;
  else KIND[code] = /\d/.test(character) ? DIGIT : OTHER;
}

/** What a character is. The numbers are in order: from `UNCASED` on, a word may begin with it. */
const SIGN = 1;
/** A word of its own, as 🎉 is. */
export const PICTURE = 2;
export const APOSTROPHE = 3;
export const UNCASED = 4;
export const CAPITAL = 5;
export const SMALL = 6;
/** A number that is no digit of a decimal: ½, Ⅳ. */
export const NUMBER = 7;
export const DECIMAL = 8;
export const GLYPHS = new CharacterKinds((character) => {
  if (/\p{Lu}/u.test(character)) return CAPITAL;
  if (/\p{Ll}/u.test(character)) return SMALL;
  if (/\p{Nd}/u.test(character)) return DECIMAL;
  if (/\p{N}/u.test(character)) return NUMBER;
  if (/[\p{L}\p{M}]/u.test(character)) return UNCASED;
  if (/['’]/.test(character)) return APOSTROPHE;
  return /\p{Extended_Pictographic}/u.test(character) ? PICTURE : SIGN;
});

/** What may follow a sign inside a word: the kinds of the unit behind it. */
export const JOINS = Uint8Array.from({ length: 0x10000 }, (_, code) => {
  const sign = String.fromCharCode(code);
  if (sign === ",") return DIGIT | FOREIGN;
  return /[._'’-]/.test(sign) ? LOWER | UPPER | DIGIT | FOREIGN : 0;
});

/** The signs inside a compound. */
export const BETWEEN_PIECES = 1;
export const QUOTE = 2;
export const SIGNS = new Uint8Array(0x10000);
for (const sign of "._-") SIGNS[sign.charCodeAt(0)] = BETWEEN_PIECES;
for (const sign of "'’") SIGNS[sign.charCodeAt(0)] = QUOTE;
export const COMMA_UNIT = ",".charCodeAt(0);

const SPACE = 1;
export const SPACED = 2;
/** A character of a script without spaces. */
export const UNSPACED = 3;
const UNSPACED_SCRIPT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
export const SCRIPTS = new CharacterKinds((character) => {
  if (character === " ") return SPACE;
  if (isAscii(character)) return SPACED;
  return UNSPACED_SCRIPT.test(character) ? UNSPACED : SPACED;
});

/** Whether the character at a place is of a script without spaces. */
export function isUnspacedAt(text: string, at: number): boolean {
  return SCRIPTS.at(text, at) === UNSPACED;
}
