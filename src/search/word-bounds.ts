import { sizeIn } from "../core/character-kinds.ts";
import {
  COMMA_UNIT,
  DECIMAL,
  DIGIT,
  FOREIGN,
  GLYPHS,
  JOINS,
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
      if (at < textEnd && GLYPHS.in(units, at) >= UNCASED) return at;
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
    else if (GLYPHS.in(units, at) >= UNCASED) at += sizeIn(units, at);
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
