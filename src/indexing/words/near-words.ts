/** A word of a store that is spelled almost like another one. */
export interface NearWord {
  readonly word: string;
  /** Letters to add, drop, change, or swap with their neighbour. */
  readonly edits: number;
}

/**
 * How many letters of a word may be wrong, by its length. None in numbers, identifiers, checksums, and scripts whose words
 * are pairs of characters: one letter makes another of these.
 */
export function editsAllowed(word: string): number {
  if (word.length < ONE_FROM || word.length > LENGTH_MAX || !LETTERS.test(word)) return 0;
  return word.length < TWO_FROM ? 1 : 2;
}

const ONE_FROM = 5;
const TWO_FROM = 9;
const LENGTH_MAX = 40;
const LETTERS =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}]+$/u;

/** Whether a word is another one with letters swapped or doubled, or long: hardly a word of its own. */
export function isSlip(word: string, other: string): boolean {
  if (word.length >= LONG) return true;
  return isDoubling(word, other) || [...word].sort().join("") === [...other].sort().join("");
}

/** Whether two words differ only in which letters are doubled. */
function isDoubling(word: string, other: string): boolean {
  return single(word) === single(other);
}

const DOUBLE = /(.)\1/u;

function single(word: string): string {
  return word.replace(/(.)\1/gu, "$1");
}

const LONG = 8;

/** A short word with another letter is mostly another word: paint and print. */
export function isOtherWord(one: string, other: string): boolean {
  if (one.length !== other.length || one.length > SHORT) return false;
  const differing = [...one].flatMap((letter, at) => (letter === other[at] ? [] : [at]));
  return differing.length === 1;
}

const SHORT = 5;

/** Whether two words begin alike: with the same letter, or with the same two, swapped. People rarely get the first one wrong. */
function beginAlike(one: string, other: string): boolean {
  return one[0] === other[0] || (one[0] === other[1] && one[1] === other[0]);
}

/**
 * Finds the words of a list that are at most `limit` edits away from `word`, fewest edits first. The list has one word a
 * line, in their order: what was computed for the beginning of a word is kept for the next ones with the same
 * beginning, and a beginning that is too far away already is skipped with all of its words.
 *
 *           h a z l e n u t
 *         0 1 2 3 4 5 6 7 8
 *     h   1 0 1 2 …
 *     a   2 1 0 1 …            row of "ha", for all words that begin so
 */
export function nearWords(word: string, limit: number, list: string): NearWord[] {
  const rows = [Uint8Array.from({ length: word.length + 1 }, (_, at) => at)];
  const found: NearWord[] = [];
  let before = "";
  /** How many letters of `before` have rows, and with how many it is too far away. */
  let [kept, dead] = [0, Number.POSITIVE_INFINITY];
  for (let start = 0, end = 0; start < list.length; start = end + 1) {
    end = list.indexOf("\n", start);
    if (end < 0) end = list.length;
    const other = list.slice(start, end);
    const shared = sharedLength(before, other);
    if (shared >= dead) continue;
    kept = Math.min(shared, kept);
    before = other;
    dead = Number.POSITIVE_INFINITY;
    if (Math.abs(other.length - word.length) > limit) continue;
    kept = extend(rows, word, other, kept, limit);
    if (kept < other.length) dead = kept + 1;
    else {
      const edits = rows[other.length]?.[word.length] as number;
      if (edits <= limit && edits > 0 && beginAlike(word, other))
        found.push({ word: other, edits });
    }
  }
  return found.sort((one, other) => one.edits - other.edits);
}

/**
 * The words of a list that a word may be meant for. Another letter that is doubled is one slip, though it takes two edits:
 * "deserrt" for "dessert".
 */
export function misspelled(word: string, list: string): NearWord[] {
  const limit = editsAllowed(word);
  if (limit !== 1 || !DOUBLE.test(word)) return nearWords(word, limit, list);
  return nearWords(word, limit + 1, list).flatMap((near) => {
    if (near.edits <= limit) return [near];
    return isDoubling(word, near.word) ? [{ ...near, edits: limit }] : [];
  });
}

export function sharedLength(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one.charCodeAt(at) === other.charCodeAt(at)) at += 1;
  return at;
}

/** Computes the rows of `other` behind `from`. Returns how many letters of it have one: fewer when it is too far away. */
function extend(
  rows: Uint8Array[],
  word: string,
  other: string,
  from: number,
  limit: number,
): number {
  for (let at = from; at < other.length; at += 1) {
    const above = rows[at] as Uint8Array;
    rows[at + 1] ??= new Uint8Array(word.length + 1);
    const row = rows[at + 1] as Uint8Array;
    row[0] = at + 1;
    let least = at + 1;
    for (let place = 1; place <= word.length; place += 1) {
      const isSame = word.charCodeAt(place - 1) === other.charCodeAt(at);
      let edits = Math.min(
        (above[place] as number) + 1,
        (row[place - 1] as number) + 1,
        (above[place - 1] as number) + (isSame ? 0 : 1),
      );
      const isSwapped =
        at > 0 &&
        place > 1 &&
        word.charCodeAt(place - 1) === other.charCodeAt(at - 1) &&
        word.charCodeAt(place - 2) === other.charCodeAt(at);
      if (isSwapped) edits = Math.min(edits, (rows[at - 1]?.[place - 2] as number) + 1);
      row[place] = edits;
      least = Math.min(least, edits);
    }
    if (least > limit) return at;
  }
  return other.length;
}
