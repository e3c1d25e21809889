import { asciiSet, codesOf, isDigit, isSpace, textOf } from "../text/character-kinds.ts";

/** Escape sequences of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they begin so.
const ESCAPES = /\u001b\[[0-9;?]*[A-Za-z]/g;

/**
 * A text in lower case, without what changes from call to call although the result is the same:
 *
 *     3f2b8c1e-…-9d0a7c5e4f21     a UUID
 *     2026-01-05T10:00:00Z        a time
 *     mon, jan                    a day, a month
 *     a1b2c3d4e5                  an id: hexadecimal, with a digit
 *     3.2    10:30    1,000       a number
 *
 * Each becomes `#`, in this order. A run of spaces becomes one.
 */
export function withoutVolatile(text: string): string {
  const codes = codesOf(text.replace(ESCAPES, "").toLowerCase());
  let length = replaceByDash(codes, codes.length, UUID_PARTS[0], uuidEnd);
  length = replaceByDash(codes, length, YEAR_LENGTH, timeEnd);
  length = withoutNamesAndNumbers(codes, length);
  return textOf(codes, length).trim();
}

/** The end of a match that begins at a place. Without a match, the place itself. */
type EndOf = (codes: Uint16Array, start: number, length: number) => number;

/** Replaces the matches of `endOf` at the beginnings of words, `before` units before a dash. Returns the new length. */
function replaceByDash(codes: Uint16Array, length: number, before: number, endOf: EndOf): number {
  let from = 0;
  let to = 0;
  for (let dash = before; dash < length; dash += 1) {
    if (codes[dash] !== DASH) continue;
    const start = dash - before;
    if (start < from || (start > 0 && IN_WORD[codes[start - 1] as number] === 1)) continue;
    const end = endOf(codes, start, length);
    if (end === start) continue;
    codes.copyWithin(to, from, start);
    to += start - from;
    codes[to++] = SIGN;
    from = end;
    // The next dash that counts is after the replaced part.
    dash = end + before - 1;
  }
  if (from === 0) return length;
  codes.copyWithin(to, from, length);
  return to + length - from;
}

const UUID_PARTS = [8, 4, 4, 4, 12] as const;

function uuidEnd(codes: Uint16Array, start: number, length: number): number {
  let at = start;
  for (const part of UUID_PARTS) {
    if (at > start && codes[at++] !== DASH) return start;
    const end = at + part;
    if (end > length) return start;
    for (; at < end; at += 1) if (!isHexadecimal(codes[at] as number)) return start;
  }
  return at === length || IN_WORD[codes[at] as number] !== 1 ? at : start;
}

const YEAR_LENGTH = 4;

/** `2026-01-05`, `2026-01-05 10:00`, `2026-01-05t10:00:00.000z`, `2026-01-05t10:00+0100` */
function timeEnd(codes: Uint16Array, start: number, length: number): number {
  const year = start + YEAR_LENGTH;
  if (!areDigits(codes, start, year, length)) return start;
  const day = afterPart(codes, afterPart(codes, year, DASH, length), DASH, length);
  if (day < 0) return start;
  const sign = codes[day];
  const hour = sign === SPACE || sign === LETTER_T ? day + 3 : -1;
  if (hour < 0 || !areDigits(codes, day + 1, hour, length)) return day;
  const minute = afterPart(codes, hour, COLON, length);
  if (minute < 0) return day;
  const second = afterPart(codes, minute, COLON, length);
  if (second < 0) return zoneEnd(codes, minute, length);
  const fraction = second + 1;
  const hasFraction = codes[second] === DOT && areDigits(codes, fraction, fraction + 1, length);
  return zoneEnd(codes, hasFraction ? digitsEnd(codes, fraction, length) : second, length);
}

/** The end of a sign and two digits; -1 without a match. */
function afterPart(codes: Uint16Array, at: number, sign: number, length: number): number {
  if (at < 0 || codes[at] !== sign) return -1;
  return areDigits(codes, at + 1, at + 3, length) ? at + 3 : -1;
}

/** The end of `z` or `+01:00` at a place; that place when there is none. */
function zoneEnd(codes: Uint16Array, at: number, length: number): number {
  if (at < length && codes[at] === LETTER_Z) return at + 1;
  if (codes[at] !== PLUS && codes[at] !== DASH) return at;
  const hours = at + 3;
  if (!areDigits(codes, at + 1, hours, length)) return at;
  const minutes = codes[hours] === COLON ? hours + 1 : hours;
  return areDigits(codes, minutes, minutes + 2, length) ? minutes + 2 : at;
}

const NAME_LENGTH = 3;
const DAYS = namesOf("mon tue wed thu fri sat sun");
const MONTHS = namesOf("jan feb mar apr may jun jul aug sep oct nov dec");

/** The names, each as one number. */
function namesOf(names: string): ReadonlySet<number> {
  return new Set(names.split(" ").map((name) => codesOf(name).reduce(withCode, 0)));
}

/** Adds a character to a name of ASCII characters. */
function withCode(name: number, code: number): number {
  return (name << 7) | code;
}

const ID_LENGTH = { min: 7, max: 64 } as const;

/** The end of a whole word that is a day, with a comma behind it, a month or an id. */
function nameOrIdEnd(codes: Uint16Array, start: number, length: number): number {
  let end = start;
  let name = 0;
  let isId = true;
  let hasDigit = false;
  for (; end < length && IN_WORD[codes[end] as number] === 1; end += 1) {
    const code = codes[end] as number;
    if (end - start === (isId ? ID_LENGTH.max : NAME_LENGTH)) return start;
    name = withCode(name, code);
    if (isDigit(code)) hasDigit = true;
    else if (!isHexadecimal(code)) isId = false;
  }
  const size = end - start;
  if (size === NAME_LENGTH && !hasDigit) {
    if (DAYS.has(name)) return end < length && codes[end] === COMMA ? end + 1 : end;
    return MONTHS.has(name) ? end : start;
  }
  return isId && hasDigit && size >= ID_LENGTH.min ? end : start;
}

/** Replaces names, ids and numbers, and runs of spaces by one. Returns the new length. */
function withoutNamesAndNumbers(codes: Uint16Array, length: number): number {
  let to = 0;
  let isInWord = false;
  for (let at = 0; at < length; ) {
    const code = codes[at] as number;
    if (IN_WORD[code] === 1) {
      const start = at;
      if (!isInWord) at = nameOrIdEnd(codes, at, length);
      isInWord = at === start;
      if (isInWord) at = isDigit(code) ? numberEnd(codes, at, length) : at + 1;
      codes[to++] = isInWord && !isDigit(code) ? code : SIGN;
      continue;
    }
    isInWord = false;
    codes[to++] = isSpace(code) ? SPACE : code;
    at += 1;
    if (isSpace(code)) while (at < length && isSpace(codes[at] as number)) at += 1;
  }
  return to;
}

/** The end of digits with dots, commas or colons between them. An id does not belong to them. */
function numberEnd(codes: Uint16Array, start: number, length: number): number {
  let end = digitsEnd(codes, start, length);
  while (IN_NUMBER[codes[end] as number] === 1 && areDigits(codes, end + 1, end + 2, length)) {
    if (nameOrIdEnd(codes, end + 1, length) > end + 1) break;
    end = digitsEnd(codes, end + 1, length);
  }
  return end;
}

function digitsEnd(codes: Uint16Array, start: number, length: number): number {
  let end = start;
  while (end < length && isDigit(codes[end] as number)) end += 1;
  return end;
}

function areDigits(codes: Uint16Array, start: number, end: number, length: number): boolean {
  if (end > length) return false;
  for (let at = start; at < end; at += 1) if (!isDigit(codes[at] as number)) return false;
  return true;
}

/** A digit, or a letter from `a` to `f`. */
function isHexadecimal(code: number): boolean {
  return isDigit(code) || (code >= 97 && code <= 102);
}

const IN_WORD = asciiSet(/\w/);
const IN_NUMBER = asciiSet(/[.,:]/);
const SIGN = "#".charCodeAt(0);
const SPACE = " ".charCodeAt(0);
const DASH = "-".charCodeAt(0);
const COLON = ":".charCodeAt(0);
const COMMA = ",".charCodeAt(0);
const DOT = ".".charCodeAt(0);
const PLUS = "+".charCodeAt(0);
const LETTER_T = "t".charCodeAt(0);
const LETTER_Z = "z".charCodeAt(0);
