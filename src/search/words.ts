import { NOTHING, unicodePattern } from "../core/unicode-pattern.ts";
import { foldText } from "./fold-text.ts";
import { baseForm } from "./irregular-forms.ts";

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
 *
 * A compound is there whole and in parts. Scripts that put no space between
 * words are there as pairs of characters; the last character stands alone, so
 * that each is the beginning of some word.
 *
 * The index of a store depends on it: whoever changes what it returns raises
 * `INDEX_VERSION`, so that stores are indexed anew.
 */
export function words(text: string): string[] {
  return collect(text, true);
}

/** Whether a text has any words. Nearly all are told by one letter. */
export function hasWords(text: string): boolean {
  return /[a-z]/.test(text) || words(text).length > 0;
}

/** The words to ask for: the last character of a run is asked for by its pair alone. */
export function askedWords(text: string): string[] {
  return collect(text, false);
}

/** Whether a word is one character of a script without spaces: to ask for it, ask for what begins so. */
export function isBeginning(word: string): boolean {
  return word.length <= 2 && [...word].length === 1 && word.replace(UNSPACED(word), "") === "";
}

/** Longer ones are cut: nobody tells two checksums apart by their ends. */
const WORD_LENGTH_MAX = 100;

const CHUNK = unicodePattern(/[A-Za-z0-9]+(?:[._'-][A-Za-z0-9]+|,\d{3}(?!\d))*/g, {
  source: String.raw`[\p{L}\p{N}\p{M}]+(?:[._'’-][\p{L}\p{N}\p{M}]+|,\p{Nd}{3}(?!\p{N}))*|\p{Extended_Pictographic}`,
  flags: "gu",
});
/** Nothing in it to take apart. */
const PLAIN = /^[A-Z]?[a-z]+$/;
/** Where the parts of an identifier meet: getUser|Name, HTTP|Server. */
const HUMP = unicodePattern(/(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/, {
  source: String.raw`(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})`,
  flags: "u",
});
/** An English ending behind an apostrophe, as in it's, I'm, we'll. */
const CLITIC = /['’](?:s|t|d|m|ll|re|ve)$/i;
const UNSPACED = unicodePattern(NOTHING, {
  source: String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+`,
  flags: "gu",
});

/** What folding makes of a character besides its letters: ㈠ is (一), ½ is 1⁄2. */
const FOLDED_IN = unicodePattern(/[^A-Za-z0-9._-]/g, {
  source: String.raw`[^\p{L}\p{N}\p{M}\p{Extended_Pictographic}._-]`,
  flags: "gu",
});

function collect(text: string, keepsLast: boolean): string[] {
  const found: string[] = [];
  for (const [chunk] of text.matchAll(CHUNK(text))) {
    if (PLAIN.test(chunk)) found.push(baseForm(cut(chunk.toLowerCase())));
    else addCompound(chunk, keepsLast, found);
  }
  return found;
}

function addCompound(chunk: string, keepsLast: boolean, found: string[]): void {
  const parts = chunk
    .replace(/,/g, "")
    .split(/[._-]/)
    .flatMap((part) => withoutClitic(part).split(/['’]/))
    .flatMap((part) => part.split(HUMP(part)));
  if (parts.length > 1 && !/['’]/.test(chunk)) {
    found.push(cut(lettersOf(chunk, "")));
  }
  for (const part of parts) addPart(lettersOf(part, " "), keepsLast, found);
}

function addPart(part: string, keepsLast: boolean, found: string[]): void {
  const spaced = part.replace(UNSPACED(part), (run) => {
    const characters = [...run];
    characters.forEach((character, index) => {
      const next = characters[index + 1];
      if (next !== undefined) found.push(character + next);
      else if (keepsLast || index === 0) found.push(character);
    });
    return " ";
  });
  for (const word of spaced.split(" ")) if (word !== "") found.push(baseForm(cut(word)));
}

/** Folded, with something else in place of what is no letter. */
function lettersOf(text: string, between: string): string {
  const folded = foldText(text);
  return folded.replace(FOLDED_IN(folded), between);
}

/** "Caroline's" is Caroline, "we'll" is we; "don't" becomes one word, which is a stop word. */
function withoutClitic(part: string): string {
  return part.replace(CLITIC, (clitic) => (/t$/i.test(clitic) ? "t" : ""));
}

function cut(word: string): string {
  return word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join("") : word;
}
