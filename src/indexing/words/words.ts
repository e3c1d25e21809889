import { sizeAt } from "../../text/character-kinds.ts";
import { stemIn } from "./english.ts";
import { foldText } from "./fold-text.ts";
import { newRoom, unitsOf } from "./vocabulary.ts";
import { isUnspacedAt } from "./word-breaks.ts";
import { wordReader as reader } from "./word-reader.ts";

/**
 * The words of a text, in its order, as the memory index keeps them.
 *
 *     Caroline's café        caroline cafe
 *     she went               she go
 *     getUserName()          getusername get user name
 *     src/core/turn_id.ts    src core turn_id.ts turn id ts
 *     1,000 at 10:30         1000 at 10 30
 *     東京都                  東京 京都 都
 *     🎉                     🎉
 *     ☕️coffee 1️⃣           ☕ coffee 1
 *     soft\u00adware         software
 *     base\u200bball         baseball base ball
 *
 * A compound gives the whole and its parts. Marks that are not seen are in no word, and a space without width may be inside a word or between two. Scripts without spaces between words give pairs of
 * characters. The last character also stands alone, so that each character begins some word.
 *
 * Stores keep these words. Raise `INDEX_VERSION` when you change the result, and stores are indexed again.
 */
export function words(text: string): string[] {
  return read(text);
}

/** The same words, each by its `stem`. */
export function stemmedWords(text: string): string[] {
  return read(text, { stems: true });
}

/** The stems of its words, each once. */
export function stemsOf(text: string): string[] {
  return read(text, { stems: true, once: true });
}

/** Whether a text has any words. One letter is enough to know, and nearly every text has one. */
export function hasWords(text: string): boolean {
  return /[a-z]/.test(text) || words(text).length > 0;
}

/**
 * The words of a question, each once. The last character of a run without spaces is left out: its pair has it.
 * With `bounds`, only those between places of the text: between the first and the second, the third and the fourth.
 */
export function askedWords(text: string, bounds?: readonly number[]): string[] {
  return read(text, { asks: true, once: true, bounds });
}

/** Whether a word is one character of a script without spaces. Look it up as the beginning of words. */
export function isBeginning(word: string): boolean {
  return word !== "" && word.length === sizeAt(word, 0) && isUnspacedAt(word, 0);
}

/**
 * The form of a word in the index: without its English ending, so that "painted" finds
 * "painting". Other words stay as they are.
 */
export function stem(word: string): string {
  const vocabulary = reader.begin();
  return vocabulary.textOf(stemIn(vocabulary, vocabulary.numberOf(word)));
}

const ROOM = newRoom();

interface Reading {
  readonly asks?: boolean;
  readonly stems?: boolean;
  readonly once?: boolean;
  readonly bounds?: readonly number[] | undefined;
}

function read(text: string, { asks = false, stems, once, bounds }: Reading = {}): string[] {
  const vocabulary = reader.begin({ asks });
  const units = unitsOf(text, ROOM);
  if (!bounds) reader.read(units, 0, text.length);
  else {
    for (let at = 0; at < bounds.length; at += 2) {
      reader.read(units, bounds[at] as number, bounds[at + 1] as number);
    }
  }
  if (stems) reader.stem();
  if (once) reader.dropRepeats();
  const found: string[] = new Array(reader.count);
  for (let at = 0; at < reader.count; at += 1) {
    found[at] = vocabulary.textOf(reader.found[at] as number);
  }
  return found;
}

/** Two texts with the same key count as the same text. It is the words of the text, or its characters if it has no words. */
export function textKey(text: string): string {
  return words(text).join(" ") || foldText(text).replace(/\s+/g, " ").trim();
}

/** Characters of a long text that tell it from nearly every other one. */
const BEGINNING = 500;

/** Whether `textKey` of a text is this key. A long text is read to its end only if it begins as the key does. */
export function hasTextKey(text: string, key: string): boolean {
  // No word goes over white space, of which a byte order mark is none here.
  const length =
    text.length > BEGINNING ? text.slice(BEGINNING, 2 * BEGINNING).search(/[^\S\ufeff]/) : -1;
  const beginning = length < 0 ? [] : words(text.slice(0, BEGINNING + length));
  return key.startsWith(beginning.join(" ")) && textKey(text) === key;
}
