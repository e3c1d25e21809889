import { sizeIn } from "../core/character-kinds.ts";
import {
  APOSTROPHE,
  COMMA,
  DECIMAL,
  FOREIGN,
  GLYPHS,
  JOINS,
  JOINT,
  KIND,
  LOWER,
  NUMBER,
  OTHER,
  SCRIPTS,
  UNCASED,
  UPPER,
} from "./unit-kinds.ts";

export function scriptEnd(units: Uint16Array, start: number, end: number, script: number): number {
  let at = start;
  while (at < end && SCRIPTS.in(units, at) === script) at += sizeIn(units, at);
  return at;
}

/**
 * Where a word with all its parts ends: letters and digits, also behind a sign inside the word, as in
 * `it's` and `turn_id.ts`, and three digits behind a comma.
 */
export function compoundEnd(units: Uint16Array, start: number, textEnd: number): number {
  let end = lettersEnd(units, start, textEnd);
  while (end + 1 < textEnd) {
    const sign = GLYPHS.in(units, end);
    if (sign !== COMMA && sign !== JOINT && sign !== APOSTROPHE) break;
    const next =
      sign === COMMA ? thousandsEnd(units, end + 1, textEnd) : lettersEnd(units, end + 1, textEnd);
    if (next === end + 1) break;
    end = next;
  }
  return end;
}

function lettersEnd(units: Uint16Array, start: number, end: number): number {
  let at = start;
  while (at < end && GLYPHS.in(units, at) >= UNCASED) at += sizeIn(units, at);
  return at;
}

/** The place behind exactly three digits; `start` when there are more or fewer. */
function thousandsEnd(units: Uint16Array, start: number, end: number): number {
  let at = start;
  for (let count = 0; count < 3; count += 1) {
    if (at >= end || GLYPHS.in(units, at) !== DECIMAL) return start;
    at += sizeIn(units, at);
  }
  return at < end && GLYPHS.in(units, at) >= NUMBER ? start : at;
}

/** Whether letters or digits are one part of a word: `word`, `Word`, `WORD`, `42`. */
export function isPlain(first: number, rest: number): boolean {
  if (rest === OTHER) return first !== FOREIGN;
  return rest === first ? first !== FOREIGN : first === UPPER && rest === LOWER;
}

/** Whether a word may go on behind letters and digits that end here, as in `it's` and `1,000`. */
export function goesOn(units: Uint16Array, at: number, end: number): boolean {
  if (at + 1 >= end) return false;
  const joins = JOINS[units[at] as number] as number;
  return joins !== 0 && (joins & (KIND[units[at + 1] as number] as number)) !== 0;
}
