import { asciiTable } from "../../core/character-codes.ts";
import { CharacterKinds } from "../../core/character-kinds.ts";
import { isAscii } from "../../core/unicode-pattern.ts";
import { hashWith } from "../../search/text-units.ts";
import { bytesFor, WordSet } from "./word-bytes.ts";

/**
 * The words of a text whose letters and digits are ASCII, in one pass over its characters; nothing for other texts.
 * With `once` each word comes once.
 *
 *     userName = userName    userName user Name userName user Name
 *                            userName user Name                      once
 */
export function plainWords(text: string, once: boolean): string | undefined {
  // Bytes are several times as fast as pieces of strings.
  const bytes = bytesFor(GROWTH_MAX * text.length + 1);
  const known = once ? new WordSet(bytes) : undefined;
  let length = 0;
  let start = 0;
  let hash = 0;
  let humps = 0;
  let before = SIGN;
  for (let at = 0; at <= text.length; at += 1) {
    const code = at < text.length ? text.charCodeAt(at) : SPACE;
    const kind = code < 128 ? (ASCII_KINDS[code] as number) : KINDS.at(text, at);
    if (kind === FOREIGN) return undefined;
    if (kind !== SIGN) {
      if (kind === CAPITAL && before === SMALL) humps += 1;
      bytes[length++] = code;
      hash = hashWith(hash, code);
    } else if (length > start) {
      const end = length;
      if (known?.has(start, end, hash)) length = start;
      else {
        bytes[length++] = SPACE;
        if (humps > 0 && end - start <= NAME_LENGTH_MAX) {
          length = addParts(bytes, start, end, known);
        }
      }
      start = length;
      hash = 0;
      humps = 0;
    }
    before = kind;
  }
  return bytes.toString("latin1", 0, Math.max(0, length - 1));
}

/** Adds the parts of a name behind it, and returns where they end. */
function addParts(bytes: Buffer, name: number, end: number, known: WordSet | undefined): number {
  let start = end + 1;
  let length = start;
  let hash = 0;
  let before = SIGN;
  for (let at = name; at <= end; at += 1) {
    const letter = bytes[at] as number;
    const kind = ASCII_KINDS[letter] as number;
    if (at === end || (kind === CAPITAL && before === SMALL)) {
      if (known?.has(start, length, hash)) length = start;
      else bytes[length++] = SPACE;
      start = length;
      hash = 0;
    }
    if (at < end) {
      bytes[length++] = letter;
      hash = hashWith(hash, letter);
    }
    before = kind;
  }
  return length;
}

/** Longer words are data, not names. */
export const NAME_LENGTH_MAX = 100;

/** A word like "aB" grows most: to "aB a B ". */
const GROWTH_MAX = 3;

const SPACE = 32;

const SIGN = 1;
const DIGIT = 2;
const CAPITAL = 3;
const SMALL = 4;
/** A letter, mark or digit that is not ASCII, what becomes one, or half of a character. */
const FOREIGN = 5;

function kindOf(character: string): number {
  if (/[a-z]/.test(character)) return SMALL;
  if (/[A-Z]/.test(character)) return CAPITAL;
  if (/[0-9]/.test(character)) return DIGIT;
  return isAscii(character) || /^[\p{P}\p{S}\p{Z}]+$/u.test(character.normalize("NFKC"))
    ? SIGN
    : FOREIGN;
}

const ASCII_KINDS = asciiTable(kindOf);
const KINDS = new CharacterKinds(kindOf);
